"""Find the records of this machine that a sync removed, or that shared their id with a record of the remote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from baton_git.core.diff import title_of
from baton_git.core.kinds import KINDS, LABELLED
from baton_git.core.merge.lineages import compare_side
from baton_git.core.records.base import Record
from baton_git.core.state import Key, State


class SharedId(NamedTuple):
    """An id that two records had; one of them has a new id now.

    Attributes:
        kept: the key with the shared id.
        moved: the key with the new id.
        is_ours_moved: whether the record that was on this machine before has the new id.
    """

    kept: Key
    moved: Key
    is_ours_moved: bool

    def describe(self, state: State, remote: str) -> str:
        """Return one line that says which record has which id in a state."""
        ours, theirs = (self.moved, self.kept) if self.is_ours_moved else (self.kept, self.moved)
        return (
            f"two records had the id {self.kept.id}: the one that was here{_quote_title(state, ours)} has the id "
            f"{ours.id} now, and the one from {remote}{_quote_title(state, theirs)} has {theirs.id}"
        )


def _quote_title(state: State, key: Key) -> str:
    entry = state.entry(key)
    return f' ("{title_of(key.kind, entry.as_data())}")' if isinstance(entry, Record) else ""


def find_shared_ids(old: State, new: State, assigned: Mapping[str, str]) -> list[SharedId]:
    """Return the ids that two records had, from the states before and after a sync.

    Args:
        assigned: the ids that the merge of this sync assigned, by old id.
    """
    moves = compare_side(old, new).moves
    ours = {key: new_key for key, new_key in moves.items() if key.id != new_key.id and key.archived == new_key.archived}
    keys = [Key(kind, id_) for id_ in assigned for kind in KINDS]
    theirs = {key: key._replace(id=assigned[key.id]) for key in keys if new.entry(key) is not None}
    return [SharedId(key, new_key, key in ours) for key, new_key in sorted({**theirs, **ours}.items())]


def list_removed(old: State, new: State, assigned: Mapping[str, str]) -> list[str]:
    """Return the ids of the records with a provenance that are neither live nor archived any more.

    Args:
        assigned: the ids that the merge of this sync assigned, by old id.
    """
    changed = {Key(key.kind, key.id) for key in old.differing(new) if key.kind in LABELLED and not key.archived}
    return sorted(
        key.id
        for key in changed
        if key.id in old.ids(key.kind)
        and key.id not in {*new.ids(key.kind), *new.ids(key.kind, archived=True), *assigned}
    )
