"""PAIF's session protocol: save a checkpoint, restore an agent, list its sessions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

from baton_git.core.brief import LINE
from baton_git.core.errors import BatonError, Busy, InvalidArgument, InvalidName, NotAllowed, NotFound, WriteFailed
from baton_git.core.names import SessionId
from baton_git.core.output import one_line
from baton_git.core.records.lineage import Session
from baton_git.core.sessions import find_session, record_session, shown_head
from baton_git.core.state import State, Unreadable
from baton_git.core.times import iso, iso_ms, parse_time_or_none
from baton_git.namespace.revision import ProposedState, Revision, WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.systems.paif import checkpoint_store, restore_text
from baton_git.systems.paif.documents import (
    CheckpointOrigin,
    carry_over,
    complete_checkpoint,
    has_content,
    nest_sections,
    overlay_document,
)
from baton_git.systems.paif.identity import (
    add_drift_counts,
    apply_checkpoint,
    find_identity,
    make_empty_identity,
    record_restore,
)
from baton_git.systems.paif.record import Checkpoint, Context, Identity, Metadata, MutableState
from baton_git.systems.paif.settings import PaifConfig

INTERVAL_MINUTES = PaifConfig().interval_minutes

Table = Mapping[str, Any]


class Saved(NamedTuple):
    """The outcome of saving a checkpoint.

    Attributes:
        id: the id of the checkpoint; None if a periodic checkpoint was not due.
        younger: the checkpoint that is too recent for a periodic one to be due.
        known: whether the same checkpoint existed already, under this id.
    """

    id: str | None
    written: WriteResult
    younger: Checkpoint | None = None
    known: bool = False


class Restored(NamedTuple):
    """The identity and the checkpoint that an agent starts with.

    Attributes:
        checkpoint: None if the agent has no checkpoint yet.
        damaged: the checkpoints that cannot be read.
        unrecorded: why the restore could not be recorded; the other values are valid nevertheless.
    """

    identity: Identity
    checkpoint: Checkpoint | None
    revision: Revision
    damaged: tuple[Unreadable, ...] = ()
    unrecorded: BatonError | OSError | None = None


class AgentSession(NamedTuple):
    """One session of an agent: the metadata and context of its newest checkpoint, and the ids of all its checkpoints,
    newest first.

    For a session without a checkpoint, `metadata` holds its start and, if it has ended, its end. `context` and `ids`
    are empty.
    """

    metadata: Metadata
    context: Context
    ids: tuple[str, ...]

    @property
    def time(self) -> datetime:
        """The time of the session's newest checkpoint, or of its start if it has none."""
        at = parse_time_or_none(self.metadata.ended_at if self.ids else self.metadata.started_at)
        return at or datetime.min.replace(tzinfo=UTC)

    def as_data(self) -> dict[str, Any]:
        """Return the session as plain data, in the form that PAIF's clients expect."""
        return {
            **self.metadata.model_dump(mode="json"),
            "ended_at": self.metadata.ended_at or None,
            "conversation_summary": self.context.conversation_summary,
            "current_focus": self.context.current_focus,
            "pending_items": list(self.context.pending_items),
            "checkpoints": list(self.ids),
        }


def act_as(ws: Workspace, agent: str) -> Workspace:
    """Return the workspace with `agent` as the acting agent. Raises InvalidName if `agent` is not a valid id."""
    return replace(ws, actor=replace(ws.actor, agent=checkpoint_store.parse_agent(agent)))


def choose_agent(ws: Workspace, config: PaifConfig, named: str | None = None) -> str | None:
    """Return `named`, else the agent in PAIF's settings, else the acting agent; None if there is none of these."""
    return named or config.agent_id or ws.actor.agent


def check_known(state: State, agent: str) -> None:
    """Raise NotFound if the agent has neither an identity nor a checkpoint."""
    if not checkpoint_store.is_known(state, agent):
        hint = f"create it with baton identity init --agent {agent}, or save a checkpoint"
        raise NotFound("agent", agent, hint=hint)


def check_session_owner(state: State, agent: str, session: str) -> None:
    """Raise NotAllowed if the session belongs to another agent: that agent began the session or, if it is unknown who
    began it, only other agents saved checkpoints in it."""
    known = find_session(state, session)
    others = (identity.id for identity in state.records(Identity) if identity.mutable.state.session_id == session)
    begun_by = known.agent if known is not None and known.agent is not None else next(others, None)
    saved = {
        checkpoint.metadata.agent_id
        for checkpoint in state.records(Checkpoint)
        if checkpoint.metadata.session_id == session
    }
    if begun_by not in (None, agent) or (begun_by is None and saved and agent not in saved):
        raise NotAllowed(f"session {session} is another agent's", hint=f"name a session that {agent} began")


# --- checkpoint


