"""Look up refs in `packed-refs` without reading the whole file.

    packed-refs ::= ("# pack-refs with:" (" " trait)* NL)? (id " " ref NL ("^" id NL)?)*

If the header has the trait `sorted` (written by git since 2.15), refs are found by binary search; otherwise the
lines are searched in order.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from baton_git.core.errors import Corrupt, StoreError
from baton_git.git.files.atomic_files import advise_access

_Lines = bytes | mmap.mmap


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
