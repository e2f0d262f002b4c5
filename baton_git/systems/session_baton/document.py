"""Convert session-baton's document to records of a state, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from baton_git.core.codecs import json as strict_json
from baton_git.core.errors import Fault, InvalidDocument, InvalidName
from baton_git.core.kinds import NAMES_KNOWN
from baton_git.core.lifecycle import HeldClaim, Judge, hold_claims
from baton_git.core.names import RecordId, SessionId
from baton_git.core.records.base import Archived, Record, SourceTier, parse
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import SECTIONS, ActiveDecision, Baton, Head, Pattern, Shape
from baton_git.core.sessions import find_session, list_contexts, shown_head
from baton_git.core.state import HEAD, SHAPE, Key, State, key_of

EXPORTED = (HEAD.kind, SHAPE.kind, *(model.kind for model in SECTIONS.values()))
"""The kinds of records that a document is made of."""
NO_SESSION = "none"
"""The session of a document if its namespace has none; writing the document starts no session of this name."""


class BatonDocument(NamedTuple):
    """A validated document: its head, its records, and its shape (its lists, and the order of their records)."""

    head: Head
    records: tuple[Record, ...]
    shape: Shape

    @property
    def session(self) -> str:
        return self.head.session_id

    @property
    def parent(self) -> str | None:
        return self.head.parent_session


def parse_document(data: Any, *, where: str = "") -> BatonDocument:
    """Parse and validate a document; rows that are records already are taken as they are.

    Raises:
        InvalidDocument: there are faults, each with its path: a wrong type, an unknown status, an id given twice, …
        LimitExceeded: the document is nested too deep.
    """
    if not isinstance(data, Mapping):
        raise InvalidDocument([Fault("", "a baton is an object with session_id, open_loops, …")], where=where)
    if "baton" in data and "session_id" not in data:
        fault = Fault(
            "session_id", "is missing; this looks like the answer to a read; the document is in its field `baton`"
        )
        raise InvalidDocument([fault], where=where, hint="baton read | jq .baton")
    strict_json.check(_drop_records(data), where=where)
    baton = parse(Baton, data, where=where)
    faults = [*_find_session_faults(baton), *_find_id_faults(baton)]
    if faults:
        raise InvalidDocument(faults, where=where)
    head = Head.model_validate(baton.model_dump(exclude_unset=True, mode="json", exclude=_LISTS))
    sections = {name: list(getattr(baton, name)) for name in SECTIONS if name in baton.model_fields_set}
    records = tuple(record for section in sections.values() for record in section)
    return BatonDocument(head, records, _make_shape(sections))


_LISTS = set(SECTIONS)


def _drop_records(data: Mapping[str, Any]) -> Mapping[str, Any]:
    lists = {name: rows for name in SECTIONS if isinstance(rows := data.get(name), list)}
    if not any(isinstance(row, Record) for rows in lists.values() for row in rows):
        return data
    return {**data, **{name: [row for row in rows if not isinstance(row, Record)] for name, rows in lists.items()}}


def _find_session_faults(baton: Baton) -> Iterator[Fault]:
    for name in ("session_id", "parent_session"):
        text = getattr(baton, name)
        if text is None:
            continue
        try:
            SessionId(text)
        except InvalidName as error:
            yield Fault(name, str(error.data["why"]))


def _find_id_faults(baton: Baton) -> Iterator[Fault]:
    for section in SECTIONS:
        seen: dict[str, int] = {}
        for number, record in enumerate(getattr(baton, section)):
            why = [_find_id_fault(record.id)]
            if record.id in seen:
                why.append(f"{record.id!r} is the id of {section}[{seen[record.id]}] already")
            yield from (Fault(f"{section}[{number}].id", text) for text in why if text)
            seen.setdefault(record.id, number)


@lru_cache(NAMES_KNOWN)
def _find_id_fault(id_: str) -> str:
    """Return what is wrong with an id; empty if it is valid. Documents repeat their ids each time."""
    try:
        RecordId(id_)
    except InvalidName as error:
        return str(error.data["why"])
    return ""


def _make_shape(sections: Mapping[str, Sequence[Record]]) -> Shape:
    order = {name: [record.id for record in records] for name, records in sections.items() if not _is_sorted(records)}
    return Shape.model_validate({"sections": list(sections), **({"order": order} if order else {})})


def _is_sorted(records: Sequence[Record]) -> bool:
    keys = [(str(getattr(record, type(record).dated)), record.id) for record in records]
    return keys == sorted(keys)


def to_document(state: State, updated_at: str | None = None) -> dict[str, Any]:
    """Convert a state to a document with the fields that are set, in their order.

    The document has the records of the kinds in `EXPORTED`; unreadable ones are left out. A state that was not written
    as a document gets a head with the fields that session-baton's models require.

    Args:
        updated_at: the time when the state was written, for the head of a state that was not written as a document.
    """
    head, shape = shown_head(state), state.readable_shape
    data = head.as_data()
    if "session_id" not in data:
        data = {**_make_head(state, updated_at), **data}
    wanted = shape.sections if isinstance(state.entry(SHAPE), Shape) else tuple(SECTIONS)
    for name, model in SECTIONS.items():
        records = _sort_records(state.records(model), shape.order.get(name, ()))
        if records or name in wanted:
            data[name] = [record.as_data() for record in records]
    return data


def _make_head(state: State, updated_at: str | None) -> dict[str, Any]:
    """Make the head of a state that was not written as a document.

    Its writer is the session that set the newest context, or else the newest session.
    """
    contexts = [context.session for context in list_contexts(state) if not context.is_in_head]
    known = find_session(state, contexts[0]) if contexts else None
    newest = known or next(iter(state.select(Session, lambda _: True)[::-1]), None)
    writer, parent = (newest.id, newest.parent) if newest is not None else (NO_SESSION, None)
    head = {"schema_version": 1, "session_id": writer, "parent_session": parent, "context": ""}
    return head | ({"updated_at": updated_at} if updated_at is not None else {})


def _sort_records(records: Sequence[Record], order: Sequence[str]) -> list[Record]:
    """Sort records in the document's order; other records come after, by date."""
    if not order:
        return list(records)
    positions = {id_: number for number, id_ in enumerate(order)}
    return sorted(records, key=lambda record: positions.get(record.id, len(positions)))