def save_checkpoint(
    ws: Workspace,
    now: datetime,
    agent: str,
    body: Table,
    *,
    interval_minutes: int | None = None,
    own_only: bool = False,
    may_be_empty: bool = False,
    where: str = "",
) -> Saved:
    """Save a checkpoint and update the agent's identity with it, in one commit.

    Args:
        body: PAIF's request body, flat or nested.
        interval_minutes: save a periodic checkpoint, and only if the newest one is at least this many minutes old.
        own_only: refuse a session that belongs to another agent, whether it is the acting session or the body names it.
        may_be_empty: also save a body without content, with PAIF's defaults.
        where: the source of the body, for messages.

    Raises:
        NotAllowed: with `own_only`, the session belongs to another agent.
        InvalidDocument: a field is not valid, the body belongs to another agent, or the session begins after its end.
        InvalidArgument: without `may_be_empty`, the body has no content.
        InvalidName: the agent's name is not valid.
    """
    ws = act_as(ws, agent)
    document = nest_sections(body, where=where)
    if not may_be_empty and not has_content(document):
        raise InvalidArgument(
            "nothing to save: the checkpoint would be empty", hint="describe what was done, for example in a summary"
        )
    interval = timedelta(minutes=interval_minutes) if interval_minutes is not None else None
    metadata = {"metadata": {"checkpoint_type": "periodic"}} if interval is not None else {}
    typed = overlay_document({"metadata": {}, **document}, metadata)
    return _save(ws, now, agent, lambda *_: typed, interval=interval, own_only=own_only, where=where)


class SessionWork(NamedTuple):
    """What a session did, as far as its transcript shows.

    Attributes:
        summary: what was asked and answered.
        pending: items left to do.
        done: items that were pending and are done now.
        files: paths of the files that the session changed.
    """

    summary: str = ""
    pending: tuple[str, ...] = ()
    done: frozenset[str] = frozenset()
    files: tuple[str, ...] = ()


GENERATED_PREFIX = "Asked: "
"""Prefix of a summary that was made from the facts of a session."""


def save_final_checkpoint(
    ws: Workspace,
    now: datetime,
    config: PaifConfig,
    *,
    summary: str | None = None,
    context: str | None = None,
    named: str | None = None,
    work: SessionWork | None = None,
) -> Saved | None:
    """Save the checkpoint of a session that ends; return None if the settings ask for none or no agent is known.

    The content of the session's newest checkpoint is carried over, so that nothing that was saved during the session is
    lost. (If there is neither an acting nor a restored session, the newest checkpoint of any session is used.) Pending
    items are carried over until they are done. The summary is the first of these that is not empty: `summary`,
    `context`, the summary that the agent wrote in that checkpoint, the summary of `work`, a generated summary in that
    checkpoint, the context of the namespace.

    Args:
        summary: the summary that the caller gives.
        context: the context that the session leaves for the next one.
        named: the agent named by --agent; it takes precedence over the agent in the settings.
        work: what the session did.
    """
    agent = choose_agent(ws, config, named)
    if agent is None or not config.checkpoint_on_exit:
        return None

    def make_document(state: State, session: str | None) -> Table:
        before = checkpoint_store.find_newest(state, agent, now, session)
        old = before.context.conversation_summary if before is not None else ""
        own = "" if old.startswith(GENERATED_PREFIX) or _is_periodic(before) else old
        generated = work.summary if work is not None else ""
        best = summary or context or own or generated or old or shown_head(state).context
        return _describe_work(ws, state, agent, now, before, work, best)

    return _save(act_as(ws, agent), now, agent, make_document)


def save_due_checkpoint(
    ws: Workspace, now: datetime, agent: str, work: SessionWork, interval_minutes: int
) -> Saved:  # fmt: skip
    """Save a periodic checkpoint of a running session, if one is due. Raises as `save_checkpoint` does."""

    def make_document(state: State, session: str | None) -> Table:
        before = checkpoint_store.find_newest(state, agent, now, session)
        described = _describe_work(ws, state, agent, now, before, work, work.summary or "at work")
        return overlay_document(described, {"metadata": {"checkpoint_type": "periodic"}})

    return _save(act_as(ws, agent), now, agent, make_document, interval=timedelta(minutes=interval_minutes))


def _is_periodic(checkpoint: Checkpoint | None) -> bool:
    return checkpoint is not None and checkpoint.metadata.checkpoint_type == "periodic"


