"""Start Gemini CLI with `gemini -p PROMPT`, or in a window with `gemini -i PROMPT`, and find its transcripts.

It reports tokens, but no cost. Its transcripts are `~/.gemini/tmp/<project>/chats/session-*.json`, since 0.37 or later
`.jsonl`. A transcript does not name the session's folder; files near it do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from baton_git.agents.json_lines import parse_object, table_at, text_at
from baton_git.agents.launcher import (
    Launch,
    NewSession,
    SessionReport,
    escape_argument,
    read_objects,
    read_token_count,
)
from baton_git.agents.transcripts import Transcript, Warn, find_files, ignore_warning, read_head, sort_newest_first

_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_ID = re.compile(r'"sessionId"\s*:\s*"([^"\\]+)"')


def launch(start: NewSession) -> Launch:
    """Return the command. Without a terminal, the system prompt is its standard input, which Gemini puts before."""
    if start.in_window:
        argv = (start.executable, "-i", escape_argument(start.whole_prompt), "--session-id", start.session)
        return Launch((*argv, *start.extra), session=start.session)
    argv = (start.executable, "-p", escape_argument(start.prompt), "--session-id", start.session)
    return Launch((*argv, "-o", "json", *start.extra), start.system_prompt or None, start.session)


def report(output: str) -> SessionReport:
    """Parse the one object of the output, which may follow lines of other text; without one, all of it is the reply."""
    start = output.find("\n{") + 1 if not output.startswith("{") else 0
    for item in read_objects(output[start:]):
        if "response" in item:
            models = table_at(table_at(item, "stats"), "models")
            counted = [table_at(model, "tokens") for model in models.values() if isinstance(model, dict)]
            tokens = [read_token_count(counts.get("total")) for counts in counted if counts]
            session = text_at(item, "session_id") or None
            return SessionReport(text_at(item, "response") or "", session, None, sum(tokens) if tokens else None)
    return SessionReport(output.strip())


def sessions(folder: Path, warn: Warn = ignore_warning) -> Iterator[Transcript]:
    """Yield the transcripts of sessions that no other session started, newest first."""
    names = _read_projects(folder)
    for path in sort_newest_first(find_files(folder, "tmp", "*", "chats", "session-*.json*", warn=warn), warn):
        if path.suffix in (".json", ".jsonl"):
            match = _ID.search(read_head(path))
            project = path.parent.parent.name
            digest = project if _DIGEST.match(project) else None
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
