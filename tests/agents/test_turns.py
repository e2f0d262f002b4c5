"""Turns: which are on the path of a conversation, whose they are, and whether they have an answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transcript_sessions import HERE, lines

from baton_git.agents.extraction.extracting import Extraction, add_final_answer, extract

Read = Callable[..., Extraction]


class Conversation:
    """A transcript of Claude Code whose records are linked: each follows `last`, unless it says otherwise."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self.last: str | None = None

    def add(self, kind: str, content: Any = None, *, parent: Any = "last", **more: Any) -> str:
        name = f"r{len(self.records)}"
        links = {"parentUuid": self.last if parent == "last" else parent, "uuid": name, "isSidechain": False}
        said = {"message": {"role": kind, "content": content, **more.pop("message", {})}} if content is not None else {}
        time = {"timestamp": f"2026-11-20T10:{len(self.records) // 60:02}:{len(self.records) % 60:02}.000Z"}
        common = {"type": kind, "sessionId": "s1", "cwd": HERE, "version": "2.1.332", **links, **time}
        self.records.append({**common, **said, **more})
        self.last = name
        return name

    def ask(self, text: Any, **more: Any) -> str:
        return self.add("user", text, **more)

    def say(self, text: str, reason: str | None = "end_turn", **more: Any) -> str:
        message = {"model": "m", "id": f"m{len(self.records)}", "stop_reason": reason}
        return self.add("assistant", [{"type": "text", "text": text}], message=message, **more)

    def call(self, tool: str, **arguments: Any) -> str:
        """Add a call and its result; return the record of the call."""
        id_ = f"toolu_{len(self.records)}"
        block = {"type": "tool_use", "id": id_, "name": tool, "input": arguments}
        name = self.add("assistant", [block], message={"model": "m", "stop_reason": "tool_use"})
        self.add("user", [{"type": "tool_result", "tool_use_id": id_, "content": "ok"}])
        return name

    def row(self, operation: str, text: str, **more: Any) -> None:
        """Add a row of the queue, which has no links."""
        self.records.append({"type": "queue-operation", "operation": operation, "content": text, **more})


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def reading(records: Any, **more: Any) -> Extraction:
        path = tmp_path / "s1.jsonl"
        path.write_bytes(lines(getattr(records, "records", records)))
        return extract(path, folder=Path(HERE), **more)

    return reading


def tell(extraction: Extraction) -> list[tuple[str, str, str, str]]:
    """Return prompt, origin, status and answer of each turn."""
    return [(turn.prompt, turn.origin, turn.status, turn.answer) for turn in extraction.turns]


def ask_and_answer(count: int) -> Conversation:
    made = Conversation()
    for number in range(1, count + 1):
        made.ask(f"ask {number}")
        made.say(f"answer {number}")
    return made


# --- the path


def prompts(extraction: Extraction) -> list[str]:
    return [turn.prompt for turn in extraction.turns]


def test_what_was_taken_back_leaves_with_its_facts(read: Read) -> None:
    made = ask_and_answer(1)
    fork = made.last
    made.ask("Use OAuth")
    made.call("Write", file_path=f"{HERE}/oauth.py", content="x")
    made.say("Decision: we go with OAuth.")
    made.ask("Use magic links instead", parent=fork)
    made.say("Magic links are in place.")
    extraction = read(made)
    assert prompts(extraction) == ["ask 1", "Use magic links instead"]
    assert "oauth" not in json.dumps(extraction.facts).lower()
    assert extraction.facts["last_answer"]["text"] == "Magic links are in place."


def test_going_back_twice_and_further_leaves_all_turns_after_that_point(read: Read) -> None:
    made = ask_and_answer(3)
    made.ask("second again", parent="r1")
    made.say("no")
    made.ask("second once more", parent="r1")
    made.say("yes")
    assert prompts(read(made)) == ["ask 1", "second once more"]


