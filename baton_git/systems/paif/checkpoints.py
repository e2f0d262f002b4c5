"""PAIF's session protocol: save where an agent stands, restore it, list its sessions."""

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
from baton_git.core.lifecycle import find_session, record_session
from baton_git.core.names import SessionId
from baton_git.core.output import one_line
from baton_git.core.records.lineage import Session
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
from baton_git.systems.paif.identity_updates import (
    add_drift_counts,
    apply_checkpoint,
    find_identity,
    make_empty_identity,
    record_restore,
)
from baton_git.systems.paif.records.checkpoint import Checkpoint, Context, Metadata
from baton_git.systems.paif.records.identity import Identity, MutableState
from baton_git.systems.paif.settings import PaifConfig

INTERVAL_MINUTES = PaifConfig().interval_minutes

Table = Mapping[str, Any]


class Saved(NamedTuple):
    """What a checkpoint came to. `id` is None where a periodic one was not due: `younger` is then the one there is.

    `known`: the very same one was there already, under that id.
    """

    id: str | None
    written: WriteResult
    younger: Checkpoint | None = None
    known: bool = False


class Restored(NamedTuple):
    """What an agent begins with. `checkpoint` is None before its first; `damaged` are those that cannot be read.

    `unrecorded`: why it could not be written down that a session began; all else is true nevertheless.
    """

    identity: Identity
    checkpoint: Checkpoint | None
    version: Revision
    damaged: tuple[Unreadable, ...] = ()
    unrecorded: BatonError | OSError | None = None


class SessionOf(NamedTuple):
    """One session of an agent: what its newest checkpoint says, and the ids of all, the newest first.

    Of a session that was restored and never saved, `metadata` says when it began, and there are no ids.
    """

    metadata: Metadata
    context: Context
    ids: tuple[str, ...]

    @property
    def time(self) -> datetime:
        """When its newest checkpoint was made; else when it began."""
        at = parse_time_or_none(self.metadata.ended_at if self.ids else self.metadata.started_at)
        return at or datetime.min.replace(tzinfo=UTC)

    def as_data(self) -> dict[str, Any]:
        """Return the session as plain data, as PAIF's clients get it."""
        return {
            **self.metadata.model_dump(mode="json"),
            "ended_at": self.metadata.ended_at or None,
            "conversation_summary": self.context.conversation_summary,
            "current_focus": self.context.current_focus,
            "pending_items": list(self.context.pending_items),
            "checkpoints": list(self.ids),
        }


def acting(ws: Workspace, agent: str) -> Workspace:
    """The workspace in which the agent acts. Raises InvalidName when it can be none."""
    return replace(ws, actor=replace(ws.actor, agent=checkpoint_store.parse_agent(agent)))


def agent_at_work(ws: Workspace, config: PaifConfig, asked: str | None = None) -> str | None:
    """The agent that is meant: the one that was asked for, that of the settings, or the one that acts."""
    return asked or config.agent_id or ws.actor.agent


def check_agent(agent: str | None) -> str:
    """Return the agent that is meant. Raises InvalidArgument where none is named."""
    if agent is None:
        raise InvalidArgument("no agent is named", hint="name the agent that is meant")
    return agent


def check_known(state: State, agent: str) -> None:
    """Raises NotFound for an agent without an identity and without a checkpoint."""
    if not checkpoint_store.is_known(state, agent):
        raise NotFound("agent", agent, hint=f"baton checkpoint or baton identity init, with --agent {agent}, makes it")


