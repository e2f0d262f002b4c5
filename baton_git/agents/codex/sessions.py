"""Find the transcripts of Codex CLI by file name; the schema of its databases, which list them, changes too often."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

from baton_git.agents.codex.session_settings import read_session_start
from baton_git.agents.events import BEGINNING
from baton_git.agents.transcripts import (
    Transcript,
    Warn,
    find_files,
    ignore_warning,
    read_first_records,
    sort_newest_first,
)

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")

_MAX_SIBLINGS = 40
"""Maximum number of transcripts of the same day that are checked for a parent session, newest first."""


def sessions(home: Path, environment: Mapping[str, str], warn: Warn = ignore_warning) -> Iterator[Transcript]:
    """Yield the transcripts of sessions that no other session started, newest first, including archived ones.

    Args:
        environment: `CODEX_HOME` replaces `.codex` in `home`.
        warn: called for each folder that could not be listed.
    """
    root = Path(environment.get("CODEX_HOME") or home / ".codex")
    paths = (
        find_files(root, folder, "**", "rollout-*.jsonl", warn=warn) for folder in ("sessions", "archived_sessions")
    )
    for path in sort_newest_first(chain.from_iterable(paths), warn):
        settings = (read_session_start(BEGINNING, record) for record in read_first_records(path))
        start = next((setting for setting in settings if setting), None)
        named = _ID.search(path.stem)
        if not (start and start.subagent):
            yield Transcript(path, (start and start.session) or (named[0] if named else None), start and start.cwd)


def subagents(path: Path, session: str) -> Iterator[Path]:
    """Yield the transcripts of the threads that a session started, newest first, among those of the same day."""
    for file in sort_newest_first(find_files(path.parent, "rollout-*.jsonl"))[:_MAX_SIBLINGS]:
        settings = (read_session_start(BEGINNING, record) for record in read_first_records(file))
        start = next((setting for setting in settings if setting), None)
        if start is not None and start.subagent and start.parent == session:
            yield file