def test_the_first_prompt_can_be_taken_back(read: Read) -> None:
    made = Conversation()
    start = made.add("attachment", attachment={"type": "hook_success"})
    made.ask("wrong goal")
    made.say("no")
    made.ask("right goal", parent=start)
    extraction = read(made)
    assert (prompts(extraction), extraction.facts["initial_goal"]) == (["right goal"], "right goal")


def test_parallel_calls_are_no_rewind(read: Read) -> None:
    made = Conversation()
    made.ask("one")
    first = made.call("Read", file_path="a.py")
    made.last = first
    made.call("Read", file_path="b.py")
    made.say("done", parent=first)
    made.ask("two", parent=first)  # the results are siblings of this prompt
    made.say("fine")
    assert prompts(read(made)) == ["one", "two"]


@pytest.mark.parametrize("parent", [None, "gone"], ids=["no parent", "an unknown parent"])
def test_a_prompt_without_a_known_parent_is_no_rewind(read: Read, parent: str | None) -> None:
    made = ask_and_answer(2)
    made.ask("go on", parent=parent)
    made.say("yes")
    assert prompts(read(made)) == ["ask 1", "ask 2", "go on"]


def test_a_compaction_is_no_rewind(read: Read) -> None:
    made = ask_and_answer(2)
    made.add("system", parent=None, subtype="compact_boundary", logicalParentUuid=made.last)
    made.ask("This session is being continued from a previous conversation…", isCompactSummary=True)
    made.ask("go on")
    made.say("yes")
    assert prompts(read(made)) == ["ask 1", "ask 2", "go on"]


def test_two_programs_that_write_to_one_file_leave_nothing(read: Read) -> None:
    made = ask_and_answer(1)
    fork = made.last
    made.ask("here 1")
    here = made.say("here answer 1")
    made.ask("there 1", parent=fork)
    there = made.say("there answer 1")
    made.ask("here 2", parent=here)
    here = made.say("here answer 2")
    made.ask("there 2", parent=there)
    made.say("here late", parent=here)
    made.say("there answer 2", parent="r8")
    extraction = read(made)
    answers = {turn.prompt: turn.answer for turn in extraction.turns}
    assert answers == {
        "ask 1": "answer 1", "here 1": "here answer 1", "there 1": "there answer 1", "here 2": "here late",
        "there 2": "there answer 2",
    }  # fmt: skip


def test_the_subagents_of_a_turn_that_was_left_are_left_too(read: Read, tmp_path: Path) -> None:
    made = ask_and_answer(1)
    fork = made.last
    made.ask("explore")
    made.call("Agent", prompt="explore")
    made.records[-1]["toolUseResult"] = {"agentId": "a1"}
    folder = tmp_path / "s1" / "subagents"
    folder.mkdir(parents=True)
    side = Conversation()
    side.ask("explore")
    side.call("Write", file_path=f"{HERE}/side.py", content="x")
    for record in side.records:
        record["isSidechain"] = True
    (folder / "agent-a1.jsonl").write_bytes(lines(side.records))
    assert f"{HERE}/side.py" in read(made).facts["files_modified"]
    made.ask("never mind", parent=fork)
    assert f"{HERE}/side.py" not in read(made).facts["files_modified"]


# --- whose a prompt is


