"""Write the whole document of session-baton, merged with what others wrote meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from baton_git.core.errors import LimitExceeded
from baton_git.core.lifecycle import HeldClaim, find_session, record_session
from baton_git.core.merge import Decision, apply, decide
from baton_git.core.names import Oid
from baton_git.core.records.base import Record, merge_rule
from baton_git.core.records.lineage import Session
from baton_git.core.records.merge_rules import CHANGED_SIDE
from baton_git.core.records.work_items import Head, Pattern
from baton_git.core.redaction.changes import redact_edits
from baton_git.core.state import HEAD, SHAPE, Key, State, Unreadable
from baton_git.core.times import iso
from baton_git.namespace.commit_log import LogEntry
from baton_git.namespace.last_seen import last_seen
from baton_git.namespace.revision import ProposedState, Revision, UpdateRequest, WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.document import Document, held_back, parse_document, written

IMPORT = "import"
"""The verb that takes over a foreign document: it starts from the last one taken over, or from nothing."""

SOURCE = "Baton-Source"
"""The trailer that says where an import came from: a digest of its path."""

MAX_RECORDS = 5_000
"""Records that one document may have."""


class DocumentWritten(NamedTuple):
    """What became of a document: the version, what was held back, and what was merged with others' work."""

    written: WriteResult
    held: tuple[HeldClaim, ...] = ()
    decisions: tuple[Decision, ...] = ()

    @property
    def conflicts(self) -> list[str]:
        """Ids of the records of which a value is contested."""
        return [one.key.id or one.key.kind for one in self.decisions if one.contested]

    @property
    def rekeyed(self) -> dict[str, str]:
        return {one.key.id: one.to.id for one in self.decisions if one.action == "rekey" and one.to}


def write(
    ws: Workspace,
    now: datetime,
    data: Any,
    *,
    expected_revision: int | None = None,
    where: str = "",
    op: str = "write",
) -> DocumentWritten:
    """Writes a document, merged with what others wrote since its session last read.

    It starts from `expected_revision`; an import from the last import from the same place. Without these it starts
    from what its session saw last (its last boot or document) and did since, else from what its parent session left,
    else from the newest version, which it then replaces. What a document leaves out, of the records that it started
    from, goes to the archive.

    Raises:
        InvalidDocument: with the path of each fault; nothing is written.
        Stale: the newest version is not `expected_revision`.
        LimitExceeded: more records than `MAX_RECORDS`, or a record that is too large.
    """
    writing = prepared(ws, now, data, expected_revision=expected_revision, where=where, op=op)
    change, stamp, expected = writing.update
    return writing.done(ws.branch.update(change, stamp, expected_revision=expected))


class Writing(NamedTuple):
    """A document that was found valid, on its way to the branch: what to ask of it, and what is to be told then."""

    update: UpdateRequest
    outcome: list[DocumentWritten]

    def done(self, result: WriteResult) -> DocumentWritten:
        return self.outcome[-1]._replace(written=result)


def prepared(
    ws: Workspace,
    now: datetime,
    data: Any,
    *,
    expected_revision: int | None = None,
    where: str = "",
    op: str = "write",
) -> Writing:
    """As `write`, as far as it goes without the branch; so several can be written together (`Branch.update_all`).

    Raises:
        InvalidDocument, LimitExceeded: as for `write`.
    """
    document = parse_document(data, where=where)
    if len(document.records) > MAX_RECORDS:
        raise LimitExceeded("records in the document", len(document.records), MAX_RECORDS)
    actor = replace(ws.actor, session=document.session)
    ws = replace(ws, actor=actor)
    outcome: list[DocumentWritten] = []
    source = sha256(where.encode("utf-8", "replace")).hexdigest()[:16]

    def change(tip: Revision) -> State | ProposedState:
        start = Start(tip, tip.state) if expected_revision is not None else _start_of(ws, tip, document, op, source)
        proposal, held, decisions = _proposal(ws, now, tip, start, document, op)
        if op == IMPORT:
            proposal = proposal._replace(trailers=((SOURCE, source),))
        outcome.append(DocumentWritten(WriteResult(tip, tip), tuple(held), tuple(decisions)))
        return proposal

    return Writing(UpdateRequest(change, ws.stamp(op, now), expected_revision), outcome)


class Start(NamedTuple):
    """What the writer of a document started from: the version, and the records it knew."""

    version: Revision
    state: State


def _proposal(
    ws: Workspace, now: datetime, tip: Revision, start: Start, document: Document, op: str
) -> tuple[ProposedState, list[HeldClaim], list[Decision]]:
    at = iso(now)
    seen = _seen(start.state, tip, document)
    known, held = held_back(seen, document, ws.judgement(tip))
    base = start.version
    if base.commit == tip.commit:
        state = written(tip.state, known, at=at)
        return ProposedState(_noted(ws, now, state, document, op, tip.number + 1)), held, []
    mine = written(seen, known, at=at)
    edits, redactions = redact_edits(seen, mine)
    decisions = [one for one in decide(seen, tip.state, State(mine.source, edits), prefer="theirs") if one.key != SHAPE]
    state = _as_writer(apply(tip.state, decisions), known)
    side = written(base.state, known, at=at)
    noted = _noted(ws, now, state, document, op, base.number + 1)
    return ProposedState(noted, side=(base, side), redactions=tuple(redactions)), held, decisions


