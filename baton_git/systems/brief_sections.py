"""What handovers, checkpoints and snapshots say, as sections of the brief.

Apart from `brief`, since few namespaces have any of them, and every start would pay for their models.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from baton_git.core.brief import LINE, Section, age, quote_id, tier_line
from baton_git.core.output import one_line
from baton_git.core.records.base import Part
from baton_git.core.state import Key, State, Unreadable
from baton_git.core.times import parse_time_or_none

if TYPE_CHECKING:
    from baton_git.systems.ecc.record import Snapshot
    from baton_git.systems.kairos.record import Handover
    from baton_git.systems.paif.records.checkpoint import Checkpoint

TIER = "llm_derived"
"""Who vouches for what an agent or a client wrote down of itself."""
SNAPSHOTS = 5
"""How many of the snapshots are told, the newest ones."""


def sections(state: State, now: datetime, kinds: Collection[str], agent: str | None) -> Iterator[Section]:
    """The sections of what there is of some kinds. Of checkpoints only those of the agent that reads: agents are apart.

    Args:
        agent: who reads; where nobody says so, an agent that is alone in the namespace is meant.
    """
    if "handover" in kinds and state.ids("handover"):
        yield _handovers(state, now)
    if "checkpoint" in kinds and state.ids("checkpoint"):
        yield _checkpoint(state, now, agent)
    if "snapshot" in kinds and state.ids("snapshot"):
        yield _snapshots(state, now)


def unreadable(state: State, kinds: Collection[str], agent: str | None) -> Iterator[Unreadable]:
    """What of all that would be told cannot be read."""
    keys = [Key(kind, id_) for kind in ("handover", "snapshot") if kind in kinds for id_ in sorted(state.ids(kind))]
    keys += [Key("identity", agent)] if agent is not None else []
    mine = _agent(state, agent) if "checkpoint" in kinds else None
    found = [state.entry(key) for key in keys]
    yield from (one for one in found if isinstance(one, Unreadable))
    if mine is not None:
        from baton_git.systems.paif import checkpoint_store

        yield from checkpoint_store.damaged(state, mine)


def _newest_first(state: State, kind: str, dated: str) -> list[Any]:
    """The readable records of a kind; by its name, so that only the models of what there is are loaded."""
    found = [entry for id_ in state.ids(kind) if isinstance(entry := state.entry(Key(kind, id_)), Part)]
    return sorted(found, key=lambda one: (_in_time(getattr(one, dated)), getattr(one, "id", "")), reverse=True)


def _in_time(text: str | None) -> tuple[bool, str]:
    """Sorts points in time as such; what is none stands before them."""
    found = parse_time_or_none(text)
    return found is not None, found.isoformat() if found is not None else ""


# --- handovers


def _handovers(state: State, now: datetime) -> Section:
    runs: list[Handover] = _newest_first(state, "handover", "updated_at")
    lines = tuple(_run_line(one, now) for one in runs)
    title = "Protocol runs to go on with (baton handover resume --session ID)"
    return Section(title, lines, "handovers", all="baton status")


def _run_line(run: Handover, now: datetime) -> str:
    from baton_git.systems.kairos.rules import age_of

    step, old = run.step, age_of(run, now)
    number = f"step {step.step_index} " if step.step_index else "at "
    since = age(run.updated_at, now) if run.updated_at and old.stale is not None else "nobody knows since when"
    known = f" · known: {', '.join(run.state)}" if run.state else ""
    mark = "" if old.stale is False else "STALE: " if old.stale else "age unknown: "
    text = f"{mark}{number}{step.current_challenge or '?'} · {step.chain_uri or 'no URI'} · {since}{known}"
    return tier_line(run.id, TIER, text)


# --- checkpoints


def _agent(state: State, agent: str | None) -> str | None:
    """Whose checkpoint is meant; None where none is of the agent that reads, or nobody says who that is."""
    agents = sorted({name.partition("/")[0] for name in state.ids("checkpoint")})
    if agent is None:
        return agents[0] if len(agents) == 1 else None
    return agent if agent in agents else None


def _checkpoint(state: State, now: datetime, agent: str | None) -> Section:
    from baton_git.systems.paif import checkpoint_store

    mine = _agent(state, agent)
    if mine is None:
        agents = sorted({name.partition("/")[0] for name in state.ids("checkpoint")})
        who = ", ".join(quote_id(one) for one in agents[:8])
        return Section("Checkpoints", (f"- of {who}: baton restore --agent NAME",), "checkpoints")
    found = checkpoint_store.newest(state, mine, now)
    lines = tuple(_checkpoint_lines(found)) if found else ()
    since = f", {age(found.metadata.ended_at, now)}" if found else ""
    how = f"baton restore --agent {quote_id(mine)}"
    title = f"Last checkpoint of {quote_id(mine)}{since} ({how})"
    return Section(title, lines, "lines of the checkpoint", all=f"{how} --json")


def _checkpoint_lines(found: Checkpoint) -> Iterator[str]:
    context, memory = found.context, found.working_memory
    if context.conversation_summary:
        yield f"- [{TIER}] {one_line(context.conversation_summary, LINE)}"
    if context.current_focus:
        yield f"- [{TIER}] focus: {one_line(context.current_focus, LINE)}"
    yield from (f"- [{TIER}] pending: {one_line(item, LINE)}" for item in context.pending_items)
    if memory.open_files:
        yield f"- [{TIER}] open files: {one_line(', '.join(memory.open_files), LINE)}"
    if memory.context_stack:
        yield f"- [{TIER}] at: {one_line(' → '.join(memory.context_stack), LINE)}"
    yield from (f"| {one_line(line, 200)}" for line in memory.scratchpad.splitlines() if line.strip())


# --- snapshots


def _snapshots(state: State, now: datetime) -> Section:
    found: list[Snapshot] = _newest_first(state, "snapshot", "recorded_at")
    lines = tuple(_snapshot_line(one, now) for one in found[:SNAPSHOTS])
    title = "Sessions seen elsewhere (baton session inspect recorded:ID)"
    return Section(title, lines, "snapshots", max(0, len(found) - SNAPSHOTS), all="baton session list --recorded")


def _snapshot_line(found: Snapshot, now: datetime) -> str:
    body = found.snapshot
    workers = ", ".join(f"{number} {state}" for state, number in body.aggregates.states.items() if number)
    first = body.workers[0].intent.objective if body.workers else ""
    risks = [risk for worker in body.workers for risk in worker.outputs.remainingRisks]
    parts = [f"{body.session.state} {age(found.recorded_at, now)}", f"workers: {workers}" if workers else "no workers"]
    parts += [first] if first else []
    parts += [f"open: {risks[0]}" + (f" (and {len(risks) - 1} more)" if len(risks) > 1 else "")] if risks else []
    return tier_line(found.id, "raw_source", " · ".join(parts))