@pytest.mark.parametrize(
    ("text", "more", "origin"),
    [
        ("Fix it", {}, "person"),
        ('<cross-session-message from="w2">Drop it</cross-session-message>', {}, "agent"),
        ("Drop it", {"origin": {"kind": "peer"}}, "agent"),
        ("<scheduled-task>Check it</scheduled-task>", {}, "schedule"),
        ("<tick>10:00</tick>", {}, "schedule"),
        ("<ci-monitor-event>failed</ci-monitor-event>", {}, "harness"),
        ("<task-notification>\n<task-id>1</task-id>", {}, "harness"),
        ('<channel source="x">Hello</channel>', {}, "unknown"),
        ("<brand-new>Hello</brand-new>", {}, "unknown"),
        ("Hello", {"origin": {"kind": "brand-new"}}, "unknown"),
        ("<div>\n  <p>why is this red?</p>\n</div>", {"origin": {"kind": "human"}}, "person"),
        ("<App/>", {}, "person"),
        ("<div>x</div>", {"promptSource": "typed"}, "person"),
        ("Why does <b>this</b> fail: <a>x</a>", {}, "person"),
        ("<a>x</a>\nWhy does this fail?", {}, "person"),
    ],
)
def test_the_origin_of_a_prompt(read: Read, text: str, more: dict[str, Any], origin: str) -> None:
    made = ask_and_answer(1)
    made.ask(text, **more)
    made.say("noted")
    extraction = read(made)
    assert extraction.turns[-1][6] == origin
    told = [prompt["text"] for prompt in extraction.facts.get("latest_prompts", ())]
    assert told == ([text] if origin in ("person", "unknown") else [])
    assert [prompt.get("origin") for prompt in extraction.facts.get("latest_prompts", ())] == {
        "person": [None], "unknown": ["unknown"],
    }.get(origin, [])  # fmt: skip


def test_only_a_prompt_of_a_person_is_the_goal(read: Read) -> None:
    made = Conversation()
    made.ask('<cross-session-message from="w2">Drop it</cross-session-message>')
    made.ask("Fix the importer")
    assert read(made).facts["initial_goal"] == "Fix the importer"


# --- prompts that come while the agent works


ABSORBED = {"reason": "absorbed_mid_turn"}


@pytest.mark.parametrize("is_attached", [True, False], ids=["also as an attachment", "only in the queue"])
def test_a_prompt_that_the_agent_took_from_the_queue_is_a_turn(read: Read, *, is_attached: bool) -> None:
    made = Conversation()
    made.ask("Write the exporter")
    made.call("Read", file_path="a.py")
    made.row("enqueue", "amounts are integer cents")
    made.row("remove", "amounts are integer cents", **ABSORBED)
    if is_attached:
        queued = {"type": "queued_command", "commandMode": "prompt", "prompt": "amounts are integer cents"}
        made.add("attachment", attachment=queued)
    made.say("Done.")
    made.ask("thanks")
    assert tell(read(made)) == [
        ("Write the exporter", "person", "continued", ""),
        ("amounts are integer cents", "person", "answered", "Done."),
        ("thanks", "person", "running", ""),
    ]


@pytest.mark.parametrize(("waiting", "is_told"), [(1, True), (2, False)], ids=["the only one", "one of two"])
def test_an_older_queue_row_without_text_or_reason_means_the_only_prompt_that_waits(
    read: Read, waiting: int, *, is_told: bool
) -> None:
    made = Conversation()
    made.ask("Push it")
    for number in range(waiting):
        made.row("enqueue", f"merge conflicts {number}")
    made.records.append({"type": "queue-operation", "operation": "remove"})  # as Claude Code 2.1.37 writes it
    made.say("Merging.")
    assert ("merge conflicts 0" in [text for text, *_ in tell(read(made))]) is is_told


def test_a_prompt_that_was_taken_out_of_the_queue_is_no_turn(read: Read) -> None:
    made = Conversation()
    made.ask("Write the exporter")
    made.row("enqueue", "never mind")
    made.row("remove", "never mind")
    made.say("Done.")
    assert prompts(read(made)) == ["Write the exporter"]


# --- answers


def test_an_answer_stands_only_beside_its_own_prompt(read: Read) -> None:
    made = Conversation()
    made.ask("Delete the old logs")
    made.say("Deleted.")
    made.ask("Now drop the production table")
    facts = read(made, has_ended=True).facts
    assert facts["unanswered"]["prompt"] == "Now drop the production table"
    assert facts["unanswered"]["status"] == "ended"
    assert facts["last_answer"]["prompt"] == "Delete the old logs"
    assert read(made).facts["unanswered"]["status"] == "running"


