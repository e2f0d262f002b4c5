"""The plan for a hook event, as a table; it needs no repository, transcript or clock."""

from __future__ import annotations

from typing import Any

from looped_cases import for_each

from baton_git.agents.hook_events.hook_session import HookSession
from baton_git.agents.hook_events.payloads import COMPACT, END, PROMPT, START, STOP, Payload
from baton_git.agents.hook_events.planner import (
    MAX_BLOCKS,
    REPEAT_SECONDS,
    TRANSCRIPT_DELAY,
    Circumstances,
    FindParent,
    Recall,
    Remember,
    RunWorkflows,
    SaveFacts,
    choose_cleared_session,
    identify_event,
    is_repeated,
    limit_blocks,
    needs_arrival,
    note_compactions,
    plan_event,
)
from baton_git.agents.hook_events.planner import (
    PlanStep as Step,
)

PID = 7
NEW = HookSession("claude", "s")
INFORMED = NEW._replace(has_context=True, parent="p")
OWED = INFORMED._replace(owed_sources="compact", mark="m")
RESET = Remember({"ended": "", "pid": PID, "owed_sources": ""})
BEGUN = Remember({**RESET.fields, "is_weighed": True})
"""The reset of a session that begins here: whether it worked in another project need not be weighed."""
DONE = Remember({"has_context": True, "owed_sources": ""})
CLOSING = [Step.LIST_WANTED_EVENTS, Step.REMEMBER_TIP, Step.FORGET_OLD_SESSIONS]


def event(kind: str, detail: str = "", agent: str = "claude", **fields: Any) -> Payload:
    return Payload(agent, "Event", kind, "s", detail, **fields)


def at_start(source: str) -> RunWorkflows:
    return RunWorkflows("on_session_start", {"source": source})


def at_prompt(prompt: str = "") -> RunWorkflows:
    return RunWorkflows("on_prompt_submit", {"prompt": prompt})


def at_stop(response: str = "") -> list[RunWorkflows]:
    data = {"response": response, "prompt_response": response}
    return [RunWorkflows("on_after_agent", data), RunWorkflows("on_stop", data)]


BEGIN = [Step.CATCH_UP, Step.BEGIN_SESSION]