def check_own(state: State, agent: str, session: str) -> None:
    """Raises NotAllowed for a session that another agent began, or of which only others have checkpoints."""
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
    """A checkpoint, and in the same commit what it means for the agent's identity.

    Args:
        body: PAIF's request body, flat or nested.
        interval_minutes: makes it a periodic one: nothing is written while the newest one is younger.
        own_only: refuse a session that is another agent's, whether the body names it or it acts.
        may_be_empty: save a body that says nothing too, with PAIF's defaults.
        where: where the body comes from, for messages.

    Raises:
        NotAllowed: the session is another agent's, with `own_only`.
        InvalidDocument: a field does not fit, the body is that of another agent, or it begins after its end.
        InvalidArgument: there is nothing to save, without `may_be_empty`.
        InvalidName: the agent's name can be none.
    """
    ws = acting(ws, agent)
    document = nest_sections(body, where=where)
    if not may_be_empty and not has_content(document):
        raise InvalidArgument(
            "nothing to save: the checkpoint would be empty", hint="say what was done, for example in a summary"
        )
    interval = timedelta(minutes=interval_minutes) if interval_minutes is not None else None
    kind = {"metadata": {"checkpoint_type": "periodic"}} if interval is not None else {}
    whole = overlay_document({"metadata": {}, **document}, kind)
    return _saved(ws, now, agent, lambda *_: whole, interval=interval, own_only=own_only, where=where)


class SessionWork(NamedTuple):
    """What a session did, as far as is known without asking the agent.

    Attributes:
        summary: what it was asked and what it answered.
        pending: what is left to do.
        done: what was to be done and is not any more.
        files: paths of the files that it changed.
    """

    summary: str = ""
    pending: tuple[str, ...] = ()
    done: frozenset[str] = frozenset()
    files: tuple[str, ...] = ()


AUTOMATIC = "Asked: "
"""How a summary begins that was made of a session's facts."""


def checkpoint_at_end(
    ws: Workspace,
    now: datetime,
    config: PaifConfig,
    *,
    summary: str | None = None,
    context: str | None = None,
    asked: str | None = None,
    work: SessionWork | None = None,
) -> Saved | None:
    """The checkpoint that the end of a session writes; None where the settings, or nobody's being at work, want none.

    It begins with what the newest checkpoint of the same session says (of any, where no session was begun), so that
    nothing is lost that was saved on the way. Its summary is `summary`, else `context`, else what the agent itself
    saved in this session, else that of `work`, else that of the one before, else where the work stands. Items that
    were pending stay so until they are done.

    Args:
        asked: the agent that was asked for (--agent); it counts more than that of the settings.
        work: what the session did.
    """
    agent = agent_at_work(ws, config, asked)
    if agent is None or not config.checkpoint_on_exit:
        return None

    def document(state: State, session: str | None) -> Table:
        before = checkpoint_store.find_newest(state, agent, now, session)
        old = before.context.conversation_summary if before is not None else ""
        own = "" if old.startswith(AUTOMATIC) or _is_periodic(before) else old
        made = work.summary if work is not None else ""
        told = summary or context or own or made or old or state.readable_head.context
        return _describe_work(state, agent, now, before, work, told)

    return _saved(acting(ws, agent), now, agent, document)


def checkpoint_on_the_way(
    ws: Workspace, now: datetime, agent: str, work: SessionWork, interval_minutes: int
) -> Saved:  # fmt: skip
    """Save the periodic checkpoint of a session that goes on, if one is due. Raises as `save_checkpoint` does."""

    def document(state: State, session: str | None) -> Table:
        before = checkpoint_store.find_newest(state, agent, now, session)
        described = _describe_work(state, agent, now, before, work, work.summary or "at work")
        return overlay_document(described, {"metadata": {"checkpoint_type": "periodic"}})

    return _saved(acting(ws, agent), now, agent, document, interval=timedelta(minutes=interval_minutes))


def _is_periodic(checkpoint: Checkpoint | None) -> bool:
    return checkpoint is not None and checkpoint.metadata.checkpoint_type == "periodic"