def test_an_interruption_a_failure_and_a_narration_are_no_answers(read: Read) -> None:
    made = Conversation()
    made.ask("one")
    made.say("I look at the files.", "tool_use")
    made.call("Read", file_path="a.py")
    made.ask([{"type": "text", "text": "[Request interrupted by user for tool use]"}])
    made.ask("two")
    error = {"isApiErrorMessage": True, "message": {"model": "<synthetic>"}}
    made.add("assistant", [{"type": "text", "text": "API Error: 529 overloaded"}], **error)
    made.ask("three")
    made.say("I am about to", None)
    made.call("Bash", command="ls")
    extraction = read(made, has_ended=True)
    assert tell(extraction) == [
        ("one", "person", "interrupted", "I look at the files."),
        ("two", "person", "failed", ""),
        ("three", "person", "ended", "I am about to"),
    ]
    assert extraction.turns[1].reason == "API Error: 529 overloaded"
    assert extraction.facts["unanswered"]["said"] == "I am about to"
    assert "last_answer" not in extraction.facts


def test_an_answer_that_a_hook_received_belongs_to_the_prompt_before_it(read: Read) -> None:
    made = Conversation()
    made.ask("Fix bug A")
    size = len(lines(made.records))
    made.ask("Now the CSV export")
    extraction = add_final_answer(read(made), "The cause is found.", size)
    assert [(turn.prompt, turn.answer) for turn in extraction.turns] == [
        ("Fix bug A", "The cause is found."), ("Now the CSV export", ""),
    ]  # fmt: skip
    assert extraction.facts["last_answer"]["prompt"] == "Fix bug A"
    assert extraction.facts["unanswered"]["prompt"] == "Now the CSV export"


def test_equal_prompts_are_told_once(read: Read) -> None:
    made = ask_and_answer(2)
    for number in range(5):
        made.ask("continue")
        made.say(f"step {number}")
    assert [prompt["text"] for prompt in read(made).facts["latest_prompts"]] == ["ask 2", "continue"]


# --- Codex and Gemini


def codex(*payloads: dict[str, Any]) -> list[dict[str, Any]]:
    start = {"type": "session_meta", "payload": {"id": "s1", "cwd": HERE, "cli_version": "0.171.0"}}
    events = [{"type": "event_msg", "payload": payload} for payload in payloads]
    return [{"timestamp": "2026-11-20T10:00:00.000Z", **record} for record in (start, *events)]


def task(number: int, *events: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "task_started", "turn_id": f"t{number}"}, *events]


def asked(text: str) -> dict[str, Any]:
    return {"type": "user_message", "message": text}


def said(text: str) -> dict[str, Any]:
    return {"type": "agent_message", "message": text}


def done(text: str | None) -> dict[str, Any]:
    return {"type": "task_complete", "last_agent_message": text}


def test_codex_tells_how_each_turn_ended(read: Read) -> None:
    records = codex(
        *task(1, asked("one"), said("I look."), said("One is done."), done("One is done.")),
        *task(2, asked("two"), said("I begin."), {"type": "turn_aborted", "reason": "interrupted"}),
        *task(3, asked("three"), {"type": "error", "message": "usage limit reached"}, done(None)),
        *task(4, asked("four"), asked("four, but in blue"), said("Blue."), done("Blue.")),
        *task(5, asked("five"), said("I begin.")),
    )
    extraction = read(records)
    assert tell(extraction) == [
        ("one", "person", "answered", "One is done."),
        ("two", "person", "interrupted", "I begin."),
        ("three", "person", "failed", ""),
        ("four", "person", "continued", ""),
        ("four, but in blue", "person", "answered", "Blue."),
        ("five", "person", "running", "I begin."),
    ]
    assert [turn.id for turn in extraction.turns] == ["t1", "t2", "t3", "t4", "", "t5"]
    assert extraction.turns[2].reason == "usage limit reached"