def _describe_work(
    ws: Workspace,
    state: State,
    agent: str,
    now: datetime,
    before: Checkpoint | None,
    work: SessionWork | None,
    summary: str,
) -> Table:
    """Return the document of a new checkpoint: the content of `before`, the session's last checkpoint, updated with
    `summary`, with `work`, and with the items that are still pending. If the session has no checkpoint yet, items of
    the agent's newest checkpoint count as pending."""
    work = work or SessionWork()
    source = before or checkpoint_store.find_newest(state, agent, now)
    carried = source.context.pending_items if source is not None else ()
    pending = [item for item in dict.fromkeys((*work.pending, *carried)) if item not in work.done]
    body = {"conversation_summary": summary, "pending_items": pending, "open_files": list(work.files) or None}
    changes = nest_sections(ws.names.shorten(body))
    return overlay_document(carry_over(before, now), changes) if before is not None else {"metadata": {}, **changes}


def _save(
    ws: Workspace,
    now: datetime,
    agent: str,
    make_document: Callable[[State, str | None], Table],
    *,
    interval: timedelta | None = None,
    own_only: bool = False,
    where: str = "",
) -> Saved:
    """Save the checkpoint whose document `make_document` makes from the state and the session.

    With `interval`, save it only if the newest checkpoint is at least that old.
    """
    new_session = str(uuid4())
    placed: dict[str, str] = {}

    def change(tip: Revision) -> State:
        placed.clear()
        if interval is not None and _find_recent(tip.state, agent, now, interval) is not None:
            return tip.state
        identity = find_identity(tip.state, agent)
        restored_session = _find_restored_session(identity)
        document = make_document(tip.state, ws.actor.session or restored_session)
        agent_state = identity.mutable.state if identity is not None else None
        focus = agent_state.current_focus if agent_state is not None else None
        origin = CheckpointOrigin(agent, ws.actor.session, restored_session or new_session, now, focus, where)
        record = complete_checkpoint(document, origin, partial(_find_start, tip.state, agent_state))
        if own_only:
            check_session_owner(tip.state, agent, record.metadata.session_id)
        state, placed["id"] = checkpoint_store.place_checkpoint(
            tip.state, add_drift_counts(record, identity) if identity else record
        )
        if state is tip.state:
            return state
        after = apply_checkpoint(identity or make_empty_identity(agent), record)
        state = state if identity is None and after == make_empty_identity(agent) else state.put(after)
        state = _record_end(ws, state, record, now)
        return checkpoint_store.trim_checkpoints(state, agent, now, session=ws.actor.session)

    written = ws.update("checkpoint", now, change)
    if "id" not in placed and interval is not None:
        return Saved(None, written, _find_recent(written.revision.state, agent, now, interval))
    return Saved(placed["id"], written, known=written.revision.commit == written.before.commit)


def _find_restored_session(identity: Identity | None) -> str | None:
    """Return the session of the newest restore; None if there is none or its name is not valid."""
    with suppress(InvalidName):
        named = identity.mutable.state.session_id if identity is not None else None
        return SessionId(named).text if named is not None else None
    return None


def _find_recent(state: State, agent: str, now: datetime, interval: timedelta) -> Checkpoint | None:
    """Return the newest checkpoint if it is too recent for a periodic one to be due, else None.

    A checkpoint dated less than `interval` in the future is recent too, because clocks of machines differ.
    """
    newest = checkpoint_store.find_newest(state, agent, now)
    return newest if newest is not None and abs(now - newest.ended) < interval else None


def _find_start(state: State, agent_state: MutableState | None, session: str) -> str | None:
    """Return when a session began, by its record or the agent's newest restore; None if neither has a valid time."""
    known = find_session(state, session)
    started = known.started if known is not None else None
    if started is None and agent_state is not None and agent_state.session_id == session:
        started = agent_state.last_session_at
    return started if parse_time_or_none(started) is not None else None  # another program may have written anything


# --- restore


def restore(ws: Workspace, now: datetime, agent: str, *, may_be_new: bool = False) -> Restored:
    """Restore an agent: return its identity and newest checkpoint, begin a session, and raise its session count by one.

    If there is no acting session, one is created, and the next checkpoints belong to it. If the restore cannot be
    recorded, for example because the disk is full or other writers hold the namespace, the identity and the checkpoint
    are returned nevertheless, with the reason in `unrecorded`.

    Args:
        may_be_new: also begin the first session of an agent without an identity and a checkpoint, as PAIF does.

    Raises:
        NotFound: the namespace does not exist, or the agent has no identity and no checkpoint.
        InvalidName: the agent's name is not valid.
    """
    ws = act_as(ws, agent)
    session = ws.actor.session or str(uuid4())

    def change(tip: Revision) -> ProposedState:
        if not may_be_new:
            check_known(tip.state, agent)
        identity = find_identity(tip.state, agent) or make_empty_identity(agent)
        state = tip.state.put(record_restore(identity, now, session))
        return ProposedState(_record_beginning(ws, state, session, now), note=f"restore of {agent}")

    try:
        return _make_restored(ws.update("restore", now, change).revision, now, agent)
    except (WriteFailed, Busy, OSError) as error:
        revision = ws.branch.read()
        if not may_be_new:
            check_known(revision.state, agent)
        return _make_restored(revision, now, agent)._replace(unrecorded=error)


