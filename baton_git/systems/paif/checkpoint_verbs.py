"""The verbs of PAIF's session protocol: save a checkpoint, restore an agent, list its sessions."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Self

from pydantic import Field

from baton_git.core.brief import BUDGET, MIN_BUDGET
from baton_git.core.codecs import json
from baton_git.core.errors import Corrupt, Fault, InvalidDocument
from baton_git.core.output import flat
from baton_git.core.styles import Column, Role
from baton_git.core.times import describe_age
from baton_git.core.verb import ADDS, READS, FileInput, Input, Option, Tool, verb
from baton_git.core.view import Reader, ResultView
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
    collect_sessions,
    preview_restore,
    restore,
    save_checkpoint,
)
from baton_git.systems.paif.documents import nest_sections, overlay_document, to_whole_document
from baton_git.systems.paif.settings_file import read_settings, require_agent

HIDDEN = Option(hidden=True)
BODY_FIELDS = {
    "project": "active_project_ids", "pending": "pending_items", "memory_id": "memory_ids", "open_file": "open_files",
    "stack": "context_stack", "summary": "conversation_summary", "focus": "current_focus",
    "last_query": "last_recall_query", "scratchpad": "scratchpad", "started_at": "started_at",
    "duration": "duration_seconds",
}  # fmt: skip
"""Maps each field of the input to a field of PAIF's request body."""


class SaveCheckpoint(Input):
    """The content of a checkpoint."""

    agent: str | None = Field(None, description="The agent.", examples=["zero"])
    summary: str | None = Field(None, description="A summary of what happened.")
    pending: list[str] = Field([], description="An unresolved item.")
    focus: str | None = Field(None, description="What the agent is working on. Default: the focus in its identity.")
    project: list[str] = Field([], description="A project that the session worked on.")
    scratchpad: str | None = Field(None, description="Partial code, draft text, intermediate results.")
    open_file: list[str] = Field([], description="A file that was being edited.")
    stack: list[str] = Field([], description="A step of the task stack, outermost first.")
    memory_id: list[str] = Field([], description="A memory that the session created.")
    last_query: str | None = Field(None, description="The last search query.")
    started_at: str | None = Field(
        None, description="When the session began. Default: the recorded start, or the time of the checkpoint."
    )
    duration: int | None = Field(
        None, ge=0, le=1_000_000_000, description="Duration of the session in seconds. Default: since its start."
    )
    more: dict[str, Any] = Field(
        {}, description="PAIF's request body, or a whole checkpoint; other fields override it."
    )
    periodic: bool = Field(False, description="Save a periodic checkpoint, if the newest one is old enough.")
    interval_minutes: int = Field(
        INTERVAL_MINUTES,
        le=1_000_000_000,
        description="Minimum age of the newest checkpoint, in minutes, for a periodic one to be saved.",
    )
    source: str = Field("", description="Source of `more`, for messages.")


class SavedCheckpoint(WrittenResult):
    """The checkpoint that was saved, or the reason why none was."""

    id: str | None = Field(description="The id; null if no checkpoint was due.", examples=["zero/2026-06-17"])
    saved: bool = Field(description="Whether a checkpoint was saved; false if the same one exists, or none was due.")
    younger: str = Field("", description="The id of the checkpoint that is too recent for a periodic one to be due.")
    interval_minutes: int = Field(
        0, description="The minimum age in minutes that the newest checkpoint has not reached; 0 otherwise."
    )

    def show(self, reader: Reader) -> ResultView:
        due = f"no checkpoint is due: {flat(self.younger or '')} is younger than {self.interval_minutes} min"
        known = "this checkpoint already exists; nothing was written"
        return ResultView(flat(self.id or ""), self.told if self.saved else [known if self.id is not None else due])


class RestoreAgent(Input):
    """The agent to restore."""

    agent: str | None = Field(None, description="The agent.", examples=["zero"])
    budget: int = Field(BUDGET, ge=MIN_BUDGET, le=1_000_000, description="Maximum size of the text in bytes.")
    look: bool = Field(False, description="Preview: begin no session and write nothing.")


