"""The section of the brief about the reading agent's last checkpoint, or about the agents that have checkpoints."""

from __future__ import annotations

from collections.abc import Iterator

from baton_git.core.brief import CLAIMED_TIER, LINE, Rank, Section
from baton_git.core.output import one_line, quote_id
from baton_git.core.state import Key, State, Unreadable
from baton_git.core.times import describe_age
from baton_git.systems import BriefRequest
from baton_git.systems.paif import checkpoint_store
from baton_git.systems.paif.record import Checkpoint


def make_sections(request: BriefRequest) -> Iterator[Section]:
    """Yield at most one section: the newest checkpoint of the agent that `_find_reader` returns. If it returns None,
    the section names the agents that have checkpoints."""
    reader = _find_reader(request.state, request.agent)
    request.problems.extend(f"{entry.path}: {entry.why}" for entry in _list_unreadable(request, reader))
    agents = _list_agents(request.state)
    if request.restored or not agents:
        return
    if reader is None:
        names = ", ".join(quote_id(agent) for agent in agents[:8])
        yield Section("Checkpoints", (f"- of {names}: baton restore --agent NAME",), "checkpoints", rank=Rank.STANDING)
    else:
        yield _make_checkpoint_section(request, reader)


def _list_unreadable(request: BriefRequest, reader: str | None) -> Iterator[Unreadable]:
    entry = request.state.entry(Key("identity", request.agent)) if request.agent is not None else None
    if isinstance(entry, Unreadable):
        yield entry
    if reader is not None and not request.restored:
        yield from checkpoint_store.list_unreadable(request.state, reader)


def _list_agents(state: State) -> list[str]:
    return sorted({id_.partition("/")[0] for id_ in state.ids("checkpoint")})


def _find_reader(state: State, agent: str | None) -> str | None:
    """Return the agent whose checkpoint is shown: the reader or, if the reader is unknown, the only agent that has
    checkpoints. None if the reader has no checkpoint, or if the reader is unknown and several agents have some."""
    agents = _list_agents(state)
    if agent is None:
        return agents[0] if len(agents) == 1 else None
    return agent if agent in agents else None


def _make_checkpoint_section(request: BriefRequest, reader: str) -> Section:
    checkpoint = checkpoint_store.find_newest(request.state, reader, request.now)
    lines = tuple(_format_checkpoint_lines(checkpoint)) if checkpoint else ()
    since = f", {describe_age(checkpoint.metadata.ended_at, request.now)}" if checkpoint else ""
    command = f"baton restore --agent {quote_id(reader)}"
    title = f"Last checkpoint of {quote_id(reader)}{since} ({command})"
    return Section(title, lines, "lines of the checkpoint", all=f"{command} --json", rank=Rank.STANDING)


def _format_checkpoint_lines(checkpoint: Checkpoint) -> Iterator[str]:
    context, memory = checkpoint.context, checkpoint.working_memory
    if context.conversation_summary:
        yield f"- [{CLAIMED_TIER}] {one_line(context.conversation_summary, LINE)}"
    if context.current_focus:
        yield f"- [{CLAIMED_TIER}] focus: {one_line(context.current_focus, LINE)}"
    yield from (f"- [{CLAIMED_TIER}] pending: {one_line(item, LINE)}" for item in context.pending_items)
    if memory.open_files:
        yield f"- [{CLAIMED_TIER}] open files: {one_line(', '.join(memory.open_files), LINE)}"
    if memory.context_stack:
        yield f"- [{CLAIMED_TIER}] at: {one_line(' → '.join(memory.context_stack), LINE)}"
    yield from (f"| {one_line(line, 200)}" for line in memory.scratchpad.splitlines() if line.strip())