PLANS: dict[str, tuple[Payload, HookSession, dict[str, Any], list[Any]]] = {
    "a start": (
        event(START, "startup"), NEW, {},
        [BEGUN, Step.CATCH_UP, FindParent("startup"), Step.BEGIN_SESSION, at_start("startup"), DONE, *CLOSING],
    ),
    "a start without a source": (
        event(START), NEW, {},
        [RESET, Step.CATCH_UP, FindParent("startup"), Step.BEGIN_SESSION, at_start("startup"), DONE, *CLOSING],
    ),
    "a resume has no other parent": (
        event(START, "resume"), NEW, {},
        [RESET, *BEGIN, at_start("resume"), DONE, *CLOSING],
    ),
    "a known parent stays": (
        event(START, "clear"), INFORMED, {},
        [BEGUN, *BEGIN, at_start("clear"), DONE, *CLOSING],
    ),
    "a start after a compaction owes its context until it is seen": (
        event(START, "compact"), INFORMED, {},
        [RESET, Step.CATCH_UP, SaveFacts("pre_compact"), at_start("compact"),
         Remember({"has_context": True, "owed_sources": "compact"}), *CLOSING],
    ),
    "a resume brings what a compaction lost": (
        event(START, "resume"), OWED, {},
        [RESET, Step.CATCH_UP, SaveFacts("pre_compact"), Step.BEGIN_SESSION, at_start("resume"), at_start("compact"),
         DONE, *CLOSING],
    ),
    "a resume after the context arrived": (
        event(START, "resume"), OWED, {"has_arrived": True},
        [RESET, *BEGIN, at_start("resume"), DONE, *CLOSING],
    ),
    "Gemini CLI gets its context with the first prompt, not at its start": (
        event(START, "startup", "gemini"), NEW, {},
        [BEGUN, Step.CATCH_UP, FindParent("startup"), Remember({"owed_sources": "startup", "has_context": False})],
    ),
    "the first prompt of Gemini CLI": (
        event(PROMPT, "", "gemini", prompt="go"), NEW._replace(parent="p", owed_sources="resume+compact"), {},
        [RESET, Step.CATCH_UP, SaveFacts("pre_compact"), Step.BEGIN_SESSION, at_start("resume"), at_start("compact"),
         DONE, *CLOSING, at_prompt("go")],
    ),
    "a prompt of a session without a start event": (
        event(PROMPT), NEW, {},
        [RESET, Step.CATCH_UP, FindParent("startup"), Step.BEGIN_SESSION, at_start("startup"), DONE, *CLOSING,
         at_prompt()],
    ),
    "a prompt while nothing is owed": (
        event(PROMPT, prompt="go"), INFORMED, {}, [Step.LIST_WANTED_EVENTS, at_prompt("go")],
    ),
    "a prompt with a recall": (
        event(PROMPT, prompt="go"), INFORMED, {"recalls": True},
        [Step.LIST_WANTED_EVENTS, at_prompt("go"), Recall("go")],
    ),
    "a prompt after a compaction": (
        event(PROMPT), OWED, {},
        [at_start("compact"), Remember({"owed_sources": ""}), Step.LIST_WANTED_EVENTS, at_prompt()],
    ),
    "a prompt after a compaction whose context arrived": (
        event(PROMPT), OWED, {"has_arrived": True},
        [Remember({"owed_sources": ""}), Step.LIST_WANTED_EVENTS, at_prompt()],
    ),
    "a prompt before the transcript can show whether the context arrived": (
        event(PROMPT), OWED, {"idle_seconds": TRANSCRIPT_DELAY - 1}, [Step.LIST_WANTED_EVENTS, at_prompt()],
    ),
    "a fast prompt after a compaction without a start event": (
        event(PROMPT), OWED._replace(mark=""), {"idle_seconds": 0.0},
        [at_start("compact"), Remember({"owed_sources": ""}), Step.LIST_WANTED_EVENTS, at_prompt()],
    ),
    "a compaction": (
        event(COMPACT), INFORMED, {},
        [SaveFacts("pre_compact", force=True), Remember({"owed_sources": "compact", "mark": "", "compactions": 1}),
         RunWorkflows("on_pre_compact", {"trigger": "auto"})],
    ),
    "Gemini CLI's PreCompress before a request": (
        event(COMPACT, "auto", "gemini"), INFORMED, {},
        [SaveFacts("pre_compact", force=True), RunWorkflows("on_pre_compact", {"trigger": "auto"})],
    ),
    "a user's command to compress": (
        event(COMPACT, "manual", "gemini"), INFORMED, {},
        [SaveFacts("pre_compact", force=True), Remember({"owed_sources": "compact", "mark": "", "compactions": 1}),
         RunWorkflows("on_pre_compact", {"trigger": "manual"})],
    ),
    "a stop": (
        event(STOP, response="done"), INFORMED, {}, [SaveFacts("stop"), *at_stop("done"), Step.LIMIT_BLOCKS],
    ),
    "a stop with PAIF's checkpoints": (
        event(STOP), INFORMED, {"checkpoints_periodically": True},
        [SaveFacts("stop"), Step.SAVE_CHECKPOINT, *at_stop(), Step.LIMIT_BLOCKS],
    ),
    "an end": (
        event(END, "clear"), INFORMED, {},
        [SaveFacts("session_end", force=True), RunWorkflows("on_session_end", {"reason": "clear"}), Step.WRAP_SESSION,
         Remember({"ended": "clear"}), Step.WORK_LATER],
    ),
    "an end with PAIF's checkpoint": (
        event(END), INFORMED, {"checkpoints_at_end": True},
        [SaveFacts("session_end", force=True), RunWorkflows("on_session_end", {"reason": "other"}), Step.WRAP_SESSION,
         Step.CHECKPOINT_AT_END, Remember({"ended": "other"}), Step.WORK_LATER],
    ),
    "without extraction a start saves nothing": (
        event(START, "compact"), INFORMED, {"saves_facts": False},
        [RESET, at_start("compact"), Remember({"has_context": True, "owed_sources": "compact"}), *CLOSING],
    ),
    "without extraction a stop saves nothing": (
        event(STOP), INFORMED, {"saves_facts": False}, [*at_stop(), Step.LIMIT_BLOCKS],
    ),
}  # fmt: skip


