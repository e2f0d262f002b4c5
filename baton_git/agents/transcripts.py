"""Find transcripts by name, newest first, with what their first lines say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from baton_git.agents.fields import Record
from baton_git.agents.json_lines import JsonLines, open_transcript
from baton_git.core.errors import BatonError
from baton_git.git.files.atomic_files import show_path

Warn = Callable[[str], None]
"""Receives one line about what could not be read."""

HEAD_LINES = 20
HEAD_BYTES = 65536


class Transcript(NamedTuple):
    """A session's file; `session` and `cwd` are None when its name, place and first lines do not tell them.

    Attributes:
        cwd_digest: the SHA-256 of the path of `cwd`, where only this is known.
    """

    path: Path
    session: str | None
    cwd: str | None
    cwd_digest: str | None = None


def ignore_warning(_: str) -> None:
    """Ignore a warning."""


def find_files(folder: Path, *parts: str, warn: Warn = ignore_warning) -> Iterator[Path]:
    """What is below a folder by names, as `glob` finds it: `**` at the last but one place is any depth of folders.

    A folder that is there and cannot be listed is told, not passed over in silence.
    """
    first, *rest = parts
    if first == "**":
        yield from find_files(folder, *rest, warn=warn)
    for path in _entries(folder, warn):
        if first == "**":
            if not path.is_symlink() and _is_folder(path):
                yield from find_files(path, *parts, warn=warn)
        elif fnmatchcase(path.name, first):
            if not rest:
                yield path
            elif _is_folder(path):
                yield from find_files(path, *rest, warn=warn)


def _entries(folder: Path, warn: Warn) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        warn(f"cannot list {show_path(folder)}: {error.strerror}")
        return []


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def sort_newest_first(paths: Iterable[Path], warn: Warn = ignore_warning) -> list[Path]:
    """The files by the time of their last change; left out is what is gone by now, leads nowhere or is no file."""
    changed = {}
    for path in paths:
        try:
            stat = path.stat()
            if S_ISREG(stat.st_mode):  # opening a pipe would wait for ever
                changed[path] = stat.st_mtime_ns
        except FileNotFoundError:
            continue
        except OSError as error:
            warn(f"cannot look at {show_path(path)}: {error.strerror}")
    return sorted(changed, key=lambda path: (changed[path], str(path)), reverse=True)


def read_first_records(path: Path) -> Iterator[Record]:
    """What can be read of the first lines; nothing of a file that cannot be read, which must not hide the others."""
    try:
        for _, record in JsonLines(path, most=HEAD_LINES):
            yield record
    except BatonError:
        return


def read_head(path: Path) -> str:
    """The first bytes as text; empty for a file that cannot be read."""
    try:
        with open_transcript(path) as file:
            return file.read(HEAD_BYTES).decode(errors="replace")
    except BatonError:
        return ""