def hold_back_claims(base: State, document: BatonDocument, judge: Judge) -> tuple[BatonDocument, list[HeldClaim]]:
    """Remove from a document the claims that only a person may make: graduation and trust.

    Return the document without the claims, and the claims. `judge` decides whether the tier of a known record counts.
    """
    claimed = {
        record.id: _limit_tier(base, record) for record in document.records if isinstance(record, ActiveDecision)
    }

    def tier_of(id_: str) -> str | None:
        known = _find_record(base, ActiveDecision, id_)
        tier = claimed.get(id_) or getattr(known, "source_tier", None)
        return judge.tier(Key(ActiveDecision.kind, id_), tier) if known is not None and tier is not None else tier

    records, holds = [], []
    for record in document.records:
        if base.entry(key_of(record)) is record:
            records.append(record)
            continue
        kept, held = hold_claims(_find_record(base, type(record), record.id), record, tier_of, judge=judge)
        records.append(kept)
        holds += held
    return BatonDocument(document.head, tuple(records), document.shape), holds


def _limit_tier(base: State, claim: ActiveDecision) -> SourceTier:
    """Return the tier of a decision, or its previous tier if the document may not raise it."""
    kept, _ = hold_claims(_find_record(base, ActiveDecision, claim.id), claim, lambda _: None)
    return kept.source_tier if isinstance(kept, ActiveDecision) else claim.source_tier


def _find_record(base: State, model: type[Record], id_: str) -> Record | None:
    """Find a record by id, also in the archive, so that removing a record and adding it again does not avoid a
    check."""
    live = base.entry(Key(model.kind, id_))
    if isinstance(live, Record):
        return live
    closed = base.entry(Key(model.kind, id_, archived=True))
    return parse(model, closed.record) if isinstance(closed, Archived) else None


def apply_document(base: State, document: BatonDocument, *, at: str) -> State:
    """Return `base` with the document applied; the records that the document leaves out are archived.

    A record that has no anchors in the document keeps its anchors, and a proposed decision keeps what it is to replace,
    because session-baton's clients do not know these fields.

    Args:
        at: the time for the archived records, in ISO 8601.
    """
    state = base
    for record in document.records:
        if base.entry(key_of(record)) is not record:
            state = state.put(_keep_anchors(base, record))
    names = {(record.kind, record.id) for record in document.records}
    for model in SECTIONS.values():
        for id_ in sorted(id_ for id_ in base.ids(model.kind) if (model.kind, id_) not in names):
            omitted = base.entry(Key(model.kind, id_))
            if isinstance(omitted, Record):
                reason = f"not in the document of session {document.session}"
                state = state.archive(omitted, at=at, reason=reason, session=document.session)
    return state.put(document.head, HEAD).put(document.shape, SHAPE)


def _keep_anchors(base: State, record: Record) -> Record:
    known = base.entry(key_of(record))
    if isinstance(known, ActiveDecision) and known.replaces and "replaces" not in record.model_fields_set:
        record = record.replace(replaces=known.replaces)
    if isinstance(known, ActiveDecision | Pattern) and known.anchors and "anchors" not in record.model_fields_set:
        return record.replace(anchors=[anchor.as_data() for anchor in known.anchors])
    return record
