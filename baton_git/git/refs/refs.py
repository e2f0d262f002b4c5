"""Read refs, and move them with compare-and-swap.

Interoperable with git's files backend. A loose file overrides `packed-refs`. A loose file that cannot be read is an
error; the packed value is not used instead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from enum import Enum
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeVar

from baton_git.core.errors import BatonError, Corrupt, StoreError, WriteFailed
from baton_git.core.names import Oid
from baton_git.git.files import durable_files
from baton_git.git.files.atomic_files import advise_access
from baton_git.git.files.ref_locks import RefLocks, Ticket
from baton_git.git.refs import ref_files
from baton_git.git.refs.ref_files import packed_below, packed_folders, packed_value

_NAME = re.compile(r"refs(?:/(?!\.)[^\x00-\x20\x7f~^:?*\[\\/]+)+\Z")
_SYMBOLIC = b"ref: "
_DEEPEST = 5
_MAX_CACHED_PATHS = 1000
Value = TypeVar("Value")


class Swap(Enum):
    """The result of an attempt to move a ref."""

    MOVED = "the ref has the new value"
    ELSEWHERE = "the ref did not have the expected value, and was not changed"
    OVERTAKEN = "the ref was written, but has another value now: another process removed the lock or moved the ref"


class RefMove(NamedTuple):
    """The arguments of one call of `Refs.swap`."""

    ref: str
    expected: Oid | None
    new: Oid
    log_line: bytes | None
    ticket: Ticket


class Refs:
    """The refs in a common directory; `hex_length` is the length of an object id in hex digits."""

    def __init__(self, common_dir: Path, hex_length: int) -> None:
        self.common_dir = common_dir
        self.packed = common_dir / "packed-refs"
        self.locks = RefLocks(common_dir / "baton" / "locks")
        self.last_good = ref_files.LastGood(common_dir / "baton" / "last")
        self._value = re.compile(rb"[0-9a-f]{%d}\Z" % hex_length)
        self._none = "0" * hex_length
        self._files: dict[str, str] = {}

    def tip(self, ref: str) -> Oid | None:
        """Return the commit that `ref` points to, or None if the ref does not exist.

        Raises:
            Corrupt: the value is not an object id (the hint says how to restore it), or there are too many levels of
                symbolic refs.
            StoreError: the name is not valid, or the file of the ref cannot be read.
        """
        for _ in range(_DEEPEST):
            value = self._raw(ref)
            if value is None or not value.startswith(_SYMBOLIC):
                return None if value is None else self._check_value(ref, value)
            ref = value[len(_SYMBOLIC) :].strip().decode("utf-8", "surrogateescape")
        raise Corrupt(f"ref {ref}", "has too many levels of symbolic refs")

    def is_symbolic(self, ref: str) -> bool:
        """Return whether `ref` points to another ref.

        Raises:
            StoreError: the name is not valid, or the file of the ref cannot be read.
        """
        return (self._raw(ref) or b"").startswith(_SYMBOLIC)

    def below(self, prefix: str) -> dict[str, Oid]:
        """Return all refs whose name begins with `prefix`, sorted by name.

        Raises:
            Corrupt: the value of one of the refs is not an object id.
            StoreError: the refs cannot be listed or read.
        """
        tips = {name: self._check_value(name, value) for name, value in packed_below(self.packed, prefix)}
        for ref in self._loose(prefix):
            tip = self.tip(ref)
            if tip is not None:  # else the ref was deleted meanwhile
                tips[ref] = tip
        return dict(sorted(tips.items()))

    def names(self, prefix: str) -> list[str]:
        """Return the names of all refs that begin with `prefix`, readable or not, sorted.

        Raises:
            StoreError: the refs cannot be listed.
        """
        return sorted({*(name for name, _ in packed_below(self.packed, prefix)), *self._loose(prefix)})

    def folders(self, prefix: str) -> list[str]:
        """Return the names of the folders directly below `prefix`, which must end in a slash.

        Raises:
            StoreError: the folders cannot be listed.
        """
        try:
            loose = {entry.name for entry in os.scandir(self.common_dir / prefix) if entry.is_dir()}
        except OSError as error:
            _unlistable(error)
            loose = set()
        return sorted(loose | packed_folders(self.packed, prefix))

    def ticket(self, new: Oid) -> AbstractContextManager[Ticket]:
        """Return a lock ticket for moving a ref to `new`.

        If created early, it can be synced to disk together with other files.
        """
        return self.locks.ticket(f"{new}\n".encode())

    def swap(self, ref: str, expected: Oid | None, new: Oid, log_line: bytes | None, ticket: Ticket) -> Swap:
        """Move `ref` durably from `expected` (None: the ref must not exist) to `new`, and read it back.

        `log_line` is a reflog line without its two ids, or None. `ticket` must be a ticket for `new`.

        Raises:
            Busy: another process held the lock for too long.
            Corrupt: the current value of the ref is not an object id.
            StoreError: the name is not valid or conflicts with that of another ref, `ref` is a symbolic ref, or its
                file cannot be read.
            OSError: writing to disk failed; the ref did not move.
            WriteFailed: the ref moved, but its folder could not be synced.
        """
        move = RefMove(ref, expected, new, log_line, ticket)
        if not self._replace(move):
            return Swap.ELSEWHERE
        _confirm(self._file(ref), new)
        return self._finish(move)

    def swap_together(self, moves: Sequence[RefMove]) -> list[Swap | Exception]:
        """Move several refs like `swap`, and return the result or the error of each.

        Each ref moves on its own. Only the sync of a folder is shared by all refs in it, so nothing is durable before
        all refs were tried.
        """
        if len(moves) == 1:
            return [_attempt(partial(self.swap, *moves[0]))]
        with durable_files.holding_open(f"{self.common_dir}{os.sep}{move.ref}" for move in moves):
            results: list[Swap | Exception] = [_attempt(partial(self._try_to_replace, move)) for move in moves]
        confirmed: dict[str, Exception | None] = {}
        for number, move in enumerate(moves):
            if results[number] is not Swap.MOVED:
                continue
            path = self._file(move.ref)
            folder = os.path.dirname(path)
            if folder not in confirmed:
                outcome = _attempt(partial(_confirm, path, move.new))
                confirmed[folder] = outcome if isinstance(outcome, Exception) else None
            failure = confirmed[folder]
            results[number] = failure if failure is not None else _attempt(partial(self._finish, move))
        return results

    def _try_to_replace(self, move: RefMove) -> Swap:
        return Swap.MOVED if self._replace(move) else Swap.ELSEWHERE

    def _replace(self, move: RefMove) -> bool:
        """Give the ref its new value, not yet durably; return False if it does not have the expected one."""
        ref, expected, new, log_line, ticket = move
        try:
            with self.locks.hold(self._file(ref), ticket) as lock:
                if self._read_direct(ref) != expected:
                    return False
                if expected is None:
                    self._prepare_creation(ref)
                with self._write_reflog(ref, expected, new, log_line):
                    lock.commit()
        except (NotADirectoryError, IsADirectoryError) as error:
            raise self._name_conflict(ref, self._file_above(ref)) from error
        return True

    def _finish(self, move: RefMove) -> Swap:
        """Call `on_move` once the ref is durable, and read it back."""
        if move.ticket.on_move is not None:
            move.ticket.on_move()
        with suppress(StoreError):
            if self.tip(move.ref) == move.new:
                return Swap.MOVED
        return Swap.OVERTAKEN

    def log_file(self, ref: str) -> str:
        return f"{self.common_dir}{os.sep}logs{os.sep}{ref}"

    @contextmanager
    def _write_reflog(self, ref: str, old: Oid | None, new: Oid, line: bytes | None) -> Iterator[None]:
        """Append to the reflog (unless `line` is None), and undo this if the `with` block fails."""
        if line is None:
            yield
            return
        length = ref_files.append(self.log_file(ref), f"{old or self._none} {new} ".encode() + line + b"\n")
        try:
            yield
        except BaseException:
            ref_files.cut(self.log_file(ref), length)
            raise

    def _file(self, ref: str) -> str:
        known = self._files.get(ref)
        if known is not None:
            return known
        if not _is_name(ref):
            raise StoreError(f"{ref!r} is not the full name of a ref (refs/…)")
        if len(self._files) >= _MAX_CACHED_PATHS:
            self._files.clear()
        return self._files.setdefault(ref, str(self.common_dir / ref))

    def _raw(self, ref: str) -> bytes | None:
        """Return the unchecked value from the loose file or, if there is none, from `packed-refs`."""
        path = str(self.common_dir / ref) if ref == "HEAD" else self._file(ref)
        try:
            return durable_files.content(path)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return packed_value(self.packed, ref)
        except OSError as error:
            raise StoreError(f"cannot read ref {ref}: {error.strerror}", hint=advise_access(path, error)) from error

    def _read_direct(self, ref: str) -> Oid | None:
        value = self._raw(ref)
        if value is not None and value.startswith(_SYMBOLIC):
            raise StoreError(f"{ref} is a symbolic ref", hint="write to the branch that it points to")
        return None if value is None else self._check_value(ref, value)

    def _check_value(self, ref: str, value: bytes) -> Oid:
        text = value.removesuffix(b"\n")
        if not self._value.match(text):
            defect = "is empty" if not value.strip(b"\0\n ") else "is not an object id"
            raise Corrupt(f"ref {ref}", defect, hint=self._recovery(ref))
        return Oid(text.decode())

    def last_known(self, ref: str) -> Oid | None:
        """Return the last known value of `ref` from baton's own note or else from the reflog, or None."""
        return self.noted(ref) or self._known_or_none(ref_files.last_value(self.log_file(ref)))

    def noted(self, ref: str) -> Oid | None:
        """Return the value of `ref` after the last write of a baton of any version, or None."""
        return self._known_or_none(self.last_good.value(ref))

    def _known_or_none(self, value: str | None) -> Oid | None:
        return Oid(value) if value and self._value.match(value.encode()) else None

    def _recovery(self, ref: str) -> str:
        """Return a hint with the command that restores a damaged ref to its last good value."""
        known = self.last_known(ref)
        if known is not None:
            return f"its last known good commit is {known}; to restore it: {self._restore_command(ref, known)}"
        command = self._restore_command(ref, "<commit>")
        return f"its last good commit is not known here; if a remote has the branch, restore it from there: {command}"

    def _restore_command(self, ref: str, value: str) -> str:
        """Return the shell command that restores a ref; it first deletes the damaged file, as git requires."""
        return f"rm '{self.common_dir / ref}' && git update-ref {ref} {value}"

    def _loose(self, prefix: str) -> Iterator[str]:
        folder = self.common_dir / prefix.rpartition("/")[0]
        for top, _, names in os.walk(folder, onerror=_unlistable):
            base = Path(top).relative_to(self.common_dir).as_posix()
            for name in names:
                ref = f"{base}/{name}"
                # git ignores files whose names no ref can have, such as iCloud's copy `shop 2`; `doctor` names them.
                if not name.endswith(".lock") and ref.startswith(prefix) and _is_name(ref):
                    yield ref

    def _prepare_creation(self, ref: str) -> None:
        """Check that no other ref has a conflicting name, and remove an empty folder with the name of the new ref.

        Raises:
            StoreError: the name conflicts with that of another ref: one is a folder of the other, like `a` and `a/b`.
        """
        parts = ref.split("/")
        for end in range(3, len(parts)):
            above = "/".join(parts[:end])
            if packed_value(self.packed, above) is not None:
                raise self._name_conflict(ref, above)
        below = chain((name for name, _ in packed_below(self.packed, ref + "/")), self._loose(ref + "/"))
        for name in below:
            raise self._name_conflict(ref, name)
        path = self.common_dir / ref
        if path.is_dir():
            for folder, _, _ in os.walk(path, topdown=False):
                with suppress(OSError):
                    Path(folder).rmdir()

    def _file_above(self, ref: str) -> str:
        """Return the loose ref whose name is a leading part of `ref`."""
        above = self.common_dir / ref
        while not above.exists() and above != self.common_dir:
            above = above.parent
        return above.relative_to(self.common_dir).as_posix()

    def _name_conflict(self, ref: str, other: str) -> StoreError:
        return StoreError(
            f"cannot create ref {ref}: {other} exists",
            hint="git does not allow a ref `a` beside a ref `a/b`; rename or delete one of them",
            ref=ref, other=other,
        )  # fmt: skip


def _attempt(work: Callable[[], Value]) -> Value | Exception:
    """Return the result of `work`, or the error that it raised for one of several refs."""
    try:
        return work()
    except (BatonError, OSError) as error:
        return error


def _is_name(ref: str) -> bool:
    """Return whether git accepts a text as the full name of a ref."""
    return bool(_NAME.match(ref)) and ".." not in ref and "@{" not in ref and not ref.endswith(("/", ".", ".lock"))


def _unlistable(error: OSError) -> None:
    """Raise StoreError for a folder of refs that cannot be listed; ignore a missing one, which has no refs."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise StoreError(f"cannot list refs: {error.strerror}", hint=advise_access(error.filename, error)) from error


def _confirm(path: str, value: Oid) -> None:
    """Sync the folder of the ref file at `path`, so that its new value is durable.

    Raises:
        WriteFailed: the sync failed.
    """
    try:
        durable_files.sync_folder(os.path.dirname(path))
    except FileNotFoundError:
        pass  # git packed the ref already and removed the empty folder
    except OSError as error:
        why = f"{Path(path).name} moved to {value}, but the disk did not confirm it: {error.strerror}"
        raise WriteFailed(why, hint="check the disk, then read the ref again") from error
