"""The second ref of each branch that baton writes, `refs/baton-kept/<name without refs/>`.

It has the last tip that baton made or accepted, and keeps the commits of the branch from git's gc if the branch is
deleted or moved back. It is set once the branch has moved durably, and before the write is reported. So it never names
a commit that was not published: it is equal to the branch, or behind it after a kill or a write by another program. If
it were set first, a killed write would look like a branch that was moved back. Whoever reads both reads it first.

Its file is overwritten in place and not synced, which takes about 15 µs instead of the 60 to 90 µs of a new file. All
values have the same length and fit into one disk block, so a crash leaves the old value or the new one. Either is an
ancestor of the branch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from baton_git.core.errors import Busy, Corrupt, WriteFailed
from baton_git.core.names import Oid
from baton_git.git.files import durable_files
from baton_git.git.refs.refs import Refs

KEPT = "refs/baton-kept/"
_FOLLOWED = 20
"""How often a ref that other writers keep moving is followed."""
_TRIES = 5
"""How often a file is put into a folder that git keeps removing."""


def kept_name(ref: str) -> str:
    """Return the name of the kept ref of `ref` (a full ref name); of a prefix of branches, the prefix of theirs."""
    return KEPT + ref.removeprefix("refs/")


class KeptRefs:
    """The kept refs of a repository. All methods take the full name of the branch's ref."""

    def __init__(self, refs: Refs) -> None:
        self._refs = refs

    def value(self, ref: str) -> Oid | None:
        """Return the kept tip of `ref`; None if there is none, or its value is damaged: the next write repairs it.

        Raises:
            StoreError: the file cannot be read.
        """
        with suppress(Corrupt):
            return self._refs.tip(kept_name(ref))
        return None

    def below(self, prefix: str) -> dict[str, Oid]:
        """Return the kept tips of all refs whose full name begins with `prefix`, sorted by the name of the ref.

        Damaged ones are left out.

        Raises:
            StoreError: the refs cannot be listed or read.
        """
        start = kept_name(prefix)
        names = (prefix + name.removeprefix(start) for name in self._refs.names(start))
        return {name: tip for name in names if (tip := self.value(name)) is not None}

    @contextmanager
    def open(self, ref: str, expected: Oid | None) -> Iterator[OpenKeptRef]:
        """Open the file of a kept ref inside the `with` block, before `ref` moves away from `expected`.

        A missing file is created with the value `expected`, so that a full disk is noticed before the branch moves.

        Raises:
            Busy: another process held the new file for too long.
            OSError: writing to disk failed.
        """
        name = kept_name(ref)
        fd = self._open(name)
        if fd is None and expected is not None:
            self.replace(ref, expected)
            fd = self._open(name)
        try:
            yield OpenKeptRef(self, ref, fd)
        finally:
            if fd is not None:
                os.close(fd)

    def _open(self, name: str) -> int | None:
        """Open the file of a kept ref to overwrite it; None if it must be replaced instead."""
        path = f"{self._refs.common_dir}{os.sep}{name}"
        with suppress(OSError):
            return os.open(path, os.O_WRONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0))
        return None

    def replace(self, ref: str, to: Oid) -> None:
        """Set a kept ref durably, in a new file; for one that is missing, packed, damaged or not ours to write.

        Raises:
            Busy: another process held the new file for too long.
            OSError: writing to disk failed.
        """
        path = f"{self._refs.common_dir}{os.sep}{kept_name(ref)}"
        with self._refs.ticket(to) as ticket:
            ticket.sync()
            _place(ticket.path, path, _TRIES)
            with suppress(FileNotFoundError):  # git packed this ref, too
                durable_files.sync_folder(os.path.dirname(path))

    def set(self, ref: str, to: Oid) -> None:
        """Set the kept ref to a tip that was accepted. If others move the branch meanwhile, set it to their tip.

        Raises:
            Busy: another process held the new file for too long.
            Corrupt: the value of `ref` is damaged.
            OSError, WriteFailed: writing to disk failed.
        """
        with self.open(ref, to) as kept:
            kept.write(to)
        self.follow(ref, to)

    def follow(self, ref: str, last: Oid | None = None) -> None:
        """Set the kept ref to the tip of `ref` unless that is `last`, also while others move the ref.

        Raises:
            Busy, Corrupt, OSError, WriteFailed: under the same conditions as `set`.
        """
        for _ in range(_FOLLOWED):
            tip = self._refs.tip(ref)
            if tip is None or tip == last:
                return
            with self.open(ref, tip) as kept:
                kept.write(tip)
            last = tip


def _place(file: str, path: str, tries: int) -> None:
    """Rename a file into a folder that another program may remove meanwhile."""
    durable_files.make_folder(os.path.dirname(path))
    try:
        os.replace(file, path)
    except FileNotFoundError:  # git packed other refs and removed the empty folder
        if tries == 1:
            raise
        _place(file, path, tries - 1)


class OpenKeptRef:
    """The open file of a kept ref; `fd` is None if the file does not exist or cannot be overwritten."""

    def __init__(self, owner: KeptRefs, ref: str, fd: int | None) -> None:
        self._owner, self._ref, self._fd = owner, ref, fd

    def write(self, tip: Oid) -> None:
        """Set the kept ref to the tip that the branch has got.

        Raises:
            WriteFailed: writing to disk failed, after the branch has moved.
        """
        try:
            if not self._overwrite(f"{tip}\n".encode()):
                self._owner.replace(self._ref, tip)
        except (Busy, OSError) as error:
            why = f"{self._ref} moved to {tip}, but its kept ref could not be written: {error}"
            hint = "check the disk and the folder refs/baton-kept, then read the ref again"
            raise WriteFailed(why, hint=hint) from error

    def _overwrite(self, line: bytes) -> bool:
        """Overwrite the file; return False if that does not set the ref."""
        if self._fd is None:
            return False
        status = os.fstat(self._fd)
        if status.st_nlink != 1:  # 0: removed by `git pack-refs`; 2: shared with a backup (cp -al)
            return False
        os.pwrite(self._fd, line, 0)
        if status.st_size > len(line):
            os.ftruncate(self._fd, len(line))
        return os.fstat(self._fd).st_nlink == 1