def _record_beginning(ws: Workspace, state: State, session: str, now: datetime) -> State:
    """Record the session that a restore begins, so that it is listed even if it never saves a checkpoint."""
    if find_session(state, session) is not None:
        return state
    data = {"id": session, "agent": ws.actor.agent, "machine": ws.actor.machine, "started": iso_ms(now)}
    begun = Session.model_validate({name: value for name, value in data.items() if value} | {"status": "active"})
    return record_session(state, begun, now, ws.policy)


def _record_end(ws: Workspace, state: State, record: Checkpoint, now: datetime) -> State:
    """Record the end of a session that a restore began, because PAIF saves the final checkpoint as the last step of a
    session. If there is an acting session, its own end is recorded elsewhere, and the state is returned unchanged."""
    session = find_session(state, record.metadata.session_id)
    is_final = record.metadata.checkpoint_type == "final"
    if ws.actor.session is not None or session is None or session.status == "ended" or not is_final:
        return state
    return record_session(state, session.replace(status="ended", ended=iso(now)), now, ws.policy)


def preview_restore(ws: Workspace, now: datetime, agent: str) -> Restored:
    """Return what `restore` would return, without beginning a session or writing anything. Raises as `restore` does."""
    revision, agent = ws.branch.read(), checkpoint_store.parse_agent(agent)
    check_known(revision.state, agent)
    return _make_restored(revision, now, agent)


def _make_restored(revision: Revision, now: datetime, agent: str) -> Restored:
    state = revision.state
    identity = find_identity(state, agent) or make_empty_identity(agent)
    return Restored(
        identity,
        checkpoint_store.find_newest(state, agent, now),
        revision,
        tuple(checkpoint_store.list_unreadable(state, agent)),
    )


def restore_at_start(ws: Workspace, now: datetime, config: PaifConfig, *, named: str | None = None) -> tuple[str, ...]:
    """Restore the agent at the start of a session; return lines for its brief, or none if the settings do not ask for
    this or no agent is known.

    Errors never stop the session; each becomes one of the lines.

    Args:
        named: the agent named by --agent; it takes precedence over the agent in the settings.
    """
    agent = choose_agent(ws, config, named)
    if agent is None or not config.restore_on_start:
        return ()
    try:
        restored = restore(ws, now, agent, may_be_new=True)
    except NotFound:  # the namespace does not exist either
        return (_describe_new(agent),)
    except (BatonError, OSError) as error:
        return (one_line(f"{agent} was not restored: {error}", LINE),)
    problems = (
        [f"the restore of {agent} was not recorded: {restored.unrecorded}"] if restored.unrecorded is not None else []
    )
    problems += [f"cannot be read: {entry.path}: {entry.why}" for entry in restored.damaged]
    sections = restore_text.list_sections(restored.identity, restored.checkpoint)
    lines = [f"{part.title}: {line[2:]}" for part in sections for line in part.lines] or [_describe_new(agent)]
    return (*(one_line(text, LINE) for text in problems), *lines)


def _describe_new(agent: str) -> str:
    return f"{agent}: nothing to restore yet (baton checkpoint saves a checkpoint)"


# --- sessions


def collect_sessions(ws: Workspace, agent: str) -> list[AgentSession]:
    """Return the sessions of an agent, newest first, including restored sessions without a checkpoint and archived
    ones.

    Raises:
        NotFound: the agent has no identity and no checkpoint.
        InvalidName: the agent's name is not valid.
    """
    agent = checkpoint_store.parse_agent(agent)
    state = ws.branch.read().state
    check_known(state, agent)
    by_session: dict[str, list[Checkpoint]] = {}
    for checkpoint in checkpoint_store.list_all(state, agent):
        by_session.setdefault(checkpoint.metadata.session_id, []).append(checkpoint)
    saved = [
        AgentSession(
            checkpoints[0].metadata, checkpoints[0].context, tuple(checkpoint.id for checkpoint in checkpoints)
        )
        for checkpoints in by_session.values()
    ]
    sessions = [*saved, *_list_unsaved(state, agent, by_session)]
    return sorted(sessions, key=lambda session: session.time, reverse=True)


def _list_unsaved(state: State, agent: str, saved: Collection[str]) -> Iterator[AgentSession]:
    """Yield the sessions that an agent began and that have no checkpoint. `saved` has the ids of the others."""
    ids = {*state.ids(Session.kind), *state.ids(Session.kind, archived=True)}
    for session in filter(None, (find_session(state, id_) for id_ in sorted(ids.difference(saved)))):
        if session.agent == agent:
            began: Any = {"agent_id": agent, "session_id": session.id, "started_at": session.started}
            yield AgentSession(Metadata.model_construct(None, **began, ended_at=session.ended or ""), Context(), ())
