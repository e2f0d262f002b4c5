"""Write session-baton's whole document, merged with concurrent changes."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

from baton_git.core.errors import BatonError, LimitExceeded
from baton_git.core.lifecycle import HeldClaim
from baton_git.core.merge import Decision, apply, decide
from baton_git.core.names import Oid
from baton_git.core.records.base import CHANGED_SIDE, Record, merge_rule
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import SECTIONS, ActiveDecision, Head, Pattern
from baton_git.core.redaction import redact
from baton_git.core.redaction.changes import redact_edits
from baton_git.core.sessions import WorkContext, drop_context, find_session, list_contexts, record_session, set_context
from baton_git.core.state import HEAD, SHAPE, Key, State, Unreadable, same_fields
from baton_git.core.times import iso
from baton_git.core.value_cache import ValueCache
from baton_git.namespace.branch import Branch
from baton_git.namespace.commit_log import LogEntry
from baton_git.namespace.guard import WORK_ITEMS, hold_losses
from baton_git.namespace.last_seen import find_last_seen
from baton_git.namespace.revision import ProposedState, Revision, UpdateRequest, WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.document import (
    NO_SESSION,
    BatonDocument,
    apply_document,
    hold_back_claims,
    parse_document,
)
from baton_git.systems.session_baton.documents import format_update_time, from_foreign_checks
from baton_git.systems.session_baton.foreign_rows import FilledField, fill_document

_FORMAT = 2
"""The newest format of `marshal` in which equal values have equal bytes; later ones depend on shared references."""
_WEIGHT = 4
"""Bytes in memory of a byte of a row, roughly: as its key, and as its record."""


class KnownRows:
    """The rows of one document, and the records that the same rows became in earlier documents.

    Rows are the same if all their values are equal and have equal types, in the same order.

    Attributes:
        data: the document, with records in place of the known rows.
        has_any: whether a row is known.
    """

    def __init__(self, memory: ValueCache, data: Any) -> None:
        self._memory = memory
        self._found: list[tuple[tuple[str, str, bytes] | None, Record | None]] = []
        self.data = {**data, **dict(self._find_lists(data))} if isinstance(data, Mapping) else data
        self.has_any = any(record is not None for _, record in self._found)

    def _find_lists(self, data: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
        for name in SECTIONS:
            rows = data.get(name)
            if isinstance(rows, list):
                yield name, [self._find(name, row) for row in rows]

    def _find(self, section: str, row: Any) -> Any:
        try:
            key = ("row", section, marshal.dumps(row, _FORMAT)) if type(row) is dict else None
        except ValueError:  # it has a value that is no plain data
            key = None
        record: Record | None = self._memory.get(key) if key is not None else None
        self._found.append((key, record))
        return row if record is None else record

    def remember(self, records: Sequence[Record]) -> None:
        """Remember the records that the rows became: stored ones in place of equal ones, so that the next document has
        the very objects of the state.

        Call it only for a document in whose rows nothing was filled in.
        """
        if len(records) != len(self._found):
            return
        for (key, known), record in zip(self._found, records, strict=True):
            if key is not None and known is not record:
                self._memory.put(key, record, _WEIGHT * len(key[-1]))


IMPORT = "import"
"""The verb that imports a document; its merge starts from the last import of the source, or else the root commit."""

SOURCE = "Baton-Source"
"""The trailer with the source of an import: a digest of its path."""

MAX_RECORDS = 5_000
"""Maximum number of records in a document."""


class DocumentResult(NamedTuple):
    """The result of a document write: its revision, the claims held back, the merge decisions, and the filled-in
    fields."""

    written: WriteResult
    held: tuple[HeldClaim, ...] = ()
    decisions: tuple[Decision, ...] = ()
    filled: tuple[FilledField, ...] = ()

    @property
    def conflicts(self) -> list[str]:
        """The ids of the records with a value in conflict."""
        return [decision.key.id or decision.key.kind for decision in self.decisions if decision.contested]

    @property
    def rekeyed(self) -> dict[str, str]:
        return {
            decision.key.id: decision.to.id for decision in self.decisions if decision.action == "rekey" and decision.to
        }

    def as_data(self) -> dict[str, Any]:
        """Return session-baton's response to a write, with baton's additional fields."""
        revision = self.written.revision
        data: dict[str, Any] = {
            "ok": True,
            "updated_at": format_update_time(revision),
            "namespace": str(revision.namespace),
            "revision": revision.number,
            "commit": revision.commit,
        }
        extras = {
            "held": [claim._asdict() for claim in self.held],
            "filled": [field._asdict() for field in self.filled],
            "archived": [change.id for change in self.written.changes if change.action == "archived"],
            "conflicts": self.conflicts,
            "renamed": self.rekeyed,
            "redacted": [
                {"record": str(key), "path": redaction.path, "kind": redaction.kind}
                for key, redaction in self.written.redactions
            ],
        }
        return data | {name: value for name, value in extras.items() if value}


class PlannedWrite(NamedTuple):
    """A parsed document and the update that writes it, so that several can be written together.

    Attributes:
        outcomes: the result of each time that the update's change was computed; the last one counts.
    """

    branch: Branch
    update: UpdateRequest
    outcomes: list[DocumentResult]
    filled: tuple[FilledField, ...]

    def result(self, written: WriteResult) -> DocumentResult:
        """Return the result of the document, given that of its update."""
        return self.outcomes[-1]._replace(written=written, filled=self.filled)


def write_document(
    ws: Workspace,
    now: datetime,
    data: Any,
    *,
    expected_revision: int | None = None,
    where: str = "",
    op: str = "write",
) -> DocumentResult:
    """Write a document, merged with what others wrote since its session last read.

    The base of the merge is `expected_revision`; for an import, the last import from the same source or else the root
    commit. In all other cases, it is the revision that its session saw last (at its last boot or document), with the
    session's own later changes; else the revision that its parent session left; else the tip, which the document then
    replaces. Records of the base that the document leaves out are archived. Fields that its records lack are filled
    in (`fill_document`).

    Raises:
        InvalidDocument: there are faults, each with its path; nothing is written.
        Stale: the tip is not `expected_revision`.
        LimitExceeded: there are more records than `MAX_RECORDS`, or a record is too large.
    """
    planned = plan_write(ws, now, data, expected_revision=expected_revision, where=where, op=op)
    change, stamp, expected = planned.update
    return planned.result(ws.branch.update(change, stamp, expected_revision=expected))


def plan_write(
    ws: Workspace,
    now: datetime,
    data: Any,
    *,
    expected_revision: int | None = None,
    where: str = "",
    op: str = "write",
) -> PlannedWrite:
    """Parse a document for `write_document`, which describes the arguments, and return the update that writes it.

    Raises:
        InvalidDocument, LimitExceeded: under the same conditions as `write_document`.
    """
    document, filled, rows = _parse(ws, now, data, where)
    if len(document.records) > MAX_RECORDS:
        raise LimitExceeded("records in the document", len(document.records), MAX_RECORDS)
    actor = replace(ws.actor, session=document.session)
    ws = replace(ws, actor=actor)
    outcomes: list[DocumentResult] = []
    source = sha256(where.encode("utf-8", "replace")).hexdigest()[:16]

    def change(tip: Revision) -> State | ProposedState:
        start = (
            WriteStart(tip, tip.state) if expected_revision is not None else _find_start(ws, tip, document, op, source)
        )
        known = _reuse_records(tip.state, document)
        if not filled:
            rows.remember(known.records)
        proposal, held, decisions = _propose(ws, now, tip, start, known, op)
        if op == IMPORT:
            proposal = proposal._replace(trailers=((SOURCE, source),))
        outcomes.append(DocumentResult(WriteResult(tip, tip), tuple(held), tuple(decisions)))
        return proposal._replace(keeps_paths=True)  # a client gets back what it wrote

    return PlannedWrite(ws.branch, UpdateRequest(change, ws.stamp(op, now), expected_revision), outcomes, filled)


def _parse(
    ws: Workspace, now: datetime, data: Any, where: str
) -> tuple[BatonDocument, tuple[FilledField, ...], KnownRows]:
    """Parse a document; return also the fields that were filled in, and its rows."""
    rows = KnownRows(ws.branch.store.memory, data)

    def parse(data: Any) -> tuple[BatonDocument, tuple[FilledField, ...], KnownRows]:
        data, filled = fill_document(from_foreign_checks(data), now, cache(lambda: ws.branch.read().state))
        return parse_document(data, where=where), filled, rows

    try:
        return parse(rows.data)
    except BatonError:
        if not rows.has_any:
            raise
        return parse(data)  # an error tells the place in the document that was sent


class WriteStart(NamedTuple):
    """The base of a document write: the revision, and the state that the writer knew."""

    revision: Revision
    state: State


def _propose(
    ws: Workspace, now: datetime, tip: Revision, start: WriteStart, document: BatonDocument, op: str
) -> tuple[ProposedState, list[HeldClaim], list[Decision]]:
    """Return the state to write, the claims held back, and the merge decisions.

    If nobody else has written since the base, the document is applied to the tip. Otherwise its changes are merged, and
    the commit gets a second parent with the document as its writer meant it.
    """
    at = iso(now)
    document, new_context = _split_context(start.state, tip.state, document)
    seen = _add_seen_records(start.state, tip, document)
    known, held = hold_back_claims(seen, document, ws.judgement(tip))
    base = start.revision
    if base.commit == tip.commit:
        state, settled, more_held = _protect(ws, tip, apply_document(tip.state, known, at=at))
        state = _propose_held(state, [*held, *more_held])
        recorded = _record_writer(ws, now, state, document, op, tip.number + 1, new_context)
        return ProposedState(recorded, settled=settled), [*held, *more_held], []
    mine = apply_document(seen, known, at=at)
    edits, redactions = redact_edits(seen, mine)
    decisions = [
        decision
        for decision in decide(seen, tip.state, State(mine.source, edits), prefer="theirs")
        if decision.key != SHAPE
    ]
    state, settled, more_held = _protect(ws, tip, _take_writer_fields(apply(tip.state, decisions), known))
    state = _propose_held(state, [*held, *more_held])
    side = mine if seen is base.state else apply_document(base.state, known, at=at)
    if new_context is not None:
        writer = _find_writer(ws, now, side, document)
        side = _set_context(side, writer, now, new_context._replace(known=writer))
    recorded = _record_writer(ws, now, state, document, op, base.number + 1, new_context)
    proposal = ProposedState(recorded, side=(base, side), redactions=tuple(redactions), settled=settled)
    return proposal, [*held, *more_held], decisions


def _reuse_records(state: State, document: BatonDocument) -> BatonDocument:
    """Return the document with the stored records in place of equal ones, so that later steps need not compare them."""

    def stored(record: Record) -> Record:
        known = state.entry(Key(record.kind, record.id))
        return known if isinstance(known, Record) and same_fields(known, record) else record

    return document._replace(records=tuple(map(stored, document.records)))


class NewContext(NamedTuple):
    """The context of a document that its writer changed, and what the writer knew: the context that it had read, and
    the record of its session."""

    text: str | None
    read: tuple[WorkContext, ...]
    known: Session | None


def _split_context(base: State, tip: State, document: BatonDocument) -> tuple[BatonDocument, NewContext | None]:
    """Return the document with the context that `baton.toml` keeps, and the context that its session sets, if any.

    The first document of a namespace is kept whole. Later ones have the single context that their writers have read:
    whoever left it unchanged sets none, and a changed one belongs to the session of the document.
    """
    read = list_contexts(base)[:1]
    shown, text = (read[0].text if read else None) or "", document.head.context
    current = list_contexts(tip)
    is_first = tip.entry(HEAD) is None and not current
    if _has_no_writer(tip, document) and all(context.is_in_head for context in current):
        return document, None
    is_changed = text != shown and redact({"context": text}, known=frozenset([shown]))[0]["context"] != shown
    if is_first or not (text or shown) or (not is_changed and read[0].is_in_head):
        return document, None
    head = drop_context(document.head) if text else document.head
    new = NewContext(text or None, tuple(read), find_session(base, document.session)) if is_changed else None
    return document._replace(head=head), new


def _protect(ws: Workspace, tip: Revision, state: State) -> tuple[State, frozenset[Key], list[HeldClaim]]:
    """Return the state without changes that only a person may make, the work that it settles, and the held changes.

    A client of session-baton leaves out of its document the loops and follow-ups that are done.
    """
    settled = frozenset(
        key
        for key in tip.state.differing(state)
        if key.kind in WORK_ITEMS and not key.archived and state.entry(key) is None
    )
    if ws.caller.person is not None:
        return state, settled, []
    protected, held = hold_losses(tip.state, state, ws.labels(tip), settled)
    return protected, settled, held


def _propose_held(state: State, held: Sequence[HeldClaim]) -> State:
    """Return the state in which a decision is proposed to replace another one, if the document claimed that it does."""
    for claim in held:
        if claim.field == "superseded_by" and isinstance(claim.claimed, str):
            old, new = (state.entry(Key(ActiveDecision.kind, id_)) for id_ in (claim.id, claim.claimed))
            if isinstance(old, ActiveDecision) and isinstance(new, ActiveDecision) and old.id != new.id:
                state = state.put(new.replace(replaces=new.replaces or old.id))
    return state


def _add_seen_records(state: State, tip: Revision, document: BatonDocument) -> State:
    """Return the base with those newer records that the writer must have seen: the document continues them, or it also
    has them as graduated."""
    if state is tip.state:
        return state
    for record in document.records:
        key = Key(record.kind, record.id)
        newer = tip.state.entry(key)
        if not isinstance(newer, Record) or state.entry(key) is newer:
            continue
        is_known = _is_absent(state, key) and _continues(newer, record)
        if is_known or (_is_graduated(newer) and _is_graduated(record)):
            state = state.put(newer)
    return state


def _continues(newer: Record, record: Record) -> bool:
    """Return whether `record` continues `newer`: all fields that have no merge rule of their own are equal."""
    old, new = newer.as_data(), record.as_data()
    changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return all(merge_rule(type(record), name) is not CHANGED_SIDE for name in changed)


def _is_graduated(record: Record) -> bool:
    return isinstance(record, Pattern) and record.status == "graduated"


def _is_absent(state: State, key: Key) -> bool:
    return state.entry(key) is None and state.entry(Key(key.kind, key.id, archived=True)) is None


def _take_writer_fields(state: State, document: BatonDocument) -> State:
    """Take the last writer and the order of records from the document, as these are not merged."""
    own = {name: value for name, value in document.head.as_data().items() if name in _WRITER_FIELDS}
    rest = {name: value for name, value in state.head.as_data().items() if name not in _WRITER_FIELDS}
    return state.put(Head.model_validate({**rest, **own}), HEAD).put(document.shape, SHAPE)


_WRITER_FIELDS = ("schema_version", "session_id", "parent_session", "updated_at")


def _record_writer(
    ws: Workspace, now: datetime, state: State, document: BatonDocument, op: str, revision: int,
    new_context: NewContext | None,
) -> State:  # fmt: skip
    """Record the document's session in the state, with the revision of its document and the context that it set."""
    if new_context is None and _has_no_writer(state, document):
        return state
    at = {} if op == IMPORT else {"wrote_document": revision}
    if op == IMPORT and new_context is None and find_session(state, document.session) is not None:
        return state
    session = _find_writer(ws, now, state, document).replace(**at)
    if new_context is not None:
        state = _set_context(state, session, now, new_context)
        session = state.get(Session, session.id)
    return record_session(state, session, now, ws.policy)


