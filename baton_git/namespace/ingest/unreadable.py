"""Find the records that a change made unreadable."""

from __future__ import annotations

from baton_git.core.state import State, Unreadable


def find_new_unreadable(before: State, after: State, *, archived: bool = True) -> list[Unreadable]:
    """Return the new or changed records of `after` that cannot be read, sorted by key.

    Args:
        archived: whether to read the archive, too.
    """
    unreadable = []
    for key in sorted(before.differing(after) if archived else before.differing_live(after)):
        entry = after.entry(key)
        if isinstance(entry, Unreadable) and before.entry(key) != entry:
            unreadable.append(entry)
    return unreadable