def _seen(state: State, tip: Revision, document: Document) -> State:
    """What the document's writer started from, with those newer records that it must have seen: the document has
    them further on, or has their graduation."""
    for record in document.records:
        key = Key(record.kind, record.id)
        newer = tip.state.entry(key)
        if not isinstance(newer, Record):
            continue
        is_known = _absent(state, key) and _is_further(newer, record)
        if is_known or (_is_graduated(newer) and _is_graduated(record)):
            state = state.put(newer)
    return state


def _is_further(newer: Record, record: Record) -> bool:
    """Whether a record is what became of another, and not one that only has the same id: everything that no rule
    can merge is the same in both."""
    old, new = newer.as_data(), record.as_data()
    changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return all(merge_rule(type(record), name) is not CHANGED_SIDE for name in changed)


def _is_graduated(record: Record) -> bool:
    return isinstance(record, Pattern) and record.status == "graduated"


def _absent(state: State, key: Key) -> bool:
    return state.entry(key) is None and state.entry(Key(key.kind, key.id, archived=True)) is None


def _as_writer(state: State, document: Document) -> State:
    """Who wrote last, and in which order, is not a matter of merging."""
    own = {name: value for name, value in document.head.as_data().items() if name in _WRITER_FIELDS}
    rest = {name: value for name, value in state.head.as_data().items() if name not in _WRITER_FIELDS}
    return state.put(Head.model_validate({**rest, **own}), HEAD).put(document.shape, SHAPE)


_WRITER_FIELDS = ("schema_version", "session_id", "parent_session", "updated_at")


def _noted(ws: Workspace, now: datetime, state: State, document: Document, op: str, revision: int) -> State:
    """The state in which the session of the document is known, and where its document stands."""
    at = {} if op == IMPORT else {"wrote_document": revision}
    known = find_session(state, document.session)
    if known is not None:
        return state if op == IMPORT else record_session(state, known.replace(**at), now, ws.policy)
    optional = {"parent": document.parent, "agent": ws.actor.agent, "machine": ws.actor.machine}
    data = {"id": document.session, "started": iso(now), "status": "active", **at}
    session = Session.model_validate(data | {name: value for name, value in optional.items() if value})
    return record_session(state, session, now, ws.policy)


def _start_of(ws: Workspace, tip: Revision, document: Document, op: str, source: str) -> Start:
    """What the writer of a document without an expected revision started from."""
    if op == IMPORT:
        last = _first(ws.branch.history(tip.commit), lambda one: one.op == "root" or _is_import(one, source))
        return _at(ws, last) if last is not None else Start(tip, tip.state)
    if find_session(tip.state, document.session) is not None:
        own = _own_start(ws, tip, document.session)
        if own is not None:
            return own
    if document.parent and find_session(tip.state, document.parent) is not None:
        found = last_seen(ws.branch, tip.commit, document.parent) if tip.commit else None
        if found is not None and found.last is not None:
            version = ws.branch.revision_at(found.last)
            return Start(version, version.state)
    return Start(tip, tip.state)


def _is_import(entry: LogEntry, source: str) -> bool:
    """Whether a commit holds what was imported, and not what that was merged with."""
    return entry.op == IMPORT and source in entry.trailer_values(SOURCE)


def _at(ws: Workspace, entry: LogEntry) -> Start:
    version = ws.branch.revision_at(entry.commit)
    return Start(version, version.state)


def _own_start(ws: Workspace, tip: Revision, session: str) -> Start | None:
    """What a session saw last, at its last boot or document, and what it did itself since."""
    seen = last_seen(ws.branch, tip.commit, session) if tip.commit else None
    if seen is None or seen.base is None:
        return None
    if not seen.others:
        return Start(tip, tip.state)
    version = ws.branch.revision_at(seen.base)
    return Start(version, _with_own(ws, version.state, seen.own))


def _with_own(ws: Workspace, state: State, own: Sequence[Oid]) -> State:
    """A state with the records as a session's own later commits, oldest first, left them."""
    for commit in own:
        before = ws.branch.revision_at(ws.branch.store.commit(commit).parents[0]).state
        after = ws.branch.revision_at(commit).state
        for key in sorted(before.differing(after)):
            left = after.entry(key)
            if not isinstance(left, Unreadable):
                state = State(state.source, {**state.edits, key: left})
    return state


def _first(entries: Iterator[LogEntry], test: Callable[[LogEntry], bool]) -> LogEntry | None:
    return next((one for one in entries if test(one)), None)