def _has_no_writer(state: State, document: BatonDocument) -> bool:
    return document.session == NO_SESSION and find_session(state, NO_SESSION) is None


def _find_writer(ws: Workspace, now: datetime, state: State, document: BatonDocument) -> Session:
    """Return the record of the document's session, or a new one."""
    session = find_session(state, document.session)
    if session is not None:
        return session
    optional = {"parent": document.parent, "agent": ws.actor.agent, "machine": ws.actor.machine}
    data = {"id": document.session, "started": iso(now), "status": "active"}
    return Session.model_validate(data | {name: value for name, value in optional.items() if value})


def _set_context(state: State, session: Session, now: datetime, new: NewContext) -> State:
    state = state.remove(Key(Session.kind, session.id, archived=True))
    return set_context(state, session, new.text, now, new.read, new.known)


def _find_start(ws: Workspace, tip: Revision, document: BatonDocument, op: str, source: str) -> WriteStart:
    """Find the base of a document without an expected revision."""
    if op == IMPORT:
        last = _find_first(ws.branch.history(tip.commit), lambda entry: entry.op == "root" or _is_import(entry, source))
        return _start_at(ws, last) if last is not None else WriteStart(tip, tip.state)
    is_last_writer = tip.state.readable_head.session_id == document.session  # also without a record of a session
    if is_last_writer or find_session(tip.state, document.session) is not None:
        own = _find_own_start(ws, tip, document.session)
        if own is not None:
            return own
    if document.parent and find_session(tip.state, document.parent) is not None:
        position = find_last_seen(ws.branch, tip.commit, document.parent) if tip.commit else None
        if position is not None and position.last is not None:
            revision = ws.branch.past_revision_at(position.last)
            return WriteStart(revision, revision.state)
    return WriteStart(tip, tip.state)