def _describe_work(
    state: State, agent: str, now: datetime, before: Checkpoint | None, work: SessionWork | None, summary: str
) -> Table:
    """Return the document of a checkpoint: what the session's last one says, with its work and what stays pending."""
    work = work or SessionWork()
    source = before or checkpoint_store.find_newest(state, agent, now)
    carried = source.context.pending_items if source is not None else ()
    pending = [item for item in dict.fromkeys((*work.pending, *carried)) if item not in work.done]
    told = {"conversation_summary": summary, "pending_items": pending, "open_files": list(work.files) or None}
    changes = nest_sections(told)
    return overlay_document(carry_over(before, now), changes) if before is not None else {"metadata": {}, **changes}


def _saved(
    ws: Workspace,
    now: datetime,
    agent: str,
    document: Callable[[State, str | None], Table],
    *,
    interval: timedelta | None = None,
    own_only: bool = False,
    where: str = "",
) -> Saved:
    """Writes what `document` makes of the state and the session; `interval` makes it a periodic one."""
    fresh = str(uuid4())
    placed: dict[str, str] = {}

    def change(tip: Revision) -> State:
        placed.clear()
        if interval is not None and _younger(tip.state, agent, now, interval) is not None:
            return tip.state
        identity = find_identity(tip.state, agent)
        current = document(tip.state, ws.actor.session or _restored_for(identity))
        stands = identity.mutable.state if identity is not None else None
        focus = stands.current_focus if stands is not None else None
        origin = CheckpointOrigin(agent, ws.actor.session, _restored_for(identity) or fresh, now, focus, where)
        record = complete_checkpoint(current, origin, partial(_find_start, tip.state, stands))
        if own_only:
            check_own(tip.state, agent, record.metadata.session_id)
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
        return Saved(None, written, _younger(written.revision.state, agent, now, interval))
    return Saved(placed["id"], written, known=written.revision.commit == written.before.commit)


def _restored_for(identity: Identity | None) -> str | None:
    """The session that the newest restore named; None also for what can be the name of none."""
    with suppress(InvalidName):
        named = identity.mutable.state.session_id if identity is not None else None
        return SessionId(named).text if named is not None else None
    return None


def _younger(state: State, agent: str, now: datetime, interval: timedelta) -> Checkpoint | None:
    """The newest checkpoint, if it is so young that a periodic one is not due; clocks may differ a little."""
    newest = checkpoint_store.find_newest(state, agent, now)
    return newest if newest is not None and abs(now - newest.ended) < interval else None


def _find_start(tip: State, stands: MutableState | None, session: str) -> str | None:
    """When a session began, by its record or the agent's newest restore; None where neither says a time."""
    known = find_session(tip, session)
    started = known.started if known is not None else None
    if started is None and stands is not None and stands.session_id == session:
        started = stands.last_session_at
    return started if parse_time_or_none(started) is not None else None  # another program may have written anything


# --- restore


def restore(ws: Workspace, now: datetime, agent: str) -> Restored:
    """Begins a session of the agent: gives its newest checkpoint, and counts one more of experience.

    Where no session acts, one is named here, and the checkpoints that follow are of it. What a full disk or other
    writers keep from being recorded is given all the same.

    Raises:
        NotFound: the agent has no identity and no checkpoint.
        InvalidName: its name can be none.
    """
    ws = acting(ws, agent)
    session = ws.actor.session or str(uuid4())

    def change(tip: Revision) -> ProposedState:
        check_known(tip.state, agent)
        identity = find_identity(tip.state, agent) or make_empty_identity(agent)
        state = tip.state.put(record_restore(identity, now, session))
        return ProposedState(_record_beginning(ws, state, session, now), note=f"restore of {agent}")

    try:
        return _standing(ws.update("restore", now, change).revision, now, agent)
    except (WriteFailed, Busy, OSError) as error:
        return look(ws, now, agent)._replace(unrecorded=error)


def _record_beginning(ws: Workspace, state: State, session: str, now: datetime) -> State:
    """Record the session that a restore begins, so that it is known if it is never saved."""
    if find_session(state, session) is not None:
        return state
    data = {"id": session, "agent": ws.actor.agent, "machine": ws.actor.machine, "started": iso_ms(now)}
    begun = Session.model_validate({name: value for name, value in data.items() if value} | {"status": "active"})
    return record_session(state, begun, now, ws.policy)


