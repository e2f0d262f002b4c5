"""What handovers, checkpoints and snapshots say, as sections of the brief.

Apart from `brief`, since few namespaces have any of them, and every start would pay for their models.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from baton_git.brief import LINE, Section, age
from baton_git.diff import one_line
from baton_git.records.base import Part
from baton_git.state import Key, State, Unreadable

if TYPE_CHECKING:
    from baton_git.records.checkpoint import Checkpoint
    from baton_git.records.handover import Handover
    from baton_git.records.snapshot import Snapshot

SNAPSHOTS = 5
"""How many of the snapshots are told, the newest ones."""


def sections(state: State, now: datetime, kinds: Collection[str], agent: str | None) -> Iterator[Section]:
    """The sections of what there is of some kinds. Of checkpoints only those of the agent that reads: agents are apart.

    Args:
        agent: who reads; where nobody says so, an agent that is alone in the namespace is meant.
    """
    if "handover" in kinds and state.ids("handover"):
        yield _handovers(state, now)
    if "checkpoint" in kinds and (names := state.ids("checkpoint")):
        yield _checkpoint(state, now, names, agent)
    if "snapshot" in kinds and state.ids("snapshot"):
        yield _snapshots(state, now)


def unreadable(state: State, kinds: Collection[str], agent: str | None) -> Iterator[Unreadable]:
    """What of all that would be told cannot be read."""
    names = [name for name in state.ids("checkpoint") if agent in (None, name.partition("/")[0])]
    told = {kind: sorted(state.ids(kind)) for kind in ("handover", "snapshot")}
    told["checkpoint"] = [max(names)] if names else []
    for key in (Key(kind, id_) for kind in kinds for id_ in told[kind]):
        entry = state.entry(key)
        if isinstance(entry, Unreadable):
            yield entry


def _newest_first(state: State, kind: str, dated: str) -> list[Any]:
    """The readable records of a kind; by its name, so that only the models of what there is are loaded."""
    found = [entry for id_ in state.ids(kind) if isinstance(entry := state.entry(Key(kind, id_)), Part)]
    return sorted(found, key=lambda one: (getattr(one, dated) or "", getattr(one, "id", "")), reverse=True)


# --- handovers


def _handovers(state: State, now: datetime) -> Section:
    runs: list[Handover] = _newest_first(state, "handover", "updated_at")
    lines = tuple(_run_line(one, now) for one in runs)
    title = "Protocol runs to go on with (baton handover resume --session ID)"
    return Section(title, lines, "handovers", all="baton status")


def _run_line(run: Handover, now: datetime) -> str:
    from baton_git.handing import age_of

    step, stale = run.step, age_of(run, now).stale
    number = f"step {step.step_index} " if step.step_index else "at "
    known = f" · known: {', '.join(run.state)}" if run.state else ""
    when = f" · {age(run.updated_at, now)}" if run.updated_at else " · nobody knows since when"
    mark = "" if stale is False else "STALE: " if stale else "age unknown: "
    text = f"{mark}{number}{step.current_challenge or '?'} · {step.chain_uri or 'no URI'}{when}{known}"
    return f"- {one_line(run.id, 60)} {one_line(text, LINE)}"


# --- checkpoints


def _checkpoint(state: State, now: datetime, names: Iterable[str], agent: str | None) -> Section:
    agents = sorted({name.partition("/")[0] for name in names})
    mine = agent if agent in agents else agents[0] if agent is None and len(agents) == 1 else None
    if mine is None:
        who = ", ".join(one_line(one, 40) for one in agents[:8])
        return Section("Checkpoints", (f"- of {who}: baton restore --agent NAME",), "checkpoints")
    entry = state.entry(Key("checkpoint", max(name for name in names if name.partition("/")[0] == mine)))
    found: Any = entry if isinstance(entry, Part) else None
    lines = tuple(_checkpoint_lines(found)) if found else ()
    when = f", {age(found.metadata.ended_at, now)}" if found else ""
    how = f"baton restore --agent {one_line(mine, 40)}"
    title = f"Last checkpoint of {one_line(mine, 40)}{when} ({how})"
    return Section(title, lines, "lines of the checkpoint", all=f"{how} --json")


def _checkpoint_lines(found: Checkpoint) -> Iterator[str]:
    context, memory = found.context, found.working_memory
    if context.conversation_summary:
        yield f"- {one_line(context.conversation_summary, LINE)}"
    if context.current_focus:
        yield f"- focus: {one_line(context.current_focus, LINE)}"
    yield from (f"- pending: {one_line(item, LINE)}" for item in context.pending_items)
    if memory.open_files:
        yield f"- open files: {one_line(', '.join(memory.open_files), LINE)}"
    if memory.context_stack:
        yield f"- at: {one_line(' → '.join(memory.context_stack), LINE)}"
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
    return f"- {one_line(found.id, 60)} {one_line(' · '.join(parts), LINE)}"
