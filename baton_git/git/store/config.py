"""Read a repository's configuration files without starting git, which takes longer than most commands of baton.

    file     ::= (blank | comment | header | key)*
    header   ::= "[" section (SP '"' subsection '"')? "]"     (a key may follow on the same line)
    key      ::= name (SP* "=" value)?                         (without "=": true)

Sections and names are case-insensitive, subsections are case-sensitive. Files named by `include.path` are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from baton_git.core.errors import BrokenSettings, StoreError
from baton_git.git.files.atomic_files import advise_access

_HEADER = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_KEY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:(=)[ \t]*(.*))?\Z", re.DOTALL)
_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\\n\Z")  # an odd number of backslashes
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}


@dataclass(frozen=True)
class Config:
    """The settings of the files at `paths`; later files override earlier ones."""

    paths: tuple[Path, ...]

    def get(self, key: str) -> str | None:
        """Return the last value of `section.name` or `section.subsection.name`, or None if it is not set.

        Raises:
            Corrupt: a file does not parse.
            StoreError: a file cannot be read.
        """
        wanted = _fold_key(key)
        value = None
        for path in self.paths:
            value = _parse_file(path, _version(path)).get(wanted, value)
        return value

    def keys(self, section: str) -> tuple[str, ...]:
        """Return the names that are set in `section`, in lower case except for subsections."""
        start = section.lower() + "."
        names = (name for path in self.paths for name in _parse_file(path, _version(path)))
        return tuple(name[len(start) :] for name in names if name.startswith(start))


def parse_listing(printed: str) -> list[tuple[str, str | None]]:
    """Return the keys and values that `git config -z --get-regexp` prints: keys in lower case except for subsections,
    in git's order; None for a key without a value, which is true."""
    pairs = (line.partition("\n") for line in printed.split("\0") if line)
    return [(name, value if newline else None) for name, newline, value in pairs]


def is_true(value: str | None) -> bool:
    """Return whether a setting is on: `true`, `yes`, `on` or `1`, in upper or lower case."""
    return value is not None and value.lower() in {"true", "yes", "on", "1"}


def _version(path: Path) -> tuple[int, ...]:
    """Return a cache key that changes with the file: inode, modification time and size."""
    try:
        status = path.stat()
    except OSError:  # reported when the file is read
        return ()
    return status.st_ino, status.st_mtime_ns, status.st_size


@lru_cache(maxsize=8)
def _parse_file(path: Path, version: tuple[int, ...]) -> Mapping[str, str]:
    return {name: value for name, value, _ in _settings(path, _lines(path))}


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}", hint=advise_access(path, error)) from error
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _settings(path: Path, lines: list[str]) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Yield (key, value, (first line, line after the last)) in the order of the file; lines are counted from 0."""
    section = ""
    number = 0
    while number < len(lines):
        start, line = number, lines[number]
        number += 1
        header = _HEADER.match(line)
        if header:
            name, below = header[1].lower(), header[2]
            section = name if below is None else name + "." + re.sub(r"\\(.)", r"\1", below)
            line = line[header.end() :]
        if line.lstrip()[:1] in ("", "#", ";"):
            continue
        while _CONTINUED.search(line) and number < len(lines):
            line, number = line + lines[number], number + 1
        key = _KEY.match(line)
        if key is None or not section:
            raise BrokenSettings(
                f"{path}, line {start + 1}", "this line is no setting, and git cannot read it either",
                hint="correct or remove this line in an editor",
            )  # fmt: skip
        name = key[1].strip()
        yield f"{section}.{name.lower()}", _unquote_value(key[3] or "") if key[2] else "true", (start, number)


def _fold_key(key: str) -> str:
    """Convert the case-insensitive parts of `Section.Sub.Name` (section and name) to lower case."""
    first, _, rest = key.partition(".")
    middle, dot, last = rest.rpartition(".")
    return f"{first.lower()}.{middle}{dot}{last.lower()}"


def _unquote_value(text: str) -> str:
    """Return a value without quotes, escapes, trailing comment and surrounding white space."""
    out: list[str] = []
    kept = 0  # length of `out` without trailing white space that was not quoted
    quoted = False
    chars = iter(text.rstrip("\r\n"))
    for char in chars:
        if char == "\\":
            following = next(chars, "")
            out.append(_ESCAPES.get(following, ""))
            kept = len(out)
        elif char == '"':
            quoted = not quoted
            kept = len(out)
        elif char in "#;" and not quoted:
            break
        else:
            out.append(char)
            kept = len(out) if quoted or char not in " \t\r\n" else kept
    return "".join(out[:kept])