def _record_end(ws: Workspace, state: State, record: Checkpoint, now: datetime) -> State:
    """Record the end of a session that only a restore began; PAIF's checkpoint is the last thing that it does."""
    session = find_session(state, record.metadata.session_id)
    is_final = record.metadata.checkpoint_type == "final"
    if ws.actor.session is not None or session is None or session.status == "ended" or not is_final:
        return state
    return record_session(state, session.replace(status="ended", ended=iso(now)), now, ws.policy)


def look(ws: Workspace, now: datetime, agent: str) -> Restored:
    """What `restore` would give, without a session's beginning: nothing is counted or written. Raises as it does."""
    return _standing(ws.branch.read(), now, checkpoint_store.parse_agent(agent))


def _standing(version: Revision, now: datetime, agent: str) -> Restored:
    state = version.state
    check_known(state, agent)
    identity = find_identity(state, agent) or make_empty_identity(agent)
    return Restored(
        identity,
        checkpoint_store.find_newest(state, agent, now),
        version,
        tuple(checkpoint_store.list_unreadable(state, agent)),
    )


def restore_at_start(ws: Workspace, now: datetime, config: PaifConfig, *, asked: str | None = None) -> tuple[str, ...]:
    """What the start of a session restores, as lines for its brief; none where the settings want none.

    Nothing stops the session: what goes wrong is one of the lines.

    Args:
        asked: the agent that was asked for (--agent); it counts more than that of the settings.
    """
    agent = agent_at_work(ws, config, asked)
    if agent is None or not config.restore_on_start:
        return ()
    try:
        restored = restore(ws, now, agent)
    except NotFound:
        return (f"{agent}: nothing to restore yet (baton checkpoint saves something)",)
    except (BatonError, OSError) as error:
        return (one_line(f"{agent} was not restored: {error}", LINE),)
    wrong = (
        [f"the restore of {agent} was not recorded: {restored.unrecorded}"] if restored.unrecorded is not None else []
    )
    wrong += [f"cannot be read: {entry.path}: {entry.why}" for entry in restored.damaged]
    sections = restore_text.list_sections(restored.identity, restored.checkpoint)
    lines = (f"{part.title}: {line[2:]}" for part in sections for line in part.lines)
    return (*(one_line(text, LINE) for text in wrong), *lines)


# --- sessions


def agent_sessions(ws: Workspace, agent: str) -> list[SessionOf]:
    """The sessions of the agent, saved or only restored, also in the archive, the newest first.

    Raises:
        NotFound: the agent has no identity and no checkpoint.
        InvalidName: its name can be none.
    """
    agent = checkpoint_store.parse_agent(agent)
    state = ws.branch.read().state
    check_known(state, agent)
    by_session: dict[str, list[Checkpoint]] = {}
    for checkpoint in checkpoint_store.list_all(state, agent):
        by_session.setdefault(checkpoint.metadata.session_id, []).append(checkpoint)
    saved = [
        SessionOf(checkpoints[0].metadata, checkpoints[0].context, tuple(checkpoint.id for checkpoint in checkpoints))
        for checkpoints in by_session.values()
    ]
    sessions = [*saved, *_list_unsaved(state, agent, by_session)]
    return sorted(sessions, key=lambda session: session.time, reverse=True)


def _list_unsaved(state: State, agent: str, saved: Collection[str]) -> Iterator[SessionOf]:
    """List the sessions that an agent began and has no checkpoint of."""
    ids = {*state.ids(Session.kind), *state.ids(Session.kind, archived=True)}
    for session in filter(None, (find_session(state, id_) for id_ in sorted(ids.difference(saved)))):
        if session.agent == agent:
            began: Any = {"agent_id": agent, "session_id": session.id, "started_at": session.started}
            yield SessionOf(Metadata.model_construct(None, **began, ended_at=session.ended or ""), Context(), ())
