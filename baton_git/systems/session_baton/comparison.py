"""Compare and merge documents by record."""

from __future__ import annotations

from typing import Any, NamedTuple

from baton_git.core.diff import RecordChange, diff
from baton_git.core.errors import InvalidDocument
from baton_git.core.merge import ContestedValue, apply, decide
from baton_git.core.records.base import alike
from baton_git.core.state import SHAPE, Key, State
from baton_git.systems.session_baton.document import apply_document, parse_document, to_document

Document = dict[str, Any]

_WRITER_FIELDS = ("schema_version", "session_id", "parent_session", "updated_at")
"""Fields of the head that name the last writer; the writing side always sets them."""


class Comparison(NamedTuple):
    """The changes of two documents since their base; without a base, what each has and the other lacks.

    Attributes:
        here: changes in the local document.
        there: changes in the server's document.
        sections: the top-level fields that differ. If one of the documents is not valid, only these are compared.
    """

    here: tuple[RecordChange, ...] = ()
    there: tuple[RecordChange, ...] = ()
    sections: tuple[str, ...] = ()


class MergedDocument(NamedTuple):
    """The merged document, and the values that both sides changed; of these, the document has ours."""

    document: Document
    contested: tuple[tuple[Key, ContestedValue], ...]


def compare_documents(base: Document | None, ours: Document, theirs: Document) -> Comparison:
    """Compare two documents by record, or by top-level field only if one of them is not valid."""
    sections = tuple(
        name for name in {**ours, **theirs} if not alike(_find_field(ours, name), _find_field(theirs, name))
    )
    try:
        our_state, their_state = _parse_state(ours), _parse_state(theirs)
        base_state = _parse_state(base)
    except InvalidDocument:
        return Comparison(sections=sections)
    if base is None:
        here, there = _list_changes(their_state, our_state), _list_changes(our_state, their_state)
    else:
        here, there = _list_changes(base_state, our_state), _list_changes(base_state, their_state)
    return Comparison(tuple(here), tuple(there), sections)


def merge_documents(base: Document | None, ours: Document, theirs: Document) -> MergedDocument:
    """Merge two documents by record and field, with the merge rules of the records.

    Raises:
        InvalidDocument: one of the three is not a valid document.
    """
    our_state = _parse_state(ours)
    decisions = [
        decision
        for decision in decide(_parse_state(base), our_state, _parse_state(theirs), prefer="ours")
        if decision.key != SHAPE
    ]
    state = apply(our_state, decisions, record_conflicts=False)
    contested = [
        (decision.key, value)
        for decision in decisions
        for value in decision.contested
        if value.field not in _WRITER_FIELDS
    ]
    own = {name: ours[name] for name in _WRITER_FIELDS if name in ours}
    merged = {**to_document(state), **own}
    ordered = {name: merged[name] for name in ours if name in merged}
    return MergedDocument({**ordered, **merged}, tuple(contested))


def _parse_state(document: Document | None) -> State:
    return apply_document(State(), parse_document(document), at="") if document is not None else State()


def _list_changes(before: State, after: State) -> list[RecordChange]:
    return [change for change in diff(before, after) if change.kind != SHAPE.kind and not _names_writer(change)]


def _names_writer(change: RecordChange) -> bool:
    return {field.field for field in change.fields} <= set(_WRITER_FIELDS) and change.kind == "head"


def _find_field(document: Document, name: str) -> tuple[Any, ...]:
    return (document[name],) if name in document else ()
