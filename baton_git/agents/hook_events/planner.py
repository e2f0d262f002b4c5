"""Plan the handling of a hook event: turn the event and the remembered session into a list of decisions.

This module performs no I/O; `interfaces.hook.event_runner` carries the decisions out in order. The workflow events are
those of `systems.gobby.workflow`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Literal, NamedTuple
from zlib import crc32

from baton_git.agents.hook_events.hook_session import HookSession
from baton_git.agents.hook_events.payloads import COMPACT, END, PROMPT, START, STOP, Payload
from baton_git.agents.registry import AGENTS

MAX_BLOCKS = 8
"""How many times in a row a workflow may keep an agent from stopping; Claude Code has the same limit."""
TRANSCRIPT_DELAY = 4.0
"""How far, in seconds, a transcript may lag behind its session."""

REPEAT_SECONDS = 3.0
"""An identical event within this many seconds is a repetition."""

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
    """Find the session that this one, started by `source`, continues."""

    source: str


class SaveFacts(NamedTuple):
    """Extract the transcript's facts and save them; `force`: even if only short-lived facts have changed."""

    trigger: Trigger
    force: bool = False


class RunWorkflows(NamedTuple):
    """Run the workflows of one workflow event."""

    event: str
    data: Mapping[str, Any]


class Recall(NamedTuple):
    """Add text of earlier sessions about the subject of a prompt, if something clearly matches."""

    prompt: str


class PlanStep(Enum):
    """A decision without arguments; the value describes it."""

    CATCH_UP = "save the facts of sessions that ended without a hook"
    BEGIN_SESSION = "boot the session, which makes its brief"
    LIST_WANTED_EVENTS = "remember the events that workflows listen to"
    REMEMBER_TIP = "remember the commit of the namespace that the session now knows"
    FORGET_OLD_SESSIONS = "remove the oldest remembered sessions"
    SAVE_CHECKPOINT = "make PAIF's periodic checkpoint, if it is due"
    LIMIT_BLOCKS = "apply `limit_blocks` to the workflows' reply"
    WRAP_SESSION = "end the session in the namespace"
    CHECKPOINT_AT_END = "make PAIF's last checkpoint"


Decision = Remember | FindParent | SaveFacts | RunWorkflows | Recall | PlanStep


def plan_event(event: Payload, known: HookSession, circumstances: Circumstances) -> list[Decision]:
    """Decide what to do about one event; `known` is its session as remembered before."""
    if event.kind == START:
        return _plan_start(event, known, circumstances)
    if event.kind == PROMPT:
        return _plan_prompt(event, known, circumstances)
    return {COMPACT: _plan_compaction, STOP: _plan_stop, END: _plan_end}[event.kind](event, circumstances)


def needs_arrival(event: Payload, known: HookSession) -> bool:
    """Whether the plan depends on `has_arrived`, for which the transcript must be read."""
    if event.kind == START:
        return event.detail == "resume" and "compact" in known.owed
    return event.kind == PROMPT and known.told and bool(known.owed)


def _plan_start(event: Payload, known: HookSession, circumstances: Circumstances) -> list[Decision]:
    sources = _sources_of_start(event, known, circumstances)
    plan: list[Decision] = []
    if not known.parent and sources[0] not in ("resume", "compact"):
        plan.append(FindParent(sources[0]))
    plan.append(Remember({"ended": "", "pid": circumstances.pid, "owed": ""}))
    if circumstances.saves_facts:
        plan.append(PlanStep.CATCH_UP)
    if event.kind == START and AGENTS[event.agent].told_at_prompt:
        return [*plan, Remember({"owed": "+".join(sources), "told": False})]
    if "compact" in sources:
        plan += _save(circumstances, "pre_compact")
    if sources != ["compact"]:
        plan.append(PlanStep.BEGIN_SESSION)
    plan += [RunWorkflows("on_session_start", {"source": source}) for source in sources]
    owed = "compact" if sources == ["compact"] else ""
    plan.append(Remember({"told": True, "owed": owed}))
    return [*plan, PlanStep.LIST_WANTED_EVENTS, PlanStep.REMEMBER_TIP, PlanStep.FORGET_OLD_SESSIONS]


