"""Immutable fields: fields with the merge rule `Fixed` are set once and never change."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from baton_git.core.errors import NotAllowed
from baton_git.core.records.base import Part, Record, alike, merge_rule
from baton_git.core.records.merge_rules import Fixed
from baton_git.core.state import Entry, Key, State, Unreadable

WHY = "is set once and must not change"


class Breach(NamedTuple):
    """A change of an immutable field; `claimed` is None if the field or the record would be removed."""

    key: Key
    field: str
    kept: Any
    claimed: Any


@cache
def fixed_fields(model: type[Part]) -> tuple[str, ...]:
    return tuple(name for name in model.model_fields if isinstance(merge_rule(model, name), Fixed))


def find_breaches(key: Key, before: Entry | None, after: Entry | None) -> Iterator[Breach]:
    """Yield the immutable fields that `before` has and `after`, an entry of the same key, changes or removes."""
    if not isinstance(before, Record) or isinstance(after, Unreadable):
        return
    names = fixed_fields(type(before))
    if not names:  # true for most kinds
        return
    was, now = before.as_data(), after.as_data() if isinstance(after, Part) else {}
    for name in names:
        if was.get(name) is not None and not alike(was[name], now.get(name)):
            yield Breach(key, name, was[name], now.get(name))


def refuse_changes(before: State, after: State) -> None:
    """Raise NotAllowed if an edit of `after` changes an immutable field of a record of `before`."""
    for key in after.edits:
        for breach in find_breaches(key, before.entry(key), after.entry(key)):
            raise NotAllowed(f"{key.display_name}: {breach.field} {WHY}", hint="create a new record instead")


def restore_fixed(before: State, after: State) -> tuple[State, set[Key]]:
    """Return the later state with its immutable fields restored, and the keys of the restored records."""
    broken = {key for key in after.edits if any(find_breaches(key, before.entry(key), after.entry(key)))}
    edits = {key: _restore_entry(before.entry(key), after.entry(key)) for key in broken}
    return State(after.source, {**after.edits, **edits}), broken


def _restore_entry(before: Entry | None, after: Entry | None) -> Entry | None:
    if not isinstance(before, Record) or not isinstance(after, Record):
        return before
    return after.replace(**{breach.field: breach.kept for breach in find_breaches(Key(""), before, after)})
