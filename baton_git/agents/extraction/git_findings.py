"""Find commits and changed files that the transcript does not show, because a script, a program or a person made them.

A commit counts if the reflog of HEAD in the session's work tree shows that it was made there while the session ran;
fetched, pulled and checked-out commits do not count. A file counts if it is in such a commit, or if it is uncommitted
and was written while the session ran.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.agents.extraction.extracting import Extraction
from baton_git.core.times import parse_time_or_none, shift
from baton_git.git.session_repository import SessionRepository

MAX_COMMITS = 50
MAX_FILES = 60
"""Maximum numbers of commits (the newest are kept) and of files that are found."""
_MAX_MOVES = 300
"""Maximum number of reflog entries that are read, newest first."""
_AROUND = timedelta(seconds=60)
_COMMITTED = re.compile(r"(?:commit(?: \((?:initial|merge|amend|cherry-pick)\))?|cherry-pick|revert):")


class SessionSpan(NamedTuple):
    """When a session ran, in seconds since 1970. `end` is a minute after the last event, for late commands."""

    begin: float
    end: float

    def contains(self, seconds: float) -> bool:
        return self.begin <= seconds <= self.end


def find_span(extraction: Extraction) -> SessionSpan | None:
    """Return when a session ran, according to its transcript; None when the times are missing."""
    began = parse_time_or_none(extraction.started or "")
    ended = parse_time_or_none(extraction.ended or "")
    if began is None or ended is None:
        return None
    return SessionSpan(began.timestamp() // 1, shift(ended, _AROUND).timestamp())


def find_commits(repository: SessionRepository, span: SessionSpan) -> list[tuple[str, str]]:
    """Return the ids and subjects of the commits made in this work tree while the session ran, oldest first.

    Raises:
        GitUnavailable: git does not answer.
    """
    output = repository.run_git(
        "log", "--walk-reflogs", "--date=unix", "--format=%H%x00%gd%x00%gs%x00%s", f"--max-count={_MAX_MOVES}", "HEAD",
        "--",
    )  # fmt: skip
    made: dict[str, str] = {}
    before = ""
    for commit, seconds, action, subject in reversed(list(_parse_moves(output))):
        if span.contains(seconds) and _COMMITTED.match(action):
            if "(amend)" in action:
                made.pop(before, None)
            made[commit] = subject
        before = commit
    return list(made.items())[-MAX_COMMITS:]


def _parse_moves(output: str) -> Iterator[tuple[str, float, str, str]]:
    for line in output.splitlines():
        commit, _, rest = line.partition("\0")
        selector, _, rest = rest.partition("\0")
        action, _, subject = rest.partition("\0")
        seconds = selector.rpartition("{")[2].rstrip("}")
        if seconds.isdecimal():
            yield commit, float(seconds), action, subject


def list_committed_files(repository: SessionRepository, commits: Sequence[str]) -> list[str]:
    """Return the absolute paths of the files in these commits, starting with the last commit.

    Raises:
        GitUnavailable: git does not answer.
    """
    if not commits:
        return []
    output = repository.run_git(
        "log", "--no-walk=unsorted", "--stdin", "--format=", "--name-only", "-z", "--no-renames", "--no-ext-diff",
        "--no-textconv", stdin="\n".join(reversed(commits)),
    )  # fmt: skip
    top = repository.run_git("rev-parse", "--show-toplevel").rstrip("\n")
    names = dict.fromkeys(name.strip("\n") for name in output.split("\0") if name.strip("\n"))
    return [posixpath.join(top, name) for name in names][:MAX_FILES]


def list_written_files(folder: Path, status: str, span: SessionSpan) -> list[str]:
    """Return the absolute paths of the files in `git status --short` output that were written during the session."""
    paths = []
    for line in status.splitlines():
        name = line[3:].rpartition(" -> ")[2].strip('"')
        if name and not name.endswith("/") and "\\" not in name:
            path = folder / name
            try:
                is_new = span.contains(path.stat().st_mtime)
            except OSError:
                continue  # deleted since
            if is_new:
                paths.append(posixpath.normpath(str(path)))
    return paths[:MAX_FILES]


def add_found_files(facts: dict[str, Any], paths: Sequence[str]) -> None:
    """Add to `files_used` the files whose changes only git shows, after those that the transcript shows as changed."""
    uses: list[dict[str, Any]] = list(facts.get("files_used", ()))
    known = {use["path"]: use for use in uses}
    new = []
    for path in dict.fromkeys(paths):
        use = known.get(path)
        if use is None or not use.get("changes"):
            new.append({**(use or {}), "path": path, "changes": 1, "found": "git"})
    if new:
        paths_found = {use["path"] for use in new}
        rest = [use for use in uses if use["path"] not in paths_found]
        changed = [use for use in rest if use.get("changes")]
        facts["files_used"] = [*changed, *new, *(use for use in rest if not use.get("changes"))][:MAX_FILES]
