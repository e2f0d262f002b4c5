"""The verbs of PAIF's session protocol: save where an agent stands, restore it, list its sessions."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Self

from pydantic import Field

from baton_git.core.brief import BUDGET, MIN_BUDGET
from baton_git.core.errors import Corrupt
from baton_git.core.verb import ADDS, READS, Input, Option, Tool, verb
from baton_git.namespace.results import (
    AtRevision,
    PageInput,
    PageResult,
    UnreadableFile,
    WrittenResult,
    full_position,
    position,
    take_page,
)
from baton_git.namespace.workspace import Workspace, fresh_mark
from baton_git.systems.paif import restore_text
from baton_git.systems.paif.checkpoints import (
    INTERVAL_MINUTES,
    Restored,
    agent_sessions,
    check_agent,
    look,
    restore,
    save_checkpoint,
)
from baton_git.systems.paif.documents import nest_sections, overlay_document, to_whole_document

HIDDEN = Option(hidden=True)
BODY_FIELDS = {
    "project": "active_project_ids", "pending": "pending_items", "memory_id": "memory_ids", "open_file": "open_files",
    "stack": "context_stack", "summary": "conversation_summary", "focus": "current_focus",
    "last_query": "last_recall_query", "scratchpad": "scratchpad", "started_at": "started_at",
    "duration": "duration_seconds",
}  # fmt: skip
"""By field of the input, the field of PAIF's request body."""


class SaveCheckpoint(Input):
    """Where an agent stands."""

    agent: str | None = Field(None, description="The agent.", examples=["zero"])
    summary: str | None = Field(None, description="What happened, in short.")
    pending: list[str] = Field([], description="What is left unresolved.")
    focus: str | None = Field(None, description="What the agent is at; else what its identity says.")
    project: list[str] = Field([], description="A project that was worked on.")
    scratchpad: str | None = Field(None, description="Partial code, draft text, intermediate results.")
    open_file: list[str] = Field([], description="A file that was being edited.")
    stack: list[str] = Field([], description="What the agent was doing, the outermost first.")
    memory_id: list[str] = Field([], description="A memory that the session made.")
    last_query: str | None = Field(None, description="What was searched for last.")
    started_at: str | None = Field(None, description="When the session began, where baton does not know it.")
    duration: int | None = Field(
        None, ge=0, le=1_000_000_000, description="How long it lasted, in seconds; else worked out."
    )
    more: dict[str, Any] = Field({}, description="PAIF's request body, or a whole checkpoint; the others count more.")
    periodic: bool = Field(False, description="On the way: only if the newest one is old enough.")
    interval_minutes: int = Field(
        INTERVAL_MINUTES, le=1_000_000_000, description="How old the newest one must be for a periodic one."
    )
    source: str = Field("", description="Where `more` comes from, for messages.")


class SavedCheckpoint(WrittenResult):
    """The checkpoint that was saved, or why none was."""

    id: str | None = Field(description="Its id; null where a periodic one was not due.", examples=["zero/2026-06-17"])
    saved: bool = Field(description="Whether it was saved now; false if the same one was there, or none was due.")
    younger: str = Field("", description="The checkpoint that is so young that none was due.")
    interval_minutes: int = Field(0, description="How old it must be, where none was due.")


class RestoreAgent(Input):
    """Which agent to restore."""

    agent: str | None = Field(None, description="The agent.", examples=["zero"])
    budget: int = Field(BUDGET, ge=MIN_BUDGET, le=1_000_000, description="Bytes of the text.")
    look: bool = Field(False, description="Only print it: no session begins, nothing is written.")


class RestoredAgent(AtRevision):
    """What an agent begins with."""

    agent: str = Field(description="The agent.", examples=["zero"])
    identity: dict[str, Any] = Field(description="Its identity, as PAIF has it.")
    checkpoint: dict[str, Any] | None = Field(description="Its newest checkpoint, as PAIF has it.")
    checkpoint_id: str | None = Field(description="The id of that checkpoint.")
    session: str | None = Field(description="The session that begins.")
    restored_at: str | None = Field(description="When it was restored.")
    recorded: bool = Field(description="Whether the restore was recorded.")
    damaged: list[UnreadableFile] = Field(description="Checkpoints that cannot be read.")
    left_out: dict[str, Any] = Field(description="What the text leaves out.")
    brief: str = Field(description="All of it as text.")
    problems: list[str] = Field(description="What went wrong, in words.")
    unrecorded: str = Field("", description="Why the restore could not be recorded.")
    verbose: ClassVar[frozenset[str]] = frozenset(
        {"commit", "identity", "checkpoint_id", "restored_at", "recorded", "damaged", "left_out", "unrecorded"}
    )

    @classmethod
    def of(cls, restored: Restored, now: datetime, asked: RestoreAgent) -> Self:
        """Return the result for an agent that was restored, or only looked at."""
        checkpoint, state, error = restored.checkpoint, restored.identity.mutable.state, restored.unrecorded
        text = restore_text.make_restore_brief(restored.identity, checkpoint, now, fresh_mark(), asked.budget)
        problems = [f"this restore was not recorded: {error}"] if error is not None else []
        problems += [str(Corrupt(entry.path, entry.why)) for entry in restored.damaged]
        return cls(
            agent=restored.identity.id,
            identity=restored.identity.model_dump(mode="json", exclude={"id"}),
            checkpoint=to_whole_document(checkpoint) if checkpoint is not None else None,
            checkpoint_id=checkpoint.id if checkpoint is not None else None,
            session=state.session_id,
            restored_at=state.last_session_at,
            recorded=error is None and not asked.look and state.session_id is not None,
            damaged=[UnreadableFile(path=entry.path, why=entry.why) for entry in restored.damaged],
            left_out=text.left_out,
            brief=text.text,
            problems=problems,
            **({"unrecorded": str(error)} if error is not None else {}),
            **position(restored.version),
        )


