"""Three versions of a document: what differs between them, and one made of all."""

from __future__ import annotations

from typing import Any, NamedTuple

from baton_git.core.diff import RecordChange, diff
from baton_git.core.errors import InvalidDocument
from baton_git.core.merge import ContestedValue, apply, decide
from baton_git.core.records.base import alike
from baton_git.core.state import SHAPE, Key, State
from baton_git.systems.session_baton.document import parse_document, to_document, written

Document = dict[str, Any]

_OF_WRITER = ("schema_version", "session_id", "parent_session", "updated_at")
"""Fields of the head that say who wrote last: whoever writes now."""


class Compared(NamedTuple):
    """What two versions changed since a third; where there is none, all is what the other does not have.

    Attributes:
        here: what the version here has that the base has not.
        there: what the server's has.
        sections: the top-level fields that differ, where one is no document of records.
    """

    here: tuple[RecordChange, ...] = ()
    there: tuple[RecordChange, ...] = ()
    sections: tuple[str, ...] = ()


class Merged(NamedTuple):
    """A document made of two, and the values that both changed differently: of these ours stands."""

    document: Document
    contested: tuple[tuple[Key, ContestedValue], ...]


def compared(base: Document | None, ours: Document, theirs: Document) -> Compared:
    """How two versions differ, by record, or by top-level field where one is not of session-baton's form."""
    sections = tuple(name for name in {**ours, **theirs} if not alike(_field(ours, name), _field(theirs, name)))
    try:
        mine, other = _state(ours), _state(theirs)
        was = _state(base)
    except InvalidDocument:
        return Compared(sections=sections)
    if base is None:
        return Compared(tuple(_changes(other, mine)), tuple(_changes(mine, other)), sections)
    return Compared(tuple(_changes(was, mine)), tuple(_changes(was, other)), sections)


def merged(base: Document | None, ours: Document, theirs: Document) -> Merged:
    """Both versions in one, by record and field, by the rules that hold for merges everywhere here.

    Raises:
        InvalidDocument: one of the three has no form of session-baton's, so nobody knows its records.
    """
    mine = _state(ours)
    decisions = [one for one in decide(_state(base), mine, _state(theirs), prefer="ours") if one.key != SHAPE]
    state = apply(mine, decisions, record_conflicts=False)
    contested = [(one.key, value) for one in decisions for value in one.contested if value.field not in _OF_WRITER]
    own = {name: ours[name] for name in _OF_WRITER if name in ours}
    made = {**to_document(state), **own}
    ordered = {name: made[name] for name in ours if name in made}
    return Merged({**ordered, **made}, tuple(contested))


def _state(document: Document | None) -> State:
    return written(State(), parse_document(document), at="") if document is not None else State()


def _changes(before: State, after: State) -> list[RecordChange]:
    return [one for one in diff(before, after) if one.kind != SHAPE.kind and not _is_of_writer(one)]


def _is_of_writer(change: RecordChange) -> bool:
    return {one.field for one in change.fields} <= set(_OF_WRITER) and change.kind == "head"


def _field(document: Document, name: str) -> tuple[Any, ...]:
    return (document[name],) if name in document else ()
