"""Place the checkpoints of an agent in a state: their ids, their order, and how many stay live.

<agent>/2026-04-04t18-34-00.123z-<session>       the time is `metadata.ended_at`, in UTC
<agent>/2026-04-04t18-34-00.123z-<session>.2     a second checkpoint of the same time and session
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import count

from baton_git.core.errors import InvalidDocument, InvalidName
from baton_git.core.names import AgentId, RecordId
from baton_git.core.records.base import Archived, alike, parse
from baton_git.core.state import Entry, Key, State, Unreadable
from baton_git.core.times import iso, to_utc
from baton_git.systems.paif.documents import to_paif_document
from baton_git.systems.paif.record import Checkpoint, Identity

KEPT = 50
"""Number of checkpoints of an agent that stay live; older ones are archived."""
AHEAD = timedelta(minutes=5)
"""Maximum time by which a checkpoint may be dated in the future before the clock that dated it is considered wrong."""
_MAX_ID_BYTES = 190
"""Maximum size of an id as a file name, which leaves room for `.2`."""
_MAX_AGENT_BYTES = 140
"""Maximum size of an agent's id as a file name, which leaves room for the time and the session."""


def parse_agent(text: str) -> str:
    """Parse the id of an agent.

    Raises:
        InvalidName: it is not a valid id, or it is too long for the names of its files.
    """
    agent = AgentId(text).text
    with suppress(InvalidName):
        if len(RecordId(agent).component) <= _MAX_AGENT_BYTES:
            return agent
    raise InvalidName("agent", text, "is too long for the name of a file")


def list_agents(state: State) -> list[str]:
    """List the agents with a checkpoint, live or archived."""
    ids = state.ids(Checkpoint.kind) | state.ids(Checkpoint.kind, archived=True)
    return sorted({id_.partition("/")[0] for id_ in ids})


def is_known(state: State, agent: str) -> bool:
    """Return whether the agent has an identity or a checkpoint, even an unreadable one."""
    return agent in state.ids(Identity.kind) or agent in list_agents(state)


def list_live(state: State, agent: str) -> list[Checkpoint]:
    """List the live readable checkpoints of an agent, newest first."""
    return _sort_newest_first(
        entry for entry in _list_entries(state, agent, archived=False) if isinstance(entry, Checkpoint)
    )


def list_all(state: State, agent: str) -> list[Checkpoint]:
    """List all readable checkpoints of an agent, archived ones too, newest first."""
    closed = (_open_archived(entry) for entry in _list_entries(state, agent, archived=True))
    return _sort_newest_first(
        [*list_live(state, agent), *(checkpoint for checkpoint in closed if checkpoint is not None)]
    )


def find_newest(state: State, agent: str, now: datetime, session: str | None = None) -> Checkpoint | None:
    """Return the newest checkpoint of an agent; None if there is none.

    A live checkpoint is preferred to an archived one. A checkpoint that is dated more than `AHEAD` in the future is
    returned only if there is no other.

    Args:
        session: consider only checkpoints of this session.
    """
    future: Checkpoint | None = None
    for checkpoints in (list_live(state, agent), list_all(state, agent)):
        wanted = [checkpoint for checkpoint in checkpoints if session in (None, checkpoint.metadata.session_id)]
        future = wanted[0] if wanted else None
        past = next((checkpoint for checkpoint in wanted if not _is_ahead(checkpoint, now)), None)
        if past is not None:
            return past
    return future


def _is_ahead(checkpoint: Checkpoint, now: datetime) -> bool:
    return checkpoint.ended - now > AHEAD


def list_unreadable(state: State, agent: str) -> list[Unreadable]:
    """List the live checkpoints of the agent that cannot be read."""
    return [entry for entry in _list_entries(state, agent, archived=False) if isinstance(entry, Unreadable)]


def _list_entries(state: State, agent: str, *, archived: bool) -> Iterator[Entry | None]:
    ids = state.ids(Checkpoint.kind, archived=archived)
    return (state.entry(Key(Checkpoint.kind, id_, archived)) for id_ in sorted(ids) if id_.startswith(f"{agent}/"))


def _open_archived(entry: Entry | None) -> Checkpoint | None:
    """Return the checkpoint of an archived entry; None if it cannot be read."""
    with suppress(InvalidDocument):
        return parse(Checkpoint, entry.record) if isinstance(entry, Archived) else None
    return None


def _sort_newest_first(checkpoints: Iterable[Checkpoint]) -> list[Checkpoint]:
    return sorted(checkpoints, key=lambda checkpoint: (checkpoint.ended, checkpoint.id), reverse=True)


def place_checkpoint(state: State, record: Checkpoint) -> tuple[State, str]:
    """Return the state with a checkpoint under its id, and the id; the state is unchanged if it already has this
    checkpoint."""
    first = _make_id(record)
    for number in count(1):
        id_ = first if number == 1 else f"{first}.{number}"
        entries = [state.entry(Key(Checkpoint.kind, id_, archived)) for archived in (False, True)]
        if entries == [None, None]:
            return state.put(record.replace(id=id_)), id_
        stored = next(
            (
                entry if isinstance(entry, Checkpoint) else _open_archived(entry)
                for entry in entries
                if entry is not None
            ),
            None,
        )
        if stored is not None and _is_same(stored, record):
            return state, id_
    raise AssertionError("unreachable")


def _make_id(record: Checkpoint) -> str:
    agent, session = record.metadata.agent_id, record.metadata.session_id
    id_ = f"{agent}/{format_stamp(record.ended)}-{session}"
    with suppress(InvalidName):
        if len(RecordId(id_).component) <= _MAX_ID_BYTES:
            return id_
    return f"{agent}/{format_stamp(record.ended)}-{sha256(session.encode()).hexdigest()[:16]}"


def format_stamp(at: datetime) -> str:
    """Format a time as `2026-04-04t18-34-00.123z`."""
    return to_utc(at).isoformat(timespec="milliseconds")[:23].replace(":", "-").lower() + "z"


def _is_same(stored: Checkpoint, record: Checkpoint) -> bool:
    """Return whether two records have the same document. Checkpoints that were imported from files of different names
    are never the same."""
    names = {
        checkpoint.foreign.file
        for checkpoint in (stored, record)
        if checkpoint.foreign is not None and checkpoint.foreign.file is not None
    }
    return len(names) <= 1 and alike(to_paif_document(stored), to_paif_document(record))


def trim_checkpoints(state: State, agent: str, now: datetime, *, session: str | None) -> State:
    """Return the state with at most `KEPT` live checkpoints of an agent, and the others archived.

    Checkpoints dated more than `AHEAD` in the future are archived first, then the oldest ones. A checkpoint stays live
    if its id is too long for the archive.
    """
    ordered = sorted(list_live(state, agent), key=lambda checkpoint: _is_ahead(checkpoint, now))
    for old in ordered[KEPT:]:
        with suppress(InvalidName):  # an id that another program made can be too long for the archive
            state = state.archive(old, at=iso(now), reason="older than the newest checkpoints", session=session)
    return state