class RestoredAgent(AtRevision):
    """The identity and the checkpoint that an agent starts with."""

    agent: str = Field(description="The agent.", examples=["zero"])
    identity: dict[str, Any] = Field(description="The identity in PAIF's form.")
    checkpoint: dict[str, Any] | None = Field(description="The newest checkpoint in PAIF's form.")
    checkpoint_id: str | None = Field(description="The id of the newest checkpoint.")
    session: str | None = Field(description="The session that began; in a preview, the one of the last restore.")
    restored_at: str | None = Field(description="Time of this restore; in a preview, of the last one.")
    recorded: bool = Field(description="Whether the restore was recorded.")
    damaged: list[UnreadableFile] = Field(description="Checkpoints that cannot be read.")
    left_out: dict[str, Any] = Field(description="What was left out of the text for lack of space.")
    brief: str = Field(description="The restored state as text.")
    problems: list[str] = Field(description="Problems, one sentence each.")
    unrecorded: str = Field("", description="Why the restore could not be recorded.")
    verbose: ClassVar[frozenset[str]] = frozenset(
        {"commit", "identity", "checkpoint_id", "restored_at", "recorded", "damaged", "left_out", "unrecorded"}
    )

    @classmethod
    def of(cls, restored: Restored, now: datetime, verb_input: RestoreAgent) -> Self:
        """Return the result for an agent that was restored or previewed."""
        checkpoint, state, error = restored.checkpoint, restored.identity.mutable.state, restored.unrecorded
        text = restore_text.make_restore_brief(restored.identity, checkpoint, now, fresh_mark(), verb_input.budget)
        problems = [f"this restore was not recorded: {error}"] if error is not None else []
        problems += [str(Corrupt(entry.path, entry.why)) for entry in restored.damaged]
        return cls(
            agent=restored.identity.id,
            identity=restored.identity.model_dump(mode="json", exclude={"id"}),
            checkpoint=to_whole_document(checkpoint) if checkpoint is not None else None,
            checkpoint_id=checkpoint.id if checkpoint is not None else None,
            session=state.session_id,
            restored_at=state.last_session_at,
            recorded=error is None and not verb_input.look and state.session_id is not None,
            damaged=[UnreadableFile(path=entry.path, why=entry.why) for entry in restored.damaged],
            left_out=text.left_out,
            brief=text.text,
            problems=problems,
            **({"unrecorded": str(error)} if error is not None else {}),
            **position(restored.revision),
        )

    def show(self, reader: Reader) -> ResultView:
        notes = [flat(f"cannot be read: {file.path}: {file.why}") for file in self.damaged]
        if self.unrecorded:
            return ResultView(
                self.brief, [*notes, f"baton: this restore was not recorded: {flat(self.unrecorded)}"], "failed"
            )
        return ResultView(self.brief, notes)


class ListAgentSessions(PageInput):
    """The agent whose sessions to list."""

    agent: str | None = Field(None, description="The agent.", examples=["zero"])


class AgentSessions(PageResult):
    """The sessions of an agent."""

    agent: str = Field(description="The agent.", examples=["zero"])
    sessions: list[dict[str, Any]] = Field(
        description="Sessions, newest first. Each has PAIF's metadata, summary, focus and pending items of its newest "
        "checkpoint, and the ids of all its checkpoints. A session without a checkpoint has an empty list.",
        examples=[[{"session_id": "s1", "conversation_summary": "…", "checkpoints": ["zero/2026…"]}]],
    )

    def show(self, reader: Reader) -> ResultView:
        now = reader.now
        columns = [
            Column("ended", lambda session: describe_age(session["ended_at"] or session["started_at"], now), Role.DIM),
            Column("checkpoints", lambda session: len(session["checkpoints"]), right=True),
            Column("pending", lambda session: len(session["pending_items"]) or "", right=True),
            Column("about", _describe_session),
            Column("session", lambda session: reader.sessions.shorten_in(session["session_id"]), Role.ID),
        ]
        notes = [] if self.sessions else [f"{flat(self.agent)} has no session yet"]
        notes += [f"there are more sessions: --after {flat(self.next)}"] if self.next is not None else []
        return ResultView(reader.table(self.sessions, columns), notes)


def _describe_session(session: dict[str, Any]) -> str:
    if not session["checkpoints"]:
        return "restored, never saved"
    periodic = "periodic: " if session["checkpoint_type"] == "periodic" else ""
    return f"{periodic}{flat(session['conversation_summary'] or session['current_focus'] or '')}"


def _parse_body(text: str, file: str) -> dict[str, Any]:
    data = json.loads(text, where=file)
    if not isinstance(data, dict):
        raise InvalidDocument([Fault("", "a checkpoint must be an object")], where=file)
    return {"more": data, "source": file}


