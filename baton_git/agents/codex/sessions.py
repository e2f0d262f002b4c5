"""Where Codex CLI keeps its transcripts. Its databases name them too, but carry schema numbers that change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

from baton_git.agents.codex.session_settings import session_start
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

_MAX_BESIDE = 40
"""Transcripts of the same day, the newest, of which it is asked who started them."""


def sessions(home: Path, environment: Mapping[str, str], warn: Warn = ignore_warning) -> Iterator[Transcript]:
    """The transcripts of sessions that no other session started, newest first; the archived ones are among them.

    Args:
        environment: `CODEX_HOME` says where, else `.codex` in `home`.
        warn: is told which folders could not be listed.
    """
    root = Path(environment.get("CODEX_HOME") or home / ".codex")
    places = (
        find_files(root, place, "**", "rollout-*.jsonl", warn=warn) for place in ("sessions", "archived_sessions")
    )
    for path in sort_newest_first(chain.from_iterable(places), warn):
        settings = (session_start(BEGINNING, record) for record in read_first_records(path))
        start = next((setting for setting in settings if setting), None)
        named = _ID.search(path.stem)
        if not (start and start.subagent):
            yield Transcript(path, (start and start.session) or (named[0] if named else None), start and start.cwd)


def subagents(path: Path, session: str) -> Iterator[Path]:
    """The transcripts of the threads that a session started, among those of its day, newest first."""
    for file in sort_newest_first(find_files(path.parent, "rollout-*.jsonl"))[:_MAX_BESIDE]:
        settings = (session_start(BEGINNING, record) for record in read_first_records(file))
        start = next((setting for setting in settings if setting), None)
        if start is not None and start.subagent and start.parent == session:
            yield file
