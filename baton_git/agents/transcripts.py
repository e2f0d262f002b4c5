"""The interface of transcripts; find them by their file names, newest first, and read their first lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple, Protocol

from baton_git.agents.events import EndReached, Event, ToolCall, ToolResult
from baton_git.agents.json_lines import JsonLines, Record, open_transcript
from baton_git.agents.tool_use import ToolOutcome, ToolUse
from baton_git.core.errors import BatonError
from baton_git.git.files.atomic_files import show_path

Warn = Callable[[str], None]
"""Receives a one-line message about something that could not be read."""

HEAD_LINES = 20
HEAD_BYTES = 65536


class Transcript(NamedTuple):
    """The transcript of a session; `session` and `cwd` are None when neither its path nor its first lines name them.

    Attributes:
        cwd_digest: the SHA-256 of `cwd`, if only this is known.
    """

    path: Path
    session: str | None
    cwd: str | None
    cwd_digest: str | None = None


class TranscriptFormat(Protocol):
    """The interface of the module `transcript` in an agent's folder."""

    def events(self, path: Path, since: EndReached = ...) -> Iterator[Event]:
        """Yield the events after the end of an earlier reading; several readings yield the same events as one."""

    def read_call(self, call: ToolCall) -> ToolUse:
        """Return the meaning of a tool call."""

    def read_result(self, name: str, result: ToolResult) -> ToolOutcome:
        """Return the meaning of the result of a call of the tool `name`."""

    def recognises(self, record: Record) -> bool:
        """Whether this is a record of a transcript of this agent, and of no other."""


def ignore_warning(_: str) -> None:
    """Ignore a warning."""


def find_files(folder: Path, *parts: str, warn: Warn = ignore_warning) -> Iterator[Path]:
    """Yield the paths below a folder that match a glob pattern, given as its parts; `**` matches any depth of folders.

    A folder that exists but cannot be listed causes a warning.
    """
    first, *rest = parts
    if first == "**":
        yield from find_files(folder, *rest, warn=warn)
    for path in _list_folder(folder, warn):
        if first == "**":
            if not path.is_symlink() and _is_folder(path):
                yield from find_files(path, *parts, warn=warn)
        elif fnmatchcase(path.name, first):
            if not rest:
                yield path
            elif _is_folder(path):
                yield from find_files(path, *rest, warn=warn)


def _list_folder(folder: Path, warn: Warn) -> list[Path]:
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
    """Return the regular files among `paths`, last modified first; those that no longer exist are left out."""
    changed = {}
    for path in paths:
        try:
            stat = path.stat()
            if S_ISREG(stat.st_mode):  # opening a pipe could block forever
                changed[path] = stat.st_mtime_ns
        except FileNotFoundError:
            continue
        except OSError as error:
            warn(f"cannot look at {show_path(path)}: {error.strerror}")
    return sorted(changed, key=lambda path: (changed[path], str(path)), reverse=True)


def read_first_records(path: Path) -> Iterator[Record]:
    """Yield the records in the first `HEAD_LINES` lines; nothing when the file cannot be read."""
    try:
        for _, record in JsonLines(path, most=HEAD_LINES):
            yield record
    except BatonError:
        return


def read_head(path: Path) -> str:
    """Return the first `HEAD_BYTES` bytes as text; an empty text when the file cannot be read."""
    try:
        with open_transcript(path) as file:
            return file.read(HEAD_BYTES).decode(errors="replace")
    except BatonError:
        return ""
