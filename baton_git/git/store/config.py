"""The repository's own configuration file: reading it, and setting one key without touching the rest.

    file     ::= (blank | comment | header | key)*
    header   ::= "[" section (SP '"' subsection '"')? "]"     (a key may follow on the same line)
    key      ::= name (SP* "=" value)?                         (without "=": true)

Sections and names ignore case, subsections do not. Files named by `include.path` are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from baton_git.core.errors import Busy, Corrupt, InvalidArgument, StoreError
from baton_git.git.files import durable_files
from baton_git.git.files.ref_locks import until

_HEADER = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_KEY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:(=)\s*(.*))?\Z", re.DOTALL)
_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\\n\Z")  # an odd number of backslashes
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}
LOCK_WAIT = 2.0
"""Seconds for which a held `config.lock` is waited for."""


@dataclass(frozen=True)
class Config:
    """The settings of the files at `paths`, of which later ones win; `set` writes the first."""

    paths: tuple[Path, ...]

    def get(self, key: str) -> str | None:
        """The last value of `section.name` or `section.subsection.name`; None when it is not set.

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
        """The names set in `section`, in lower case."""
        start = section.lower() + "."
        names = (name for path in self.paths for name in _parse_file(path, _version(path)))
        return tuple(name[len(start) :] for name in names if name.startswith(start))

    def set(self, key: str, value: str) -> None:
        """Gives `key` this one value, keeping every other line of the file as it is.

        Raises:
            InvalidArgument: the key has no section, or the value holds a NUL or a line break.
            Busy: another process holds `config.lock`.
            WriteFailed: the disk said no.
        """
        section, _, name = key.rpartition(".")
        if not section or not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", name) or set(value) & set("\0\n\r"):
            raise InvalidArgument(f"{key!r} = {value!r} cannot be set in a git configuration file")
        path = self.paths[0]
        with durable_files.writing(f"{path}"):
            _locked_rewrite(path, key, value)


def is_true(value: str | None) -> bool:
    """Whether git takes this value for true."""
    return value is not None and value.lower() in {"true", "yes", "on", "1"}


def _version(path: Path) -> tuple[int, ...]:
    """Changes when the file does."""
    try:
        status = path.stat()
    except OSError:  # reading it will tell
        return ()
    return status.st_ino, status.st_mtime_ns, status.st_size


@lru_cache(maxsize=8)
def _parse_file(path: Path, version: tuple[int, ...]) -> Mapping[str, str]:
    return {name: value for name, value, _ in _settings(path, _lines(path))}


def _locked_rewrite(path: Path, key: str, value: str) -> None:
    lock = path.with_name(path.name + ".lock")
    if not until(lambda: _make_lock(lock), LOCK_WAIT):
        raise Busy(f"{lock} is held by another process", hint="try again; delete it if no git process is running")
    try:
        new = _change_setting(path, key, value).encode("utf-8", "surrogateescape")
        fresh = path.with_name(f"{path.name}.{durable_files.random_name(8)}")
        durable_files.write_new(fresh, new, mode=path.stat().st_mode & 0o777, sync=True)
        fresh.replace(path)
        durable_files.sync_folder(path.parent)
    finally:
        durable_files.remove(lock)


def _make_lock(lock: Path) -> bool:
    try:
        durable_files.write_new(lock, b"", mode=0o644, sync=False)
    except FileExistsError:
        return False
    return True


def _change_setting(path: Path, key: str, value: str) -> str:
    """The text of the file with the last setting of `key` replaced, the older ones removed, or a new one added."""
    lines = _lines(path)
    section, _, name = key.rpartition(".")
    line = f"\t{name} = {_quote_value(value)}\n"
    spans = [span for name, _, span in _settings(path, lines) if name == _fold_key(key)]
    for start, end in reversed(spans):
        header = _HEADER.match(lines[start])
        kept = [header[0].rstrip() + "\n"] if header else []
        lines[start:end] = [*kept, line] if (start, end) == spans[-1] else kept
    if spans:
        return "".join(lines)
    at = _end_of_section(lines, section)
    if at is None:
        lines += ["" if not lines or lines[-1].endswith("\n") else "\n", _header(section)]
        at = len(lines)
    return "".join([*lines[:at], line, *lines[at:]])


def _end_of_section(lines: list[str], section: str) -> int | None:
    """Behind the header of the last such section."""
    matches = ((number, _HEADER.match(line)) for number, line in enumerate(lines))
    numbers = [number for number, match in matches if match and _section(match) == _fold_key(section + ".x")[:-2]]
    if not numbers or lines[numbers[-1]][_end_of_header(lines[numbers[-1]]) :].strip():
        return None
    return numbers[-1] + 1


def _end_of_header(line: str) -> int:
    match = _HEADER.match(line)
    return match.end() if match else 0


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}", hint="check its permissions") from error
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _settings(path: Path, lines: list[str]) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """(key, value, lines from and to) in the order of the file."""
    section = ""
    number = 0
    while number < len(lines):
        start, line = number, lines[number]
        number += 1
        header = _HEADER.match(line)
        if header:
            section, line = _section(header), line[header.end() :]
        if line.lstrip()[:1] in ("", "#", ";"):
            continue
        while _CONTINUED.search(line) and number < len(lines):
            line, number = line + lines[number], number + 1
        key = _KEY.match(line)
        if key is None or not section:
            raise Corrupt(f"{path}, line {start + 1}", "is not a setting", hint="see `git config --local --list`")
        name = key[1].strip()
        yield f"{section}.{name.lower()}", _unquote_value(key[3] or "") if key[2] else "true", (start, number)


def _section(header: re.Match[str]) -> str:
    name = header[1].lower()
    return name if header[2] is None else name + "." + re.sub(r"\\(.)", r"\1", header[2])


def _fold_key(key: str) -> str:
    """`Section.Sub.Name` with the parts that ignore case in lower case."""
    first, _, rest = key.partition(".")
    middle, dot, last = rest.rpartition(".")
    return f"{first.lower()}.{middle}{dot}{last.lower()}"


def _header(section: str) -> str:
    name, dot, subsection = section.partition(".")
    escaped = subsection.replace("\\", "\\\\").replace('"', '\\"')
    return f'[{name} "{escaped}"]\n' if dot else f"[{name}]\n"


def _quote_value(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\b", "\\b")
    plain = value == value.strip() and not set(value) & set("#;")
    return escaped if plain else f'"{escaped}"'


def _unquote_value(text: str) -> str:
    """A value without its quotes, escapes, comment and the white space around it."""
    out: list[str] = []
    kept = 0  # up to here nothing may be stripped: it was quoted or is no white space
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
            kept = len(out) if quoted or not char.isspace() else kept
    return "".join(out[:kept])
