"""Plan the handling of a hook event: turn the event and the remembered session into a list of decisions.

This module performs no I/O; `interfaces.hook.event_runner` carries out the decisions in order. `systems.gobby.workflow`
defines the workflow events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Literal, NamedTuple
from zlib import crc32

from baton_git.agents.hook_events.hook_session import HookSession
from baton_git.agents.hook_events.payloads import COMPACT, END, PROMPT, START, STOP, Payload, asks
from baton_git.agents.registry import AGENTS

MAX_BLOCKS = 8
"""How many times in a row a workflow may keep an agent from stopping; Claude Code has the same limit."""
TRANSCRIPT_DELAY = 4.0
"""How far, in seconds, a transcript may lag behind its session."""

REPEAT_SECONDS = 3.0
"""An identical event within this many seconds is a repetition."""

_BEGINNINGS = ("startup", "clear")
"""The sources of the start of a session that has no past."""

Trigger = Literal["pre_compact", "stop", "session_end"]


class Circumstances(NamedTuple):
    """What a plan depends on besides the event and the remembered session.

    Attributes:
        pid: the agent's process id.
        saves_facts: whether facts are extracted from transcripts at all.
        checkpoints_periodically: whether PAIF's settings ask for checkpoints during the session.
        checkpoints_at_end: whether they ask for one at its end.
        has_arrived: whether the transcript shows the context that was injected last; see `needs_arrival`.
        recalls: whether `recall` answers are added to prompts (`baton.recallAtPrompt`).
        idle_seconds: seconds since a hook last had something to do in this session.
    """

    pid: int = 0
    saves_facts: bool = True
    checkpoints_periodically: bool = False
    checkpoints_at_end: bool = False
    has_arrived: bool = False
    recalls: bool = False
    idle_seconds: float = TRANSCRIPT_DELAY


class Remember(NamedTuple):
    """Set these fields of the remembered session."""

    fields: Mapping[str, Any]


class FindParent(NamedTuple):
    """Find the earlier session that this session continues; `source` is why this session started."""

    source: str


class SaveFacts(NamedTuple):
    """Extract the transcript's facts and save them; with `force`, even if only short-lived facts have changed."""

    trigger: Trigger
    force: bool = False


class RunWorkflows(NamedTuple):
    """Run the workflows of one workflow event."""

    event: str
    data: Mapping[str, Any]


class Recall(NamedTuple):
    """Add quotes of earlier sessions that help with a prompt, if there are any."""

    prompt: str


class PlanStep(Enum):
    """A decision without arguments; the value describes it."""

    CATCH_UP = "save the facts of sessions that ended without a hook"
    BEGIN_SESSION = "begin the session in the namespace, and compose its brief"
    LIST_WANTED_EVENTS = "remember the events that workflows handle"
    REMEMBER_TIP = "remember the commit of the namespace whose state the session received"
    FORGET_OLD_SESSIONS = "remove the sessions that no hook has seen for the longest time"
    SAVE_CHECKPOINT = "make PAIF's periodic checkpoint, if it is due"
    LIMIT_BLOCKS = "apply `limit_blocks` to the workflows' reply"
    WRAP_SESSION = "end the session in the namespace"
    WORK_LATER = "let a background process fold the archive and send the namespace to its remote"
    CHECKPOINT_AT_END = "make PAIF's last checkpoint"


Decision = Remember | FindParent | SaveFacts | RunWorkflows | Recall | PlanStep


def plan_event(event: Payload, known: HookSession, circumstances: Circumstances) -> list[Decision]:
    """Return the decisions about one event, in order; `known` is its session as remembered before the event."""
    if event.kind == START:
        return _plan_start(event, known, circumstances)
    if event.kind == PROMPT:
        return _plan_prompt(event, known, circumstances)
    if event.kind == COMPACT:
        return _plan_compaction(event, known, circumstances)
    return {STOP: _plan_stop, END: _plan_end}[event.kind](event, circumstances)


def needs_arrival(event: Payload, known: HookSession) -> bool:
    """Whether the plan depends on `has_arrived`, for which the transcript must be read."""
    if event.kind == START:
        return event.detail == "resume" and "compact" in known.owed_sources
    return event.kind == PROMPT and known.has_context and bool(known.owed_sources)


def _plan_start(event: Payload, known: HookSession, circumstances: Circumstances) -> list[Decision]:
    sources = _list_start_sources(event, known, circumstances)
    begins_here = event.kind == START and event.detail in _BEGINNINGS and not known.doubt
    weighed = {"is_weighed": True} if begins_here else {}  # then nothing has to show where it worked
    plan: list[Decision] = [Remember({"ended": "", "pid": circumstances.pid, "owed_sources": "", **weighed})]
    if circumstances.saves_facts:
        plan.append(PlanStep.CATCH_UP)
    if not known.parent and sources[0] not in ("resume", "compact"):
        plan.append(FindParent(sources[0]))  # after the catch-up: the parent may be a session that was killed
    if event.kind == START and AGENTS[event.agent].loses_start_context:
        return [*plan, Remember({"owed_sources": "+".join(sources), "has_context": False})]
    if "compact" in sources:
        plan += _save(circumstances, "pre_compact")
    if sources != ["compact"]:
        plan.append(PlanStep.BEGIN_SESSION)
    plan += [RunWorkflows("on_session_start", {"source": source}) for source in sources]
    owed = "compact" if sources == ["compact"] else ""
    plan.append(Remember({"has_context": True, "owed_sources": owed}))
    return [*plan, PlanStep.LIST_WANTED_EVENTS, PlanStep.REMEMBER_TIP, PlanStep.FORGET_OLD_SESSIONS]


