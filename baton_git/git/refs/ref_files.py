"""The files in which git keeps packed refs and the history of a ref, and baton's own note of a ref's last good value.

packed-refs ::= ("# pack-refs with:" (" " trait)* NL)? (id " " ref NL ("^" id NL)?)*
reflog      ::= (old " " new " " name " <" mail "> " seconds " " zone TAB message NL)*
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from baton_git.core.errors import Corrupt, StoreError
from baton_git.git.files import durable_files
from baton_git.git.files.atomic_files import advise_access
from baton_git.git.files.ref_locks import local_name
from baton_git.git.objects.values import encode_signature

_Lines = bytes | mmap.mmap
_TAIL = 4096

# --- packed refs
# The file is mapped and not read whole: it has 100,000 lines if there are as many namespaces. If its header has the
# trait `sorted`, which git writes since 2.15, refs are found by binary search; otherwise line by line.


def packed_value(path: Path, ref: str) -> bytes | None:
    """Return the unchecked hex id of `ref`, or None if the ref is not packed."""
    with _open_packed(path) as lines:
        start = _position(lines, ref.encode())
        if start is None:
            return None
        return lines[start : lines.find(b" ", start)]


def packed_below(path: Path, prefix: str) -> Iterator[tuple[str, bytes]]:
    """Yield (ref, hex id) for all packed refs that begin with `prefix`."""
    with _open_packed(path) as lines:
        wanted = prefix.encode()
        is_sorted = _is_sorted(lines)
        position = _first_at_or_after(lines, wanted) if is_sorted else 0
        while position < len(lines):
            line, position = _line_at(lines, position)
            if line[:1] in (b"#", b"^"):
                continue
            value, _, name = line.partition(b" ")
            if name.startswith(wanted):
                yield name.decode("utf-8", "surrogateescape"), value
            elif is_sorted and name > wanted:
                return


def packed_folders(path: Path, prefix: str) -> set[str]:
    """Return the names of the folders of packed refs directly below `prefix`, which must end in a slash."""
    start = prefix.encode()
    with _open_packed(path) as lines:
        if not _is_sorted(lines):
            tails = (name.removeprefix(prefix) for name, _ in packed_below(path, prefix))
            return {tail.partition("/")[0] for tail in tails if "/" in tail}
        folders = set()
        position = _first_at_or_after(lines, start)
        while position < len(lines):
            line, after = _line_at(lines, position)
            name = line.partition(b" ")[2]
            if line[:1] != b"^" and not name.startswith(start):
                break
            first, slash, _ = name.removeprefix(start).partition(b"/")
            if slash:
                folders.add(first.decode("utf-8", "surrogateescape"))
                after = _first_at_or_after(lines, start + first + b"0")  # "0" is the character after "/"
            position = after
        return folders


@contextmanager
def _open_packed(path: Path) -> Iterator[_Lines]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        yield b""
        return
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}", hint=advise_access(path, error)) from error
    with file:
        if os.fstat(file.fileno()).st_size == 0:  # an empty file is valid, but cannot be memory-mapped
            yield b""
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as lines:
            if lines[-1:] != b"\n":
                raise Corrupt(
                    str(path), "ends in the middle of a line", hint="run `git fsck` and `git pack-refs --all`"
                )
            yield lines


def _is_sorted(lines: _Lines) -> bool:
    if lines[:2] != b"# ":
        return False
    header = lines[: lines.find(b"\n")]
    return b"sorted" in header.split(b" ")


def _position(lines: _Lines, ref: bytes) -> int | None:
    """Return the offset of the line of `ref`, or None if there is none."""
    if not _is_sorted(lines):
        place = lines.find(b" " + ref + b"\n")
        return None if place < 0 else lines.rfind(b"\n", 0, place) + 1
    position = _first_at_or_after(lines, ref)
    if position >= len(lines):
        return None
    line, _ = _line_at(lines, position)
    return position if line.partition(b" ")[2] == ref else None


def _first_at_or_after(lines: _Lines, ref: bytes) -> int:
    """Return the offset of the first line whose ref is not less than `ref`, in a sorted file with a header."""
    low, high = lines.find(b"\n") + 1, len(lines)
    while low < high:
        middle = lines.rfind(b"\n", low, (low + high) // 2) + 1 or low
        if lines[middle : middle + 1] == b"^":  # a peeled tag, which belongs to the previous line
            middle = lines.rfind(b"\n", low, middle - 1) + 1 or low
        line, after = _line_at(lines, middle)
        while after < high and lines[after : after + 1] == b"^":
            _, after = _line_at(lines, after)
        if line.partition(b" ")[2] < ref:
            low = after
        else:
            high = middle
    return low


def _line_at(lines: _Lines, start: int) -> tuple[bytes, int]:
    """Return the line at `start` without its line break, and the offset of the next line."""
    end = lines.find(b"\n", start)
    return lines[start:end], end + 1


# --- git's reflog, and baton's own note of the last good value of a ref
# line ::= old " " new " " name " <" mail "> " seconds " " zone TAB message NL


_TAIL = 4096


class ReflogEntry(NamedTuple):
    """An entry of a reflog: who ("Name <mail>") moved the ref, when, and the message.

    Attributes:
        time: seconds since 1970.
        timezone: seconds east of UTC.
    """

    who: str
    time: int
    timezone: int
    message: str

    def encode(self) -> bytes:
        """Return the part of the line after the two ids."""
        text = " ".join(self.message.split())
        return encode_signature(self.who, self.time, self.timezone) + b"\t" + text.encode("utf-8", "replace")


def is_logged(log: str, ref: str, setting: str | None, *, bare: bool) -> bool:
    """Return whether git would log a change of `ref`, which is not HEAD; `setting` is `core.logAllRefUpdates`."""
    if durable_files.exists(log):
        return True
    wanted = (setting or ("false" if bare else "true")).lower()
    if wanted == "always":
        return True
    usual = ref.startswith(("refs/heads/", "refs/remotes/", "refs/notes/"))
    return usual and wanted in {"true", "yes", "on", "1", ""}


def append(log: str, line: bytes) -> int:
    """Append a line to the log, and return the previous length of the log in bytes.

    Raises:
        OSError: writing to disk failed; the log is unchanged.
    """
    folder = os.path.dirname(log)
    durable_files.make_folder(folder)
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        shared = durable_files.file_mode(folder, 0o644)
        before = os.fstat(fd).st_size
        if shared is not None and before == 0:
            os.fchmod(fd, shared)
        _write_or_cut(fd, line, before)
    finally:
        os.close(fd)
    return before


def _write_or_cut(fd: int, line: bytes, before: int) -> None:
    try:
        durable_files.write_all(fd, line)
    except OSError:
        os.ftruncate(fd, before)
        raise


def cut(log: str, length: int) -> None:
    """Truncate the log to `length` bytes."""
    os.truncate(log, length)


def last_value(log: str) -> str | None:
    """Return the newest value in the log, unchecked, or None if there is none or the log cannot be read."""
    try:
        with Path(log).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
            lines = [line for line in file.read().split(b"\n") if line.count(b" ") >= 2]
    except OSError:
        return None
    return lines[-1].split(b" ")[1].decode("ascii", "replace") if lines else None


class LastGood:
    """The value of each ref after baton's last write, for restoring a damaged ref. Best effort, never synced."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def note(self, ref: str, value: str) -> None:
        """Store the value of a ref. Errors are ignored, because the write of the ref itself has succeeded."""
        text = f"{value} {ref}\n".encode("utf-8", "surrogateescape")
        with suppress(OSError):
            durable_files.make_folder(self.folder)
            fd = os.open(f"{self.folder}{os.sep}{local_name(ref)}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                os.write(fd, text)  # atomic in practice: same length as the old text, within one block
            finally:
                os.close(fd)

    def clear(self, ref: str) -> None:
        """Remove the value of a ref that was deleted."""
        durable_files.remove(self.folder / local_name(ref))

    def all(self) -> dict[str, str]:
        """Return the last stored values, unchecked, by ref."""
        with suppress(OSError):
            texts = [path.read_text(encoding="utf-8", errors="replace") for path in self.folder.iterdir()]
            return {ref: value for value, _, ref in (text.rstrip("\n").partition(" ") for text in texts)}
        return {}

    def value(self, ref: str) -> str | None:
        """Return the last stored value, unchecked, or None."""
        try:
            return (self.folder / local_name(ref)).read_text(encoding="utf-8", errors="replace").split(" ")[0]
        except OSError:
            return None
