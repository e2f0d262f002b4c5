"""The whole document of session-baton: read it, write it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from baton_git.branch import LogEntry, Proposal, Version, Written
from baton_git.document import Document, held_back, parse_document, to_document, written
from baton_git.errors import LimitExceeded
from baton_git.lifecycle import Held, iso, seen_session
from baton_git.merge import Decision, apply, are_two, decide
from baton_git.operations.workspace import Workspace
from baton_git.records.base import Record
from baton_git.records.baton import SECTIONS, Head, Pattern
from baton_git.records.lineage import Session
from baton_git.state import HEAD, SHAPE, Key, State, Unreadable

IMPORT = "import"
"""The verb that takes over a foreign document: it starts from the last one taken over, or from nothing."""

MAX_RECORDS = 5_000
"""Records that one document may have."""


class Read(NamedTuple):
    """A namespace as session-baton's clients read it; `baton` is None when it does not exist."""

    version: Version
    baton: dict[str, Any] | None
    unreadable: tuple[Unreadable, ...] = ()


def read(ws: Workspace, at: str | None = None) -> Read:
    version = ws.branch.read(at)
    if version.commit is None:
        return Read(version, None)
    damaged = tuple(version.state.damaged([model.kind for model in SECTIONS.values()]))
    return Read(version, to_document(version.state), damaged)


class DocumentWritten(NamedTuple):
    """What became of a document: the version, what was held back, and what was merged with others' work."""

    written: Written
    held: tuple[Held, ...] = ()
    decisions: tuple[Decision, ...] = ()

    @property
    def conflicts(self) -> list[str]:
        """Ids of the records of which a value is contested."""
        return [one.key.id or one.key.kind for one in self.decisions if one.contested]

    @property
    def rekeyed(self) -> dict[str, str]:
        return {one.key.id: one.to.id for one in self.decisions if one.to is not None}


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

    It starts from `expected_revision`; an import from the last import. Without these it starts from the last
    document of its session, else from what its parent session left, else from the newest version, which it then
    replaces. What a document leaves out, of the records that it started from, goes to the archive.

    Raises:
        InvalidDocument: with the path of each fault; nothing is written.
        Stale: the newest version is not `expected_revision`.
        LimitExceeded: more records than `MAX_RECORDS`, or a record that is too large.
    """
    document = parse_document(data, where=where)
    if len(document.records) > MAX_RECORDS:
        raise LimitExceeded("records in the document", len(document.records), MAX_RECORDS)
    actor = replace(ws.actor, session=document.session)
    ws = replace(ws, actor=actor)
    outcome: list[DocumentWritten] = []

    def change(tip: Version) -> State | Proposal:
        base = tip if expected_revision is not None else _start_of(ws, tip, document, op)
        proposal, held, decisions = _proposal(ws, now, tip, base, document, op)
        outcome.append(DocumentWritten(Written(tip, tip), tuple(held), tuple(decisions)))
        return proposal

    result = ws.update(op, now, change, expected_revision=expected_revision)
    return outcome[-1]._replace(written=result)


def _proposal(
    ws: Workspace, now: datetime, tip: Version, base: Version, document: Document, op: str
) -> tuple[Proposal, list[Held], list[Decision]]:
    at = iso(now)
    known, held = held_back(_seen(base, tip, document), document)
    if base.commit == tip.commit:
        state = written(tip.state, known, at=at)
        return Proposal(_noted(ws, now, state, document, op, tip.revision + 1)), held, []
    start = _seen(base, tip, known)
    mine = written(start, known, at=at)
    decisions = [one for one in decide(start, tip.state, mine) if one.key != SHAPE]
    state = _as_writer(apply(tip.state, decisions), known)
    side = written(base.state, known, at=at)
    noted = _noted(ws, now, state, document, op, base.revision + 1)
    return Proposal(noted, side=(base, side)), held, decisions


def _seen(base: Version, tip: Version, document: Document) -> State:
    """What the document's writer started from: `base`, and those newer records that its writer must have seen,
    because the document has them, or has their graduation."""
    state = base.state
    for record in document.records:
        key = Key(record.kind, record.id)
        newer = tip.state.entry(key)
        if not isinstance(newer, Record):
            continue
        is_known = _absent(base.state, key) and not are_two(key.kind, newer, record)
        if is_known or (_is_graduated(newer) and _is_graduated(record)):
            state = state.put(newer)
    return state


def _is_graduated(record: Record) -> bool:
    return isinstance(record, Pattern) and record.status == "graduated"


def _absent(state: State, key: Key) -> bool:
    return state.entry(key) is None and state.entry(Key(key.kind, key.id, archived=True)) is None


def _as_writer(state: State, document: Document) -> State:
    """Who wrote last, and in which order, is not a matter of merging."""
    own = {name: value for name, value in document.head.given().items() if name in _WRITER_FIELDS}
    rest = {name: value for name, value in state.head.given().items() if name not in _WRITER_FIELDS}
    return state.put(Head.model_validate({**rest, **own}), HEAD).put(document.shape, SHAPE)


_WRITER_FIELDS = ("schema_version", "session_id", "parent_session", "updated_at")


def _noted(ws: Workspace, now: datetime, state: State, document: Document, op: str, revision: int) -> State:
    """The state in which the session of the document is known, and where its document stands."""
    at = {} if op == IMPORT else {"wrote_document": revision}
    known = state.entry(Key(Session.kind, document.session))
    if isinstance(known, Session):
        return state.put(known.replace(**at))
    if op == IMPORT and state.entry(Key(Session.kind, document.session, archived=True)) is not None:
        return state
    optional = {"parent": document.parent, "agent": ws.actor.agent, "machine": ws.actor.machine}
    data = {"id": document.session, "started": iso(now), "status": "active", **at}
    session = Session.model_validate(data | {name: value for name, value in optional.items() if value})
    return seen_session(state, session, now, ws.policy)


def _start_of(ws: Workspace, tip: Version, document: Document, op: str) -> Version:
    """The version that the writer of a document without an expected revision started from."""
    if op == IMPORT:
        last = _first(ws.branch.history(tip.commit), lambda one: one.op in (IMPORT, "root"))
        return ws.branch.version(last.commit) if last is not None else tip
    own = tip.state.entry(Key(Session.kind, document.session))
    if isinstance(own, Session) and own.wrote_document is not None:
        found = _first(
            ws.branch.history(tip.commit),
            lambda one: (one.session, one.op, one.revision) == (document.session, op, own.wrote_document),
        )
        if found is not None:
            return ws.branch.version(found.commit)
    if document.parent and isinstance(tip.state.entry(Key(Session.kind, document.parent)), Session):
        found = _first(ws.branch.history(tip.commit), lambda one: one.session == document.parent)
        if found is not None:
            return ws.branch.version(found.commit)
    return tip


def _first(entries: Iterator[LogEntry], test: Callable[[LogEntry], bool]) -> LogEntry | None:
    return next((one for one in entries if test(one)), None)