class ListAgentSessions(PageInput):
    """Whose sessions to list."""

    agent: str = Field(description="The agent.", examples=["zero"])


class AgentSessions(PageResult):
    """The sessions of an agent."""

    agent: str = Field(description="The agent.", examples=["zero"])
    sessions: list[dict[str, Any]] = Field(
        description="The newest first: PAIF's metadata of its newest checkpoint, its summary, and the ids of all. One "
        "that was never saved has no checkpoints.",
        examples=[[{"session_id": "s1", "conversation_summary": "…", "checkpoints": ["zero/2026…"]}]],
    )


@verb(
    "checkpoint",
    effect=ADDS,
    options={
        "agent": HIDDEN, "more": HIDDEN, "interval_minutes": HIDDEN, "source": HIDDEN,
        "project": Option(metavar="ID"), "open_file": Option(metavar="PATH"), "memory_id": Option(metavar="ID"),
        "started_at": Option(metavar="TIME"), "duration": Option(metavar="SECONDS"),
    },
    tool=Tool(
        "Save where an agent stands (PAIF).",
        hidden=(
            "focus", "project", "scratchpad", "open_file", "stack", "memory_id", "last_query", "started_at", "duration",
            "interval_minutes", "source",
        ),
    ),
    examples=(
        'baton checkpoint --agent zero --summary "Implemented namespace isolation" --pending "test it"',
        'baton checkpoint --agent zero --periodic --focus "the parser" --file state.json',
    ),
)  # fmt: skip
def save_agent_checkpoint(ws: Workspace, now: datetime, asked: SaveCheckpoint) -> SavedCheckpoint:
    """Save where an agent stands, for its next session.

    What is new about the agent goes into its identity. Periodic checkpoints are at least 30 minutes apart, or as many
    as checkpoint_interval_minutes says in .claude/CLAUDE.md.

    Raises:
        InvalidArgument: no agent is named, or there is nothing to save.
        InvalidDocument: a field does not fit.
    """
    options = {body: value for name, body in BODY_FIELDS.items() if (value := getattr(asked, name)) not in (None, [])}
    body = overlay_document(nest_sections(asked.more, where=asked.source), nest_sections(options))
    interval = asked.interval_minutes if asked.periodic else None
    saved = save_checkpoint(ws, now, check_agent(asked.agent), body, interval_minutes=interval, where=asked.source)
    result = SavedCheckpoint.of(saved.written, id=saved.id, saved=saved.id is not None and not saved.known)
    if saved.younger is None:
        return result
    return result.model_copy(update={"younger": saved.younger.id, "interval_minutes": asked.interval_minutes})


@verb(
    "restore",
    effect=ADDS,
    options={"agent": HIDDEN},
    tool=Tool("Become an agent: identity, newest checkpoint (PAIF).", hidden=("budget", "look")),
    examples=(
        "baton restore --agent zero",
        "baton restore --agent zero --look",
        "baton restore --agent zero --json | jq .checkpoint.context",
    ),
)
def restore_agent(ws: Workspace, now: datetime, asked: RestoreAgent) -> RestoredAgent:
    """Restore an agent: its identity and its newest checkpoint, and count one more of experience.

    A session of the agent begins: where none acts it gets a name, which is that of the checkpoints that follow.

    Raises:
        InvalidArgument: no agent is named.
        NotFound: the agent has no identity and no checkpoint.
    """
    agent = check_agent(asked.agent)
    return RestoredAgent.of(look(ws, now, agent) if asked.look else restore(ws, now, agent), now, asked)


@verb(
    "sessions",
    "GET /v1/checkpoints",
    effect=READS,
    tag="sessions",
    options={"agent": HIDDEN},
    examples=("baton sessions --agent zero", "baton sessions --agent zero --limit 5 --json"),
)
def list_agent_sessions(ws: Workspace, now: datetime, asked: ListAgentSessions) -> AgentSessions:
    """List the sessions of an agent, saved or only restored, the newest first (PAIF).

    Raises:
        NotFound: the agent has no identity and no checkpoint.
    """
    sessions = agent_sessions(ws, asked.agent)
    shown, after = take_page(sessions, asked, lambda session: session.metadata.session_id)
    data = [session.as_data() for session in shown]
    return AgentSessions(agent=asked.agent, sessions=data, next=after, **full_position(ws.branch.read()))