def test_codex_rollbacks_take_back_the_last_prompts(read: Read) -> None:
    def turn(number: int) -> list[dict[str, Any]]:
        return task(number, asked(f"ask {number}"), said(f"answer {number}"), done(f"answer {number}"))

    back = {"type": "thread_rolled_back", "num_turns": 1}
    records = codex(*turn(1), *turn(2), *turn(3), back, back, *turn(4), *turn(5), {**back, "num_turns": 2}, *turn(6))
    assert prompts(read(records)) == ["ask 1", "ask 6"]
    assert "ask 3" not in json.dumps(read(records).facts)


def test_gemini_tells_how_each_turn_ended(read: Read) -> None:
    def message(number: int, kind: str, content: str) -> dict[str, Any]:
        return {"id": f"m{number}", "timestamp": "2026-11-20T10:00:00.000Z", "type": kind, "content": content}

    records = [
        {"sessionId": "s1", "projectHash": "x", "startTime": "2026-11-20T10:00:00.000Z"},
        message(1, "user", "one"), message(2, "gemini", "One is done."), message(3, "user", "two"),
        message(4, "info", "Request cancelled."), message(5, "user", "three"), message(6, "error", "quota exceeded"),
        message(7, "user", "four"),
    ]  # fmt: skip
    assert tell(read(records)) == [
        ("one", "person", "answered", "One is done."), ("two", "person", "interrupted", ""),
        ("three", "person", "failed", ""), ("four", "person", "running", ""),
    ]  # fmt: skip


def test_the_reason_of_a_hook_that_shows_the_prompt_once_more_is_no_prompt(read: Read) -> None:
    def message(number: int, kind: str, content: str, **more: Any) -> dict[str, Any]:
        return {"id": f"m{number}", "timestamp": "2026-11-20T10:00:00.000Z", "type": kind, "content": content, **more}

    shown = {"displayContent": [{"text": "Explain @src"}]}
    records = [
        {"sessionId": "s1", "projectHash": "x", "startTime": "2026-11-20T10:00:00.000Z"},
        message(1, "user", "Explain @src/**", **shown), message(2, "gemini", "It is a shop."),
        message(3, "user", "Name the tests, too", **shown), message(4, "gemini", "It is a shop with tests."),
        message(5, "user", "Explain @src/**", **shown), message(6, "gemini", "As I said."),
    ]  # fmt: skip
    assert tell(read(records)) == [
        ("Explain @src", "person", "answered", "It is a shop with tests."),
        ("Explain @src", "person", "answered", "As I said."),
    ]


# --- laws

STEPS = st.lists(st.tuples(st.sampled_from(["ask", "ask", "call", "say", "back"]), st.integers(0, 99)), max_size=25)


def converse(steps: list[tuple[str, int]]) -> tuple[Conversation, list[dict[str, Any]]]:
    """Return a conversation with rewinds, and its records without those that were taken back."""
    made, left = Conversation(), set[int]()
    starts: list[tuple[int, str | None]] = []
    made.ask("the goal")
    for kind, number in steps:
        if kind == "back" and starts:
            at, made.last = starts[number % len(starts)]
            left |= set(range(at, len(made.records)))
            starts = [start for start in starts if start[0] < at]
            kind = "ask"
        if kind == "ask":
            starts.append((len(made.records), made.last))
            made.ask(f"prompt {len(made.records)}")
        elif kind == "call":
            made.call("Write", file_path=f"{HERE}/{number}.py", content="x")
        else:
            made.say(f"We decided to use {number}. Shall I go on?")
    return made, [record for number, record in enumerate(made.records) if number not in left]


def without_places(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_places(item) for name, item in value.items() if name not in ("line", "offset")}
    return [without_places(item) for item in value] if isinstance(value, list) else value


def digest(extraction: Extraction) -> Any:
    turns = [turn._replace(line=0, offset=0)._asdict() for turn in extraction.turns]
    return without_places(extraction.facts), turns, extraction.started, extraction.ended


