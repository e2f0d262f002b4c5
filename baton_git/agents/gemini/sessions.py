"""Find the transcripts of Gemini CLI. A transcript does not name the session's folder; files near it do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from baton_git.agents.fields import table_at
from baton_git.agents.json_lines import parse_object
from baton_git.agents.transcripts import Transcript, Warn, find_files, ignore_warning, read_head, sort_newest_first

_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_ID = re.compile(r'"sessionId"\s*:\s*"([^"\\]+)"')


def sessions(home: Path, environment: Mapping[str, str], warn: Warn = ignore_warning) -> Iterator[Transcript]:
    """Yield the transcripts of sessions that no other session started, newest first.

    Args:
        environment: `GEMINI_CLI_HOME` replaces `home`; the transcripts are below its folder `.gemini`.
        warn: called for each folder that could not be listed.
    """
    root = Path(environment.get("GEMINI_CLI_HOME") or home) / ".gemini"
    names = _read_projects(root)
    for path in sort_newest_first(find_files(root, "tmp", "*", "chats", "session-*.json*", warn=warn), warn):
        if path.suffix in (".json", ".jsonl"):
            match = _ID.search(read_head(path))
            folder = path.parent.parent.name
            digest = folder if _DIGEST.match(folder) else None
            yield Transcript(path, match[1] if match else None, _read_project_root(path, names), digest)


def subagents(path: Path, session: str) -> Iterator[Path]:
    """Yield the transcripts of a session's subagents, in the folder named after the session, newest first."""
    if "/" not in session and session not in (".", ".."):
        yield from sort_newest_first(find_files(path.parent / session, "*.json*"))


def find_session_folder(path: Path) -> str | None:
    """Return the folder that the session of a transcript worked in; None if the files around it do not name it."""
    return _read_project_root(path, _read_projects(path.parent.parent.parent.parent))


def _read_project_root(path: Path, names: Mapping[str, str]) -> str | None:
    folder = path.parent.parent
    return read_head(folder / ".project_root").strip() or names.get(folder.name)


def _read_projects(root: Path) -> dict[str, str]:
    """Return the project paths, by the names of their folders in `tmp`.

    In Gemini CLI up to 0.2x, these names are SHA-256 digests of the paths; since then, they are short names.
    """
    known = table_at(parse_object(read_head(root / "projects.json")) or {}, "projects")
    hashed = {sha256(path.encode()).hexdigest(): path for path in known}
    return hashed | {name: path for path, name in known.items() if isinstance(name, str)}
