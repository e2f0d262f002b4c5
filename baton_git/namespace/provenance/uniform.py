"""Find the commits at which every record has the same mark, because they and all commits before them have one origin.

In a clone these are nearly all commits of the team. Their marks need no fold: no trees, and above all no merge bases,
each of which is a walk over some hundred commits if 250 agents work at a time.

Known ones are kept in a file, as sorted binary ids after a line of JSON with their mark. The snapshots do not take its
place: a session that was open at the time of a snapshot leads past it, into the history before it.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from baton_git.core.names import Oid
from baton_git.git.files import durable_files
from baton_git.git.store import Store
from baton_git.namespace.provenance.commit_view import CommitView, is_bare
from baton_git.namespace.provenance.ledger import Ledger
from baton_git.namespace.provenance.marks import Mark, ProvenanceMarks, as_data, from_data

_VERSION: Final = 1
_MODE: Final = 0o600
FEW: Final = 64
"""So many new commits are not worth writing the file again, nor are fewer than a thousandth of those in it."""


class UniformPart(NamedTuple):
    """The commits at which every record has the mark of `marks`. `visited`: how many commits were read to find them."""

    marks: ProvenanceMarks | None
    has: Callable[[Oid], bool]
    visited: int

    def load(self, commit: Oid) -> ProvenanceMarks | None:
        """Return the marks at a commit, which must not be changed; None if it is not one of these commits."""
        return self.marks if self.has(commit) else None


class UniformCommits:
    """The file with the known commits of one namespace, read on first use. It may be deleted; errors of the disk are
    ignored."""

    def __init__(self, path: Path, width: int) -> None:
        self._path, self._width = path, width

    @cached_property
    def _content(self) -> tuple[ProvenanceMarks | None, _Rows]:
        try:
            head, _, ids = self._path.read_bytes().partition(b"\n")
            data = json.loads(head)
            if data["version"] == _VERSION and len(ids) == data["count"] * self._width:
                return from_data(data), _Rows(ids, self._width)
        except (OSError, ValueError, TypeError, LookupError):
            pass  # they are found again
        return None, _Rows(b"", self._width)

    @property
    def marks(self) -> ProvenanceMarks | None:
        """The marks at these commits; None if there are none."""
        return self._content[0]

    def has(self, commit: Oid) -> bool:
        name, rows = bytes.fromhex(commit), self._content[1]
        place = bisect_left(rows, name)
        return place < len(rows) and rows[place] == name

    def add(self, marks: ProvenanceMarks, commits: Collection[Oid]) -> None:
        """Add commits with the mark of those in the file, unless they are too few."""
        before = self._content[1]
        if len(commits) < max(FEW, len(before) / 1000):
            return
        ids = sorted({*before, *map(bytes.fromhex, commits)})
        head = json.dumps({"version": _VERSION, "count": len(ids), **as_data(marks)}).encode()
        with suppress(OSError):
            durable_files.make_folder(self._path.parent)
            durable_files.replace_file(self._path, b"".join([head, b"\n", *ids]), mode=_MODE)
            self._content = marks, _Rows(b"".join(ids), self._width)


class _Rows:
    """The ids in sorted binary data."""

    def __init__(self, data: bytes, width: int) -> None:
        self._data, self._width = data, width

    def __len__(self) -> int:
        return len(self._data) // self._width

    def __getitem__(self, place: int) -> bytes:
        return self._data[place * self._width : (place + 1) * self._width]

    def __iter__(self) -> Iterator[bytes]:
        return map(self.__getitem__, range(len(self)))


def find_uniform(
    store: Store, ledger: Ledger, tip: Oid, known: Callable[[Oid], ProvenanceMarks | None], kept: UniformCommits
) -> UniformPart:
    """Return the commits at which every record has one mark, as far as a fold from `tip` needs them.

    Args:
        known: returns the cached marks at a commit; the commits before such a one are not read.

    Raises:
        Corrupt: a commit or a tree cannot be read.
        StoreError: the ledger cannot be read.
    """
    search = _Search(store, ledger, known, kept)
    search.visit(tip)
    if search.default is None or not (search.found or search.meets_kept):
        return UniformPart(None, lambda commit: False, len(search.done))
    marks = kept.marks or ProvenanceMarks(search.default, {})
    kept.add(marks, search.found)
    return UniformPart(marks, search.is_uniform, len(search.done))


class _Search:
    """Visits commits after their parents. A commit counts if its parents do and it has no mark but the default."""

    def __init__(
        self, store: Store, ledger: Ledger, known: Callable[[Oid], ProvenanceMarks | None], kept: UniformCommits
    ) -> None:
        self._store, self._ledger, self._known, self._kept = store, ledger.freeze(), known, kept
        self.found: set[Oid] = set()
        self.meets_kept = False
        self.done: set[Oid] = set()
        self._views: dict[Oid, CommitView] = {}
        self._several: set[Oid] = set()

    @cached_property
    def default(self) -> Mark | None:
        """The mark of the first record; None before it."""
        return self._kept.marks.default if self._kept.marks is not None else None

    def is_uniform(self, commit: Oid) -> bool:
        return commit in self.found or (commit not in self._several and self._kept.has(commit))

    def visit(self, tip: Oid) -> None:
        waiting = [tip]
        while waiting:
            name = waiting[-1]
            view = self._views.get(name)
            if name in self.done or (view is None and self._is_known(name)):
                waiting.pop()
            elif view is None:
                view = self._views[name] = CommitView(self._store, self._ledger, self._store.commit(name))
                waiting += [parent for parent in view.info.parents if parent not in self.done]
            else:  # all its parents are done
                self.done.add(waiting.pop())
                self._judge(self._views.pop(name))

    def _is_known(self, name: Oid) -> bool:
        marks = self._known(name)
        if marks is not None and marks.known:
            self._several.add(name)
        elif self._kept.has(name):
            self.meets_kept = True
        elif marks is None:
            return False
        self.done.add(name)
        return True

    def _judge(self, view: CommitView) -> None:
        name = view.info.oid
        if view.has_other_marks or not all(map(self.is_uniform, view.info.parents)):
            self._several.add(name)
            return
        if self.default is None and not is_bare(view.root):
            self.default = view.plain_mark
        if self.default in (None, view.plain_mark):
            self.found.add(name)
        else:
            self._several.add(name)
