"""What an agent must know when it is restored, as sections of a brief; the most urgent comes first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from baton_git.core.brief import BUDGET, LINE, Brief, Section, age, compose
from baton_git.core.output import one_line
from baton_git.systems.paif.drift import said, taboos
from baton_git.systems.paif.records.checkpoint import Checkpoint
from baton_git.systems.paif.records.identity import Identity

FOCUS = "Where you stopped"


def brief(identity: Identity, checkpoint: Checkpoint | None, now: datetime, mark: str, budget: int = BUDGET) -> Brief:
    """The text that a restore prints, within `budget` bytes."""
    experience = identity.mutable.state.accumulated_experience
    when = f"checkpoint {age(checkpoint.metadata.ended_at, now)}" if checkpoint is not None else "no checkpoint yet"
    heading = f"restore of {identity.id} · session {experience} · {when}"
    everything = f"baton restore --agent {one_line(identity.id, 40)} --json"
    parts = [part._replace(all=everything, lines=_with_tier(part)) for part in sections(identity, checkpoint)]
    return compose(one_line(heading, 300), parts, mark, budget)


def _with_tier(part: Section) -> tuple[str, ...]:
    """The lines with who vouches for them before each: the agent itself, whatever a text in them says."""
    return tuple(f"- [llm_derived] {line[2:]}" if line.startswith("- ") else line for line in part.lines)


def sections(identity: Identity, checkpoint: Checkpoint | None) -> list[Section]:
    focus = identity.mutable.state.current_focus
    found = [Section("Who you are", tuple(_who(identity)), "lines of identity")]
    if checkpoint is None:
        lines = _named("focus", said(focus))
        return [*found, Section(FOCUS, tuple(lines), "lines"), *_grown(identity)]
    context, memories, working = checkpoint.context, checkpoint.recent_memories, checkpoint.working_memory
    stopped = [*_named("focus", said(context.current_focus or focus)), *_at_work(checkpoint)]
    pad = tuple(f"| {_kept(line)}" for line in working.scratchpad.splitlines() if line.strip())
    recalled = [*_named("memory", memories.memory_ids), *_named("searched for", said(memories.last_recall_query))]
    return [
        *found,
        Section(FOCUS, tuple(stopped), "lines"),
        Section("Pending", _listed(context.pending_items), "pending items"),
        Section("What happened", _lines(context.conversation_summary), "lines of the summary"),
        Section("What you were doing, the outermost first", _listed(working.context_stack), "steps"),
        Section("Open files", _listed(working.open_files), "open files"),
        Section("Scratchpad", pad, "lines of the scratchpad"),
        Section("Memories of that session", tuple(recalled), "memories"),
        *_grown(identity),
    ]


def _who(identity: Identity) -> Iterable[str]:
    who = identity.immutable
    if who is None:
        return
    voice, values = who.voice, who.values
    yield from _named("purpose", said(who.purpose.statement))
    yield from _named("values", [", ".join([*said(values.primary), *values.secondary])])
    yield from _named("never gives up", [", ".join(values.non_negotiables)])
    yield from _named("voice", [", ".join([*said(voice.tone), *voice.quirks])])
    yield from _named("never says", ["; ".join(phrase for phrases in taboos(identity).values() for phrase in phrases)])
    yield from _named("works on", [", ".join(who.purpose.domains)])
    yield from _named("keeps to", [", ".join(who.purpose.constraints)])
    yield from _named("answers in", [", ".join(voice.preferred_formats)])
    yield from _named("created by", said(who.origin.created_by))
    yield from _named("custodian", said(who.lineage.human_custodian))


def _at_work(checkpoint: Checkpoint) -> Iterable[str]:
    metadata = checkpoint.metadata
    yield from _named("projects", [", ".join(checkpoint.context.active_project_ids)])
    kind = " (on the way, not at its end)" if metadata.checkpoint_type == "periodic" else ""
    yield from _named("session", [f"{metadata.session_id}, {metadata.started_at} to {metadata.ended_at}{kind}"])


def _grown(identity: Identity) -> list[Section]:
    mutable = identity.mutable
    projects = [_entry(one, "name", "status", "description") for one in mutable.active_projects]
    learned = [
        *_named("belief", [_entry(one, "subject", "confidence") for one in mutable.beliefs]),
        *_named("skill", [_entry(one, "name", "level") for one in mutable.skills]),
        *_named("relationship", [_entry(one, "entity", "type") for one in mutable.relationships]),
    ]
    return [
        Section("Projects", _listed(projects), "projects"),
        Section("What you have learned", tuple(learned), "things learned"),
    ]


def _entry(entry: dict[str, Any], *fields: str) -> str:
    return " · ".join(str(entry[name]) for name in fields if entry.get(name) is not None)


def _named(name: str, texts: Iterable[str]) -> list[str]:
    return [f"- {name}: {one_line(text, LINE)}" for text in texts if text]


def _listed(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"- {one_line(text, LINE)}" for text in texts if text.strip())


def _lines(text: str) -> tuple[str, ...]:
    return tuple(f"| {one_line(line, LINE)}" for line in text.splitlines() if line.strip())


def _kept(line: str) -> str:
    """A line of code keeps its indentation."""
    flat = line.expandtabs(4)
    return " " * min(40, len(flat) - len(flat.lstrip(" "))) + one_line(line, LINE)