@given(STEPS)
@settings(max_examples=60, deadline=None)
def test_the_facts_are_those_of_the_transcript_without_what_was_left(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    made, kept = converse(steps)
    path, other = (tmp_path_factory.mktemp("law") / "s1.jsonl" for _ in range(2))
    path.write_bytes(lines(made.records))
    other.write_bytes(lines(kept))
    assert digest(extract(path)) == digest(extract(other))


@given(STEPS, st.lists(st.floats(0, 1), max_size=6))
@settings(max_examples=60, deadline=None)
def test_reading_in_pieces_gives_what_reading_at_once_gives(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], cuts: list[float]
) -> None:
    made, _ = converse(steps)
    content = lines(made.records)
    path = tmp_path_factory.mktemp("law") / "s1.jsonl"
    memory = path.with_name("memory")
    for cut in sorted(cuts):
        path.write_bytes(content[: max(len(lines(made.records[:1])), int(cut * len(content)))])
        extract(path, "claude", memory=memory)
    path.write_bytes(content)
    in_pieces = extract(path, "claude", memory=memory)
    assert digest(in_pieces) == digest(extract(path))
    assert in_pieces.facts == extract(path).facts


def roll_back(steps: list[int]) -> tuple[list[Any], list[Any]]:
    """Return a Codex session with rollbacks, and the same without the turns that were taken back. 0 is a new turn."""
    made: list[Any] = []
    kept: list[list[Any]] = []
    for number, step in enumerate([0, *steps]):
        if step and len(kept) > 1:
            back = min(step, len(kept) - 1)
            made.append({"type": "thread_rolled_back", "num_turns": back})
            del kept[-back:]
        else:
            text = f"We decided to use {number}. Shall I go on?"
            kept.append(task(number, asked(f"prompt {number}"), said(text), done(text)))
            made += kept[-1]
    return codex(*made), codex(*(record for turn in kept for record in turn))


def rewind_gemini(steps: list[int]) -> tuple[list[Any], list[Any]]:
    """Return a Gemini session with rewinds, and the same without what was taken back. 0 is a new turn."""
    start = {"sessionId": "s1", "projectHash": "x", "startTime": "2026-11-20T10:00:00.000Z"}
    made: list[Any] = [start]
    kept: list[list[Any]] = []
    for number, step in enumerate([0, *steps]):
        if step and len(kept) > 1:
            back = min(step, len(kept) - 1)
            made.append({"$rewindTo": kept[-back][0]["id"]})
            del kept[-back:]
        else:
            common = {"timestamp": f"2026-11-20T10:00:{number:02}.000Z"}
            kept.append([
                {"id": f"u{number}", "type": "user", "content": f"prompt {number}", **common},
                {"id": f"g{number}", "type": "gemini", "content": f"We decided to use {number}. Shall I?", **common},
            ])  # fmt: skip
            made += kept[-1]
    return made, [start, *(record for turn in kept for record in turn)]


@pytest.mark.parametrize("write", [roll_back, rewind_gemini], ids=["codex", "gemini"])
@given(steps=st.lists(st.sampled_from([0, 0, 1, 2, 3]), max_size=12), cuts=st.lists(st.floats(0, 1), max_size=4))
@settings(max_examples=25, deadline=None)
def test_the_facts_are_those_without_what_was_left_in_any_pieces(
    tmp_path_factory: pytest.TempPathFactory, write: Callable[[list[int]], Any], steps: list[int], cuts: list[float]
) -> None:
    made, kept = write(steps)
    path, other = (tmp_path_factory.mktemp("law") / "s1.jsonl" for _ in range(2))
    other.write_bytes(lines(kept))
    content, memory = lines(made), path.with_name("memory")
    agent = "codex" if write is roll_back else "gemini"
    for cut in sorted(cuts):
        path.write_bytes(content[: max(len(lines(made[:1])), int(cut * len(content)))])
        extract(path, agent, memory=memory)
    path.write_bytes(content)
    expected = digest(extract(other, agent))
    assert digest(extract(path, agent)) == expected
    assert digest(extract(path, agent, memory=memory)) == expected