def _list_start_sources(event: Payload, known: HookSession, circumstances: Circumstances) -> list[str]:
    """Return the reasons why the session starts: its source, and `compact` if a resume lacks a compaction's context."""
    if event.kind == PROMPT:  # the start hook did not run, or could not add context
        return known.owed_sources.split("+") if known.owed_sources else ["startup"]
    source = event.detail or "startup"
    lacks_context = source == "resume" and "compact" in known.owed_sources and not circumstances.has_arrived
    return [source, "compact"] if lacks_context else [source]


def _plan_prompt(event: Payload, known: HookSession, circumstances: Circumstances) -> list[Decision]:
    if known.has_context:
        plan = [*_plan_owed(known, circumstances), PlanStep.LIST_WANTED_EVENTS]
    else:
        plan = _plan_start(event, known, circumstances)
    plan.append(RunWorkflows("on_prompt_submit", {"prompt": event.prompt}))
    return [*plan, Recall(event.prompt)] if circumstances.recalls and asks(event.prompt) else plan


def _plan_owed(known: HookSession, circumstances: Circumstances) -> list[Decision]:
    """Plan to inject the start's context again after a compaction, once, unless the transcript already shows it.

    Claude Code writes the context to the transcript some seconds later, so this waits for a prompt after that time.
    """
    if not known.owed_sources or (known.mark and not circumstances.has_arrived and _may_lag(circumstances)):
        return []
    repeated = [] if circumstances.has_arrived else [RunWorkflows("on_session_start", {"source": "compact"})]
    return [*repeated, Remember({"owed_sources": ""})]


def _may_lag(circumstances: Circumstances) -> bool:
    return circumstances.idle_seconds < TRANSCRIPT_DELAY


def _plan_compaction(event: Payload, known: HookSession, circumstances: Circumstances) -> list[Decision]:
    plan = _save(circumstances, "pre_compact", force=True)
    if not AGENTS[event.agent].compacts_unannounced or event.detail == "manual":
        # Counted now, so that the next end of a turn does not take it for one that was not announced.
        plan.append(Remember({"owed_sources": "compact", "mark": "", "compactions": known.compactions + 1}))
    return [*plan, RunWorkflows("on_pre_compact", {"trigger": event.detail or "auto"})]


def _plan_stop(event: Payload, circumstances: Circumstances) -> list[Decision]:
    plan = _save(circumstances, "stop")
    if circumstances.checkpoints_periodically:
        plan.append(PlanStep.SAVE_CHECKPOINT)
    data = {"response": event.response, "prompt_response": event.response}
    return [*plan, RunWorkflows("on_after_agent", data), RunWorkflows("on_stop", data), PlanStep.LIMIT_BLOCKS]


def _plan_end(event: Payload, circumstances: Circumstances) -> list[Decision]:
    reason = event.detail or "other"
    plan = _save(circumstances, "session_end", force=True)
    plan += [RunWorkflows("on_session_end", {"reason": reason}), PlanStep.WRAP_SESSION]
    if circumstances.checkpoints_at_end:
        plan.append(PlanStep.CHECKPOINT_AT_END)
    return [*plan, Remember({"ended": reason}), PlanStep.WORK_LATER]


def _save(circumstances: Circumstances, trigger: Trigger, *, force: bool = False) -> list[Decision]:
    return [SaveFacts(trigger, force)] if circumstances.saves_facts else []


# --- what follows from the results of decisions


def note_compactions(event: Payload, known: HookSession, compactions: int) -> HookSession:
    """Return the session with the number of compactions in its transcript.

    If a compaction is new and the CLI did not announce it, the session's context must be injected again. There are
    fewer than known if one that was announced did not take place.
    """
    if event.kind != STOP or compactions == known.compactions:
        return known
    is_owed = compactions > known.compactions and AGENTS[event.agent].compacts_unannounced
    known = known._replace(compactions=compactions)
    return known._replace(owed_sources="compact", mark="") if is_owed else known


def limit_blocks(known: HookSession, is_blocked: bool) -> tuple[HookSession, bool]:
    """Count consecutive blocked stops; return the updated session, and whether the stop is still blocked."""
    blocks = known.blocks + 1 if is_blocked else 0
    if blocks > MAX_BLOCKS:
        return known._replace(blocks=0), False
    return known._replace(blocks=blocks), is_blocked


def choose_cleared_session(sessions: Sequence[HookSession], session: HookSession, pid: int) -> str:
    """Return the session whose context was cleared to start this one; empty if none. `sessions`: newest first."""
    nearby = [
        other for other in sessions
        if other.session != session.session and other.git_dir == session.git_dir and other.cli == session.cli
    ]  # fmt: skip
    if same_process := [other for other in nearby if other.pid == pid != 0]:
        return same_process[0].session
    return nearby[0].session if nearby and nearby[0].ended == "clear" else ""


# --- events that come twice


def identify_event(event: Payload) -> str:
    """Return a short fingerprint of an event within its session."""
    content = (event.prompt + event.response).encode("utf-8", "replace")
    return f"{event.event} {event.detail} {crc32(content):x}"


def is_repeated(event: Payload, known: HookSession, idle_seconds: float) -> bool:
    """Whether the same event was just handled: our hooks may be installed by a plugin and in the settings as well."""
    return known.event == identify_event(event) and idle_seconds < REPEAT_SECONDS
