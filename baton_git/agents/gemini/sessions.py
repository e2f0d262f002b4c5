"""Where Gemini CLI keeps its transcripts. A file does not say where the session worked; the folder it lies in does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from baton_git.agents.fields import table_at
from baton_git.agents.json_lines import object_in
from baton_git.agents.transcripts import Transcript, Warn, find_files, ignore_warning, read_head, sort_newest_first

_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_ID = re.compile(r'"sessionId"\s*:\s*"([^"\\]+)"')


def sessions(home: Path, environment: Mapping[str, str], warn: Warn = ignore_warning) -> Iterator[Transcript]:
    """The transcripts of sessions that no other session started, newest first.

    Args:
        environment: `GEMINI_CLI_HOME` stands for `home`, below which everything is in `.gemini`.
        warn: is told which folders could not be listed.
    """
    root = Path(environment.get("GEMINI_CLI_HOME") or home) / ".gemini"
    names = _projects(root)
    for path in sort_newest_first(find_files(root, "tmp", "*", "chats", "session-*.json*", warn=warn), warn):
        if path.suffix in (".json", ".jsonl"):
            match = _ID.search(read_head(path))
            folder = path.parent.parent.name
            digest = folder if _DIGEST.match(folder) else None
            yield Transcript(path, match[1] if match else None, _worked_in(path, names), digest)


def subagents(path: Path, session: str) -> Iterator[Path]:
    """The transcripts of a session's subagents, in a folder of its name beside its own, newest first."""
    if "/" not in session and session not in (".", ".."):
        yield from sort_newest_first(find_files(path.parent / session, "*.json*"))


def folder_of(path: Path) -> str | None:
    """Where the session of a transcript worked, as far as what lies around the file says it."""
    return _worked_in(path, _projects(path.parent.parent.parent.parent))


def _worked_in(path: Path, names: Mapping[str, str]) -> str | None:
    folder = path.parent.parent
    return read_head(folder / ".project_root").strip() or names.get(folder.name)


def _projects(root: Path) -> dict[str, str]:
    """By the name of a folder in `tmp`, the project that it is for: a short name, or up to 0.2x a hash of its path."""
    known = table_at(object_in(read_head(root / "projects.json")) or {}, "projects")
    hashed = {sha256(path.encode()).hexdigest(): path for path in known}
    return hashed | {name: path for path, name in known.items() if isinstance(name, str)}