@for_each("name", PLANS)
def test_each_event_has_its_plan(name):
    happened, known, circumstances, plan = PLANS[name]
    assert plan_event(happened, known, Circumstances(PID, **circumstances)) == plan


@for_each(
    ("happened", "known", "needed"),
    [
        (event(START, "resume"), OWED, True),
        (event(START, "startup"), OWED, False),
        (event(START, "resume"), INFORMED, False),
        (event(PROMPT), OWED, True),
        (event(PROMPT), OWED._replace(has_context=False), False),
        (event(PROMPT), INFORMED, False),
        (event(STOP), OWED, False),
    ],
)
def test_the_transcript_is_read_only_for_a_plan_that_depends_on_it(happened, known, needed):
    assert needs_arrival(happened, known) is needed
    circumstances = [Circumstances(PID, has_arrived=arrived) for arrived in (True, False)]
    plans = [plan_event(happened, known, circumstance) for circumstance in circumstances]
    assert (plans[0] != plans[1]) is needed


@for_each(
    ("happened", "count", "changes"),
    [
        (event(STOP), 1, {"compactions": 1}),
        (event(STOP, agent="gemini"), 2, {"compactions": 2, "owed_sources": "compact", "mark": ""}),
        (event(STOP, agent="gemini"), 0, {}),
        (event(COMPACT, agent="gemini"), 2, {}),
    ],
)
def test_a_compaction_in_the_transcript_owes_context_only_if_no_start_event_follows_it(happened, count, changes):
    known = INFORMED._replace(mark="m")
    assert note_compactions(happened, known, count) == known._replace(**changes)


@for_each(("found", "owed"), [(0, ""), (1, ""), (2, "compact")])
def test_an_announced_compaction_owes_context_once_whether_it_takes_place_or_not(found, owed):
    compress = event(COMPACT, "manual", "gemini")
    [changes] = [
        step.fields for step in plan_event(compress, INFORMED, Circumstances(PID)) if isinstance(step, Remember)
    ]
    injected = INFORMED._replace(**changes)._replace(owed_sources="", mark="m")
    known = note_compactions(event(STOP, agent="gemini"), injected, found)
    assert (known.owed_sources, known.compactions) == (owed, found)


@for_each(
    ("blocks", "is_blocked", "counted", "is_kept"),
    [(0, True, 1, True), (3, False, 0, False), (MAX_BLOCKS - 1, True, MAX_BLOCKS, True), (MAX_BLOCKS, True, 0, False)],
)
def test_a_workflow_keeps_an_agent_from_stopping_only_a_limited_number_of_times(blocks, is_blocked, counted, is_kept):
    session, kept = limit_blocks(INFORMED._replace(blocks=blocks), is_blocked)
    assert (session.blocks, kept) == (counted, is_kept)


@for_each(
    ("others", "chosen"),
    [
        ([], ""),
        ([NEW._replace(session="a", pid=1), NEW._replace(session="b", pid=PID)], "b"),
        ([NEW._replace(session="a", ended="clear"), NEW._replace(session="b")], "a"),
        ([NEW._replace(session="a"), NEW._replace(session="b", ended="clear")], ""),
        ([NEW._replace(session="a", pid=PID, git_dir="/other")], ""),
        ([NEW._replace(session="a", pid=PID, cli="codex")], ""),
        ([NEW._replace(pid=PID)], ""),
    ],
)
def test_the_cleared_session_has_the_same_process_or_is_the_newest_one_ended_by_clear(others, chosen):
    assert choose_cleared_session(others, NEW, PID) == chosen


def test_the_same_event_within_the_time_limit_is_a_repetition():
    happened = event(PROMPT, prompt="go")
    known = INFORMED._replace(event=identify_event(happened))
    assert is_repeated(happened, known, REPEAT_SECONDS - 1)
    assert not is_repeated(happened, known, REPEAT_SECONDS)
    assert not is_repeated(event(PROMPT, prompt="on"), known, 0)
