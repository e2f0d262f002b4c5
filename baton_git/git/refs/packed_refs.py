"""One ref out of `packed-refs`, without reading the other hundred thousand.

    packed-refs ::= ("# pack-refs with:" (" " trait)* NL)? (id " " ref NL ("^" id NL)?)*

When the header has the trait `sorted` (every git since 2.15 writes it) a ref is found by bisection.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from baton_git.core.errors import Corrupt, StoreError

_Lines = bytes | mmap.mmap


def packed_value(path: Path, ref: str) -> bytes | None:
    """The id of `ref` in hex, unchecked; None when it is not packed."""
    with _open_packed(path) as lines:
        start = _position(lines, ref.encode())
        if start is None:
            return None
        return lines[start : lines.find(b" ", start)]


def packed_below(path: Path, prefix: str) -> Iterator[tuple[str, bytes]]:
    """(ref, id in hex) of all packed refs that begin with `prefix`."""
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
    """The names of the folders of packed refs right below `prefix`, which ends in a slash; little else is read."""
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
                after = _first_at_or_after(lines, start + first + b"0")  # what follows the slash
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
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    with file:
        if os.fstat(file.fileno()).st_size == 0:  # an empty map cannot be made; an empty file is legal
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
    """Where the line of `ref` begins."""
    if not _is_sorted(lines):
        place = lines.find(b" " + ref + b"\n")
        return None if place < 0 else lines.rfind(b"\n", 0, place) + 1
    position = _first_at_or_after(lines, ref)
    if position >= len(lines):
        return None
    line, _ = _line_at(lines, position)
    return position if line.partition(b" ")[2] == ref else None


def _first_at_or_after(lines: _Lines, ref: bytes) -> int:
    """Where the first line with a ref not below `ref` begins; the file is sorted and has a header."""
    low, high = lines.find(b"\n") + 1, len(lines)
    while low < high:
        middle = lines.rfind(b"\n", low, (low + high) // 2) + 1 or low
        if lines[middle : middle + 1] == b"^":  # belongs to the line before it
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
    """The line at `start`, without its break, and where the next one begins."""
    end = lines.find(b"\n", start)
    return lines[start:end], end + 1