def _sources_of_start(event: Payload, known: HookSession, circumstances: Circumstances) -> list[str]:
    """Return why the session starts; a compaction is added if its context never arrived before a resume."""
    if event.kind == PROMPT:  # the start hook did not run, or could not add context
        return known.owed.split("+") if known.owed else ["startup"]
    source = event.detail or "startup"
    lacks_context = source == "resume" and "compact" in known.owed and not circumstances.has_arrived
    return [source, "compact"] if lacks_context else [source]


def _plan_prompt(event: Payload, known: HookSession, circumstances: Circumstances) -> list[Decision]:
    if known.told:
        plan = [*_plan_owed(known, circumstances), PlanStep.LIST_WANTED_EVENTS]
    else:
        plan = _plan_start(event, known, circumstances)
    plan.append(RunWorkflows("on_prompt_submit", {"prompt": event.prompt}))
    return [*plan, Recall(event.prompt)] if circumstances.recalls and event.prompt else plan


def _plan_owed(known: HookSession, circumstances: Circumstances) -> list[Decision]:
    """Plan to repeat the start's context once after a compaction, unless the transcript already shows it.

    Claude Code writes the context to the transcript some seconds later, so a prompt within that time decides nothing.
    """
    if not known.owed or (known.mark and not circumstances.has_arrived and _may_lag(circumstances)):
        return []
    repeated = [] if circumstances.has_arrived else [RunWorkflows("on_session_start", {"source": "compact"})]
    return [*repeated, Remember({"owed": ""})]


def _may_lag(circumstances: Circumstances) -> bool:
    return circumstances.idle_seconds < TRANSCRIPT_DELAY


def _plan_compaction(event: Payload, circumstances: Circumstances) -> list[Decision]:
    plan = _save(circumstances, "pre_compact", force=True)
    if not AGENTS[event.agent].compacts_unannounced or event.detail == "manual":
        plan.append(Remember({"owed": "compact", "mark": ""}))
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
    return [*plan, Remember({"ended": reason})]


def _save(circumstances: Circumstances, trigger: Trigger, *, force: bool = False) -> list[Decision]:
    return [SaveFacts(trigger, force)] if circumstances.saves_facts else []


# --- what follows from the results of decisions


def note_compactions(event: Payload, known: HookSession, compactions: int) -> HookSession:
    """Return the session with the number of compactions that its transcript shows; a new one may owe context."""
    if event.kind != STOP or compactions <= known.compactions:
        return known
    known = known._replace(compactions=compactions)
    return known._replace(owed="compact", mark="") if AGENTS[event.agent].compacts_unannounced else known


def limit_blocks(known: HookSession, is_blocked: bool) -> tuple[HookSession, bool]:
    """Count consecutive blocked stops; return the updated session, and whether the stop is still blocked."""
    blocks = known.blocks + 1 if is_blocked else 0
    if blocks > MAX_BLOCKS:
        return known._replace(blocks=0), False
    return known._replace(blocks=blocks), is_blocked


def choose_cleared_session(sessions: Sequence[HookSession], session: HookSession, pid: int) -> str:
    """Return the session whose context was cleared to start this one; empty if none. `sessions`: newest first."""
    nearby = [
        seen for seen in sessions
        if seen.session != session.session and seen.git_dir == session.git_dir and seen.cli == session.cli
    ]  # fmt: skip
    if same_process := [seen for seen in nearby if seen.pid == pid != 0]:
        return same_process[0].session
    return nearby[0].session if nearby and nearby[0].ended == "clear" else ""


# --- events that come twice


def identify_event(event: Payload) -> str:
    """Return a short fingerprint of an event within its session."""
    content = (event.prompt + event.response).encode("utf-8", "replace")
    return f"{event.event} {event.detail} {crc32(content):x}"


def is_repeated(event: Payload, known: HookSession, idle_seconds: float) -> bool:
    """Whether this event was handled just before; our hooks may be installed both by a plugin and in the settings."""
    return known.event == identify_event(event) and idle_seconds < REPEAT_SECONDS
