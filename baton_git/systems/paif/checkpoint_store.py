"""Where the checkpoints of an agent stand in a state: their ids, their order, and how many stay at hand.

<agent>/2026-04-04t18-34-00.123z-<session>       the point in time is that of `metadata.ended_at`, in UTC
<agent>/2026-04-04t18-34-00.123z-<session>.2     another one of the same moment and session
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import count

from baton_git.core.errors import InvalidDocument, InvalidName
from baton_git.core.names import AgentId, RecordId
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import alike, parse
from baton_git.core.state import Entry, Key, State, Unreadable
from baton_git.core.times import iso
from baton_git.systems.paif.documents import given_back
from baton_git.systems.paif.records.checkpoint import Checkpoint
from baton_git.systems.paif.records.identity import Identity

KEPT = 50
"""How many checkpoints of an agent stay live, the newest ones; the others are in the archive."""
AHEAD = timedelta(minutes=5)
"""How far the clock that made a checkpoint may be ahead of ours."""
_ROOM = 190
"""Bytes of a file name that an id may take, so that `.2` has room."""
_ROOM_OF_AGENT = 140


def agent_named(text: str) -> str:
    """The id of an agent, checked.

    Raises:
        InvalidName: it cannot be one, or is too long for the names of its files.
    """
    agent = AgentId(text).text
    with suppress(InvalidName):
        if len(RecordId(agent).component) <= _ROOM_OF_AGENT:
            return agent
    raise InvalidName("agent", text, "is too long for the name of a file")


def agents(state: State) -> list[str]:
    """The agents that have a checkpoint, live or archived."""
    ids = state.ids(Checkpoint.kind) | state.ids(Checkpoint.kind, archived=True)
    return sorted({id_.partition("/")[0] for id_ in ids})


def is_known(state: State, agent: str) -> bool:
    """Whether the agent has an identity or a checkpoint, even one that cannot be read."""
    return agent in state.ids(Identity.kind) or agent in agents(state)


def live(state: State, agent: str) -> list[Checkpoint]:
    """The live readable checkpoints of an agent, the newest first."""
    return _newest_first(one for one in _at(state, agent, archived=False) if isinstance(one, Checkpoint))


def every(state: State, agent: str) -> list[Checkpoint]:
    """All readable checkpoints of an agent, those in the archive too, the newest first."""
    closed = (_opened(one) for one in _at(state, agent, archived=True))
    return _newest_first([*live(state, agent), *(one for one in closed if one is not None)])


def newest(state: State, agent: str, now: datetime, session: str | None = None) -> Checkpoint | None:
    """The newest checkpoint of an agent; one that is more than `AHEAD` in the future only where there is no other.

    Args:
        session: only those of this one.
    """
    future: Checkpoint | None = None
    for found in (live(state, agent), every(state, agent)):
        wanted = [one for one in found if session in (None, one.metadata.session_id)]
        future = wanted[0] if wanted else None
        past = next((one for one in wanted if not _is_ahead(one, now)), None)
        if past is not None:
            return past
    return future


def _is_ahead(checkpoint: Checkpoint, now: datetime) -> bool:
    return checkpoint.ended - now > AHEAD


def damaged(state: State, agent: str) -> list[Unreadable]:
    """Live checkpoints of the agent that cannot be read."""
    return [one for one in _at(state, agent, archived=False) if isinstance(one, Unreadable)]


def _at(state: State, agent: str, *, archived: bool) -> Iterator[Entry | None]:
    ids = state.ids(Checkpoint.kind, archived=archived)
    return (state.entry(Key(Checkpoint.kind, id_, archived)) for id_ in sorted(ids) if id_.startswith(f"{agent}/"))


def _opened(entry: Entry | None) -> Checkpoint | None:
    """The checkpoint in an entry of the archive; None when it cannot be read."""
    with suppress(InvalidDocument):
        return parse(Checkpoint, entry.record) if isinstance(entry, Archived) else None
    return None


def _newest_first(found: Iterable[Checkpoint]) -> list[Checkpoint]:
    return sorted(found, key=lambda one: (one.ended, one.id), reverse=True)


def placed(state: State, record: Checkpoint) -> tuple[State, str]:
    """The state with the checkpoint under its id, and that id; the same state when it has that checkpoint."""
    first = _id(record)
    for number in count(1):
        id_ = first if number == 1 else f"{first}.{number}"
        there = [state.entry(Key(Checkpoint.kind, id_, archived)) for archived in (False, True)]
        if there == [None, None]:
            return state.put(record.replace(id=id_)), id_
        stored = next((one if isinstance(one, Checkpoint) else _opened(one) for one in there if one is not None), None)
        if stored is not None and _is_same(stored, record):
            return state, id_
    raise AssertionError("unreachable")


def _id(record: Checkpoint) -> str:
    agent, session = record.metadata.agent_id, record.metadata.session_id
    id_ = f"{agent}/{stamp(record.ended)}-{session}"
    with suppress(InvalidName):
        if len(RecordId(id_).component) <= _ROOM:
            return id_
    return f"{agent}/{stamp(record.ended)}-{sha256(session.encode()).hexdigest()[:16]}"


def stamp(at: datetime) -> str:
    """`2026-04-04t18-34-00.123z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds")[:23].replace(":", "-").lower() + "z"


def _is_same(stored: Checkpoint, record: Checkpoint) -> bool:
    """Whether both are one checkpoint; two files of other names, that came from elsewhere, are two all the same."""
    names = {one.foreign.file for one in (stored, record) if one.foreign is not None and one.foreign.file is not None}
    return len(names) <= 1 and alike(given_back(stored), given_back(record))


def trimmed(state: State, agent: str, now: datetime, *, session: str | None) -> State:
    """The state in which only the newest `KEPT` checkpoints of an agent are live; those from the future go first."""
    found = sorted(live(state, agent), key=lambda one: _is_ahead(one, now))
    for old in found[KEPT:]:
        with suppress(InvalidName):  # the folder can have ids, made elsewhere, that are too long for the archive
            state = state.archive(old, at=iso(now), reason="older than the newest checkpoints", session=session)
    return state
