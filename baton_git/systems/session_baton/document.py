"""The whole document of session-baton's wire ↔ the records of a state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from baton_git.core.codecs import json as strict_json
from baton_git.core.errors import Fault, InvalidDocument, InvalidName
from baton_git.core.kinds import DOCUMENT_LISTS
from baton_git.core.lifecycle import HeldClaim, Judge, hold_claims
from baton_git.core.names import RecordId, SessionId
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import Record, SourceTier, parse
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import ActiveDecision, Baton, Head, Shape
from baton_git.core.state import HEAD, SHAPE, Key, State

EXPORTED = (HEAD.kind, SHAPE.kind, *(model.kind for model in DOCUMENT_LISTS.values()))
"""The kinds of records that a document is made of."""


class Document(NamedTuple):
    """A document that was found valid, in its parts."""

    head: Head
    records: tuple[Record, ...]
    shape: Shape

    @property
    def session(self) -> str:
        return self.head.session_id

    @property
    def parent(self) -> str | None:
        return self.head.parent_session


def parse_document(data: Any, *, where: str = "") -> Document:
    """The document that plain data is.

    Raises:
        InvalidDocument: with the path of each fault: a wrong type, an unknown status, an id given twice, …
    """
    if not isinstance(data, Mapping):
        raise InvalidDocument([Fault("", "a baton is an object with session_id, open_loops, …")], where=where)
    if "baton" in data and "session_id" not in data:
        fault = Fault(
            "session_id", "is missing; this looks like the answer of a read, of which `baton` is the document"
        )
        raise InvalidDocument([fault], where=where, hint="baton read | jq .baton")
    strict_json.check(data, where=where)
    baton = parse(Baton, data, where=where)
    faults = [*_session_faults(baton), *_id_faults(baton)]
    if faults:
        raise InvalidDocument(faults, where=where)
    head = Head.model_validate({name: value for name, value in baton.as_data().items() if name not in DOCUMENT_LISTS})
    sections = {name: list(getattr(baton, name)) for name in DOCUMENT_LISTS if name in baton.model_fields_set}
    records = tuple(record for section in sections.values() for record in section)
    return Document(head, records, _shape(sections))


def _session_faults(baton: Baton) -> Iterator[Fault]:
    for name in ("session_id", "parent_session"):
        text = getattr(baton, name)
        if text is None:
            continue
        try:
            SessionId(text)
        except InvalidName as error:
            yield Fault(name, str(error.data["why"]))


def _id_faults(baton: Baton) -> Iterator[Fault]:
    for section in DOCUMENT_LISTS:
        seen: dict[str, int] = {}
        for number, record in enumerate(getattr(baton, section)):
            path = f"{section}[{number}].id"
            try:
                RecordId(record.id)
            except InvalidName as error:
                yield Fault(path, str(error.data["why"]))
            if record.id in seen:
                yield Fault(path, f"{record.id!r} is the id of {section}[{seen[record.id]}] already")
            seen.setdefault(record.id, number)


def _shape(sections: Mapping[str, Sequence[Record]]) -> Shape:
    order = {name: [one.id for one in records] for name, records in sections.items() if not _is_sorted(records)}
    return Shape.model_validate({"sections": list(sections), **({"order": order} if order else {})})


def _is_sorted(records: Sequence[Record]) -> bool:
    keys = [(str(getattr(one, type(one).dated)), one.id) for one in records]
    return keys == sorted(keys)


def to_document(state: State) -> dict[str, Any]:
    """The document of a state, as `parse_document` takes it: the fields that were set, in the order they came.

    What cannot be read is left out; `EXPORTED` says of which kinds.
    """
    head, shape = state.readable_head, state.readable_shape
    data = head.as_data()
    if "session_id" not in data:
        data = {"session_id": _newest_session(state), **data}
    wanted = shape.sections if isinstance(state.entry(SHAPE), Shape) else tuple(DOCUMENT_LISTS)
    for name, model in DOCUMENT_LISTS.items():
        records = _ordered(state.records(model), shape.order.get(name, ()))
        if records or name in wanted:
            data[name] = [record.as_data() for record in records]
    return data


def _newest_session(state: State) -> str:
    sessions = state.records(Session)
    return sessions[-1].id if sessions else "none"


def _ordered(records: Sequence[Record], order: Sequence[str]) -> list[Record]:
    """In the document's order; what it did not have comes after, by date."""
    if not order:
        return list(records)
    place = {id_: number for number, id_ in enumerate(order)}
    return sorted(records, key=lambda record: place.get(record.id, len(place)))


def held_back(base: State, document: Document, judge: Judge) -> tuple[Document, list[HeldClaim]]:
    """The document without the claims that only a person may make (graduation, trust).

    `judge`: by whose word the tiers of known records count.
    """
    claimed = {one.id: _tier_held(base, one) for one in document.records if isinstance(one, ActiveDecision)}

    def tier_of(id_: str) -> str | None:
        known = _known(base, ActiveDecision, id_)
        tier = claimed.get(id_) or getattr(known, "source_tier", None)
        return judge.tier(Key(ActiveDecision.kind, id_), tier) if known is not None and tier is not None else tier

    records, holds = [], []
    for record in document.records:
        kept, held = hold_claims(_known(base, type(record), record.id), record, tier_of, judge=judge)
        records.append(kept)
        holds += held
    return Document(document.head, tuple(records), document.shape), holds


def _tier_held(base: State, claim: ActiveDecision) -> SourceTier:
    """The tier without what a claim may not raise: what a decision may supersede hangs on this one."""
    kept, _ = hold_claims(_known(base, ActiveDecision, claim.id), claim, lambda _: None)
    return kept.source_tier if isinstance(kept, ActiveDecision) else claim.source_tier


def _known(base: State, model: type[Record], id_: str) -> Record | None:
    """The record of an id, in the archive too: leaving one out and adding it again clears no gate."""
    live = base.entry(Key(model.kind, id_))
    if isinstance(live, Record):
        return live
    closed = base.entry(Key(model.kind, id_, archived=True))
    return parse(model, closed.record) if isinstance(closed, Archived) else None


def written(base: State, document: Document, *, at: str) -> State:
    """`base` after the document was written over it; records that it leaves out go to the archive."""
    state = base
    for record in document.records:
        state = state.put(record)
    names = {(record.kind, record.id) for record in document.records}
    for model in DOCUMENT_LISTS.values():
        for id_ in sorted(base.ids(model.kind)):
            gone = base.entry(Key(model.kind, id_))
            if (model.kind, id_) not in names and isinstance(gone, Record):
                reason = f"not in the document of session {document.session}"
                state = state.archive(gone, at=at, reason=reason, session=document.session)
    return state.put(document.head, HEAD).put(document.shape, SHAPE)
