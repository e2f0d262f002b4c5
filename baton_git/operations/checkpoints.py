"""PAIF's session protocol: save where an agent stands, restore it, list its sessions."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import uuid4

from baton_git.branch import Proposal, Version, Written
from baton_git.errors import BatonError, InvalidArgument, NotFound
from baton_git.exchange.paif_config import PaifConfig
from baton_git.lifecycle import known_session
from baton_git.operations.workspace import Workspace
from baton_git.paif import recall, shelf
from baton_git.paif.documents import completed, nested, over, says_something
from baton_git.paif.growth import grown, identity_of, nobody, restored, with_counts
from baton_git.records.checkpoint import Checkpoint
from baton_git.records.identity import Identity
from baton_git.state import State, Unreadable
from baton_git.times import iso, point_in_time

INTERVAL_MINUTES = PaifConfig().interval_minutes

Table = Mapping[str, Any]


class Saved(NamedTuple):
    """What a checkpoint came to. `id` is None where a periodic one was not due: `younger` is then the one there is."""

    id: str | None
    written: Written
    younger: Checkpoint | None = None


class Restored(NamedTuple):
    """What an agent begins with. `checkpoint` is None before its first; `damaged` are those that cannot be read."""

    identity: Identity
    checkpoint: Checkpoint | None
    written: Written
    damaged: tuple[Unreadable, ...] = ()


class SessionOf(NamedTuple):
    """One session of an agent: its newest checkpoint, and the ids of all, the newest first."""

    newest: Checkpoint
    ids: tuple[str, ...]


def acting(ws: Workspace, agent: str) -> Workspace:
    """The workspace in which the agent acts. Raises InvalidName when it can be none."""
    return replace(ws, actor=replace(ws.actor, agent=shelf.agent_named(agent)))


def check_known(state: State, agent: str) -> None:
    """Raises NotFound for an agent without an identity and without a checkpoint."""
    if not shelf.is_known(state, agent):
        raise NotFound("agent", agent, hint=f"baton checkpoint or baton identity init, with --agent {agent}, makes it")


# --- checkpoint


def save_checkpoint(
    ws: Workspace,
    now: datetime,
    agent: str,
    body: Table,
    *,
    options: Table | None = None,
    periodic: bool = False,
    interval_minutes: int = INTERVAL_MINUTES,
    where: str = "",
) -> Saved:
    """A checkpoint, and in the same commit what it means for the agent's identity.

    Args:
        body: PAIF's request body, flat or nested.
        options: flat; what they say counts more than the body.
        periodic: made on the way; nothing is written while the newest one is younger than `interval_minutes`.
        where: where the body comes from, for messages.

    Raises:
        InvalidDocument: a field does not fit, or the body is that of another agent.
        InvalidArgument: there is nothing to save.
        InvalidName: the agent's name can be none.
    """
    ws = acting(ws, agent)
    document = over(nested(body, where=where), nested(options or {}))
    if not says_something(document):
        raise InvalidArgument(
            "nothing to save: the checkpoint would be empty", hint="say what was done, --summary TEXT, or give --file"
        )
    interval = timedelta(minutes=interval_minutes) if periodic else None
    return _saved(ws, now, agent, document, interval=interval, where=where)


def checkpoint_at_end(
    ws: Workspace, now: datetime, config: PaifConfig, *, summary: str | None = None, context: str | None = None
) -> Saved | None:
    """The checkpoint that the end of a session writes; None where the settings, or nobody's being at work, want none.

    Its summary is `summary`, else `context`, else where the work stands.
    """
    agent = config.agent_id or ws.actor.agent
    if agent is None or not config.checkpoint_on_exit:
        return None
    said = summary or context or ws.branch.read().state.head.context
    document = nested({"conversation_summary": said})
    return _saved(acting(ws, agent), now, agent, document)


def _saved(
    ws: Workspace, now: datetime, agent: str, document: Table, *, interval: timedelta | None = None, where: str = ""
) -> Saved:
    """`interval` makes it a periodic one."""
    fresh = str(uuid4())
    kind = {"metadata": {"checkpoint_type": "periodic"}} if interval is not None else {}
    document = over({"metadata": {}, **document}, kind)

    def change(tip: Version) -> State:
        if interval is not None and _younger(tip.state, agent, now, interval):
            return tip.state
        identity = identity_of(tip.state, agent)
        record = _record(ws, now, tip.state, identity, document, fresh, where, agent)
        after = grown(identity or nobody(agent), record)
        state = tip.state if identity is None and after == nobody(agent) else tip.state.put(after)
        state, _ = shelf.placed(state, with_counts(record, identity) if identity is not None else record)
        return shelf.trimmed(state, agent, at=iso(now), session=ws.actor.session)

    written = ws.update("checkpoint", now, change)
    kinds = (Checkpoint.kind, f"archived_{Checkpoint.kind}")  # one with an old date goes straight to the archive
    added = [one.id for one in written.changes if one.kind in kinds and one.action == "added"]
    if added:
        return Saved(added[0], written)
    return Saved(None, written, shelf.newest(written.version.state, agent))


def _younger(state: State, agent: str, now: datetime, interval: timedelta) -> bool:
    """Whether the newest checkpoint is so young that a periodic one is not due; clocks may differ a little."""
    found = shelf.newest(state, agent)
    return found is not None and abs(now - found.ended) < interval


def _record(
    ws: Workspace, now: datetime, tip: State, identity: Identity | None, document: Table, fresh: str, where: str,
    agent: str,
) -> Checkpoint:  # fmt: skip
    def began(session: str) -> str | None:
        known = known_session(tip, session)
        with suppress(ValueError):  # what another program wrote there may be no time
            return known.started if known is not None and point_in_time(known.started) else None
        return None

    focus = identity.mutable.state.current_focus if identity is not None else None
    return completed(
        document, agent=agent, session=ws.actor.session, fresh=fresh, began=began, now=now, focus=focus, where=where
    )


# --- restore


def restore(ws: Workspace, now: datetime, agent: str) -> Restored:
    """Begins a session of the agent: gives its newest checkpoint, and counts one more of experience.

    Raises:
        NotFound: the agent has no identity and no checkpoint.
        InvalidName: its name can be none.
    """
    ws = acting(ws, agent)

    def change(tip: Version) -> Proposal:
        check_known(tip.state, agent)
        identity = identity_of(tip.state, agent) or nobody(agent)
        return Proposal(tip.state.put(restored(identity, now)), note=f"restore of {agent}")

    written = ws.update("restore", now, change)
    state = written.version.state
    identity = state.get(Identity, agent)
    return Restored(identity, shelf.newest(state, agent), written, tuple(shelf.damaged(state, agent)))


def restore_at_start(ws: Workspace, now: datetime, config: PaifConfig) -> tuple[str, ...]:
    """What the start of a session restores, as lines for its brief; none where the settings want none.

    Nothing stops the session: what goes wrong is one of the lines.
    """
    agent = config.agent_id or ws.actor.agent
    if agent is None or not config.restore_on_start:
        return ()
    try:
        found = restore(ws, now, agent)
    except NotFound:
        return (f"{agent}: nothing to restore yet (baton checkpoint saves something)",)
    except (BatonError, OSError) as error:
        return (f"{agent} was not restored: {error}",)
    damaged = [f"cannot be read: {one.path}: {one.why}" for one in found.damaged]
    sections = recall.sections(found.identity, found.checkpoint)
    return (*damaged, *(f"- {part.title}: {line[2:]}" for part in sections for line in part.lines))


# --- sessions


def agent_sessions(ws: Workspace, agent: str) -> list[SessionOf]:
    """The sessions of which the agent has a checkpoint, also in the archive, the newest first.

    Raises:
        NotFound: the agent has no identity and no checkpoint.
        InvalidName: its name can be none.
    """
    agent = shelf.agent_named(agent)
    state = ws.branch.read().state
    check_known(state, agent)
    by_session: dict[str, list[Checkpoint]] = {}
    for one in shelf.every(state, agent):
        by_session.setdefault(one.metadata.session_id, []).append(one)
    return [SessionOf(found[0], tuple(one.id for one in found)) for found in by_session.values()]
