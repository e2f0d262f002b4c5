"""The text that a restore prints: what the agent must know, in sections, most urgent first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from baton_git.core.brief import BUDGET, LINE, Brief, Section, compose
from baton_git.core.output import one_line
from baton_git.core.times import describe_age
from baton_git.systems.paif.identity import list_taboos, list_texts
from baton_git.systems.paif.record import Checkpoint, Identity

FOCUS = "Where you stopped"


def make_restore_brief(
    identity: Identity, checkpoint: Checkpoint | None, now: datetime, mark: str, budget: int = BUDGET
) -> Brief:
    """Return the text that a restore prints, at most `budget` bytes long.

    Args:
        mark: a random word that frames the text, as in `compose`.
    """
    experience = identity.mutable.state.accumulated_experience
    ended = describe_age(checkpoint.metadata.ended_at, now) if checkpoint is not None else None
    when = f"checkpoint {ended}" if ended else "no checkpoint yet"
    heading = f"restore of {identity.id} · session {experience} · {when}"
    everything = f"baton restore --agent {one_line(identity.id, 40)} --json"
    parts = [part._replace(all=everything, lines=_add_tier(part)) for part in list_sections(identity, checkpoint)]
    return compose(one_line(heading, 300), parts, mark, budget)


def _add_tier(part: Section) -> tuple[str, ...]:
    """Return the lines of a section, with each item marked as written by an agent, whatever the text claims."""
    return tuple(f"- [llm_derived] {line[2:]}" if line.startswith("- ") else line for line in part.lines)


def list_sections(identity: Identity, checkpoint: Checkpoint | None) -> list[Section]:
    """Return the sections about an agent, most urgent first. A section without content has no lines."""
    focus = identity.mutable.state.current_focus
    sections = [Section("Who you are", tuple(_list_identity_lines(identity)), "lines of identity")]
    if checkpoint is None:
        lines = _format_named("focus", list_texts(focus))
        return [*sections, Section(FOCUS, tuple(lines), "lines"), *_list_learned_sections(identity)]
    context, memories, working = checkpoint.context, checkpoint.recent_memories, checkpoint.working_memory
    stopped = [*_format_named("focus", list_texts(context.current_focus or focus)), *_list_work_lines(checkpoint)]
    pad = tuple(f"| {_format_code_line(line)}" for line in working.scratchpad.splitlines() if line.strip())
    recalled = [
        *_format_named("memory", memories.memory_ids),
        *_format_named("searched for", list_texts(memories.last_recall_query)),
    ]
    return [
        *sections,
        Section(FOCUS, tuple(stopped), "lines"),
        Section("Pending", _format_items(context.pending_items), "pending items"),
        Section("What happened", _format_lines(context.conversation_summary), "lines of the summary"),
        Section("What you were doing, outermost first", _format_items(working.context_stack), "steps"),
        Section("Open files", _format_items(working.open_files), "open files"),
        Section("Scratchpad", pad, "lines of the scratchpad"),
        Section("Memories of that session", tuple(recalled), "memories"),
        *_list_learned_sections(identity),
    ]


def _list_identity_lines(identity: Identity) -> Iterable[str]:
    immutable = identity.immutable
    if immutable is None:
        return
    voice, values = immutable.voice, immutable.values
    yield from _format_named("purpose", list_texts(immutable.purpose.statement))
    yield from _format_named("values", [", ".join([*list_texts(values.primary), *values.secondary])])
    yield from _format_named("never gives up", [", ".join(values.non_negotiables)])
    yield from _format_named("voice", [", ".join([*list_texts(voice.tone), *voice.quirks])])
    yield from _format_named(
        "never says", ["; ".join(phrase for phrases in list_taboos(identity).values() for phrase in phrases)]
    )
    yield from _format_named("works on", [", ".join(immutable.purpose.domains)])
    yield from _format_named("keeps to", [", ".join(immutable.purpose.constraints)])
    yield from _format_named("answers in", [", ".join(voice.preferred_formats)])
    yield from _format_named("created by", list_texts(immutable.origin.created_by))
    yield from _format_named("custodian", list_texts(immutable.lineage.human_custodian))


def _list_work_lines(checkpoint: Checkpoint) -> Iterable[str]:
    metadata = checkpoint.metadata
    yield from _format_named("projects", [", ".join(checkpoint.context.active_project_ids)])
    kind = " (periodic)" if metadata.checkpoint_type == "periodic" else ""
    yield from _format_named("session", [f"{metadata.session_id}, {metadata.started_at} to {metadata.ended_at}{kind}"])


def _list_learned_sections(identity: Identity) -> list[Section]:
    mutable = identity.mutable
    projects = [_format_entry(project, "name", "status", "description") for project in mutable.active_projects]
    learned = [
        *_format_named("belief", [_format_entry(belief, "subject", "confidence") for belief in mutable.beliefs]),
        *_format_named("skill", [_format_entry(skill, "name", "level") for skill in mutable.skills]),
        *_format_named(
            "relationship", [_format_entry(relationship, "entity", "type") for relationship in mutable.relationships]
        ),
    ]
    return [
        Section("Projects", _format_items(projects), "projects"),
        Section("What you have learned", tuple(learned), "things learned"),
    ]


def _format_entry(entry: dict[str, Any], *fields: str) -> str:
    return " · ".join(str(entry[name]) for name in fields if entry.get(name) is not None)


def _format_named(name: str, texts: Iterable[str]) -> list[str]:
    return [f"- {name}: {one_line(text, LINE)}" for text in texts if text]


def _format_items(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"- {one_line(text, LINE)}" for text in texts if text.strip())


def _format_lines(text: str) -> tuple[str, ...]:
    return tuple(f"| {one_line(line, LINE)}" for line in text.splitlines() if line.strip())


def _format_code_line(line: str) -> str:
    """Return a line of code with its indentation, of which at most 40 columns are kept."""
    flat = line.expandtabs(4)
    return " " * min(40, len(flat) - len(flat.lstrip(" "))) + one_line(line, LINE)