def _is_import(entry: LogEntry, source: str) -> bool:
    """Return whether a commit is the import of a document from this source, and not a merge of it."""
    return entry.op == IMPORT and source in entry.trailer_values(SOURCE)


def _start_at(ws: Workspace, entry: LogEntry) -> WriteStart:
    revision = ws.branch.past_revision_at(entry.commit)
    return WriteStart(revision, revision.state)


def _find_own_start(ws: Workspace, tip: Revision, session: str) -> WriteStart | None:
    """Find the state that a session saw last, at its last boot or document, with its own later changes."""
    seen = find_last_seen(ws.branch, tip.commit, session) if tip.commit else None
    if seen is None or seen.base is None:
        return None
    if not seen.others:
        return WriteStart(tip, tip.state)
    revision = ws.branch.past_revision_at(seen.base)
    return WriteStart(revision, _apply_own_commits(ws, revision.state, seen.own))


def _apply_own_commits(ws: Workspace, state: State, own: Sequence[Oid]) -> State:
    """Apply the changes of a session's own later commits to a state, oldest first."""
    for commit in own:
        before = ws.branch.past_revision_at(ws.branch.store.commit(commit).parents[0]).state
        after = ws.branch.past_revision_at(commit).state
        for key in sorted(before.differing(after)):
            changed = after.entry(key)
            if not isinstance(changed, Unreadable):
                state = State(state.source, {**state.edits, key: changed})
    return state


def _find_first(entries: Iterator[LogEntry], test: Callable[[LogEntry], bool]) -> LogEntry | None:
    return next((entry for entry in entries if test(entry)), None)