@verb(
    "checkpoint",
    usage="The file is the body of a request to PAIF, or a checkpoint in PAIF's format. Options override its fields.",
    file=FileInput(
        _parse_body,
        "A file with the checkpoint as JSON, as PAIF writes it; - reads standard input.",
    ),
    effect=ADDS,
    machine=True,
    options={
        "agent": HIDDEN, "more": HIDDEN, "interval_minutes": HIDDEN, "source": HIDDEN,
        "project": Option(metavar="ID"), "open_file": Option(metavar="PATH"), "memory_id": Option(metavar="ID"),
        "started_at": Option(metavar="TIME"), "duration": Option(metavar="SECONDS"),
    },
    tool=Tool(
        "Save an agent's checkpoint (PAIF).",
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
def save_agent_checkpoint(ws: Workspace, now: datetime, verb_input: SaveCheckpoint) -> SavedCheckpoint:
    """Save a checkpoint of an agent for its next session.

    Beliefs, skills and relationships in the checkpoint are added to the agent's identity.

    A periodic checkpoint is saved only if the newest one is at least 30 minutes old (or checkpoint_interval_minutes in
    .claude/CLAUDE.md).

    Raises:
        InvalidArgument: no agent is named, or the checkpoint would be empty.
        InvalidDocument: a field is not valid.
    """
    options = {
        body: value for name, body in BODY_FIELDS.items() if (value := getattr(verb_input, name)) not in (None, [])
    }
    body = overlay_document(
        nest_sections(verb_input.more, where=verb_input.source), nest_sections(ws.names.shorten(options))
    )
    config = read_settings(ws.folder) if verb_input.periodic and ws.machine is not None else None
    minutes = verb_input.interval_minutes
    if config is not None and "interval_minutes" not in verb_input.model_fields_set:
        minutes = config.interval_minutes
    agent = require_agent(ws, verb_input.agent, config)
    interval = minutes if verb_input.periodic else None
    saved = save_checkpoint(ws, now, agent, body, interval_minutes=interval, where=verb_input.source)
    result = SavedCheckpoint.of(saved.written, id=saved.id, saved=saved.id is not None and not saved.known)
    if saved.younger is None:
        return result
    return result.model_copy(update={"younger": saved.younger.id, "interval_minutes": minutes})


@verb(
    "restore",
    usage="If the restore cannot be recorded, the text is printed nevertheless, and the exit status is 1.",
    effect=ADDS,
    machine=True,
    options={"agent": HIDDEN},
    tool=Tool("Restore an agent's identity and newest checkpoint (PAIF).", hidden=("budget", "look")),
    examples=(
        "baton restore --agent zero",
        "baton restore --agent zero --look",
        "baton restore --agent zero --json | jq .checkpoint.context",
    ),
)
def restore_agent(ws: Workspace, now: datetime, verb_input: RestoreAgent) -> RestoredAgent:
    """Restore an agent from its identity and its newest checkpoint, and raise its session count by one.

    This begins a session of the agent. If no session is named, one is created, and the next checkpoints belong to it.

    Raises:
        InvalidArgument: no agent is named.
        NotFound: the agent has no identity and no checkpoint.
    """
    agent = require_agent(ws, verb_input.agent)
    return RestoredAgent.of(
        preview_restore(ws, now, agent) if verb_input.look else restore(ws, now, agent), now, verb_input
    )


@verb(
    "sessions",
    "GET /v1/checkpoints",
    effect=READS,
    tag="sessions",
    machine=True,
    options={"agent": HIDDEN},
    examples=("baton sessions --agent zero", "baton sessions --agent zero --limit 5 --json"),
)
def list_agent_sessions(ws: Workspace, now: datetime, verb_input: ListAgentSessions) -> AgentSessions:
    """List the sessions of an agent, newest first, including restored sessions without a checkpoint (PAIF).

    Raises:
        NotFound: the agent has no identity and no checkpoint.
    """
    agent = require_agent(ws, verb_input.agent)
    sessions = collect_sessions(ws, agent)
    shown, after = take_page(sessions, verb_input, lambda session: session.metadata.session_id)
    data = [session.as_data() for session in shown]
    return AgentSessions(agent=agent, sessions=data, next=after, **full_position(ws.branch.read()))
