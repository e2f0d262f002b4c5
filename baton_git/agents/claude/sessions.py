"""Find the transcripts of Claude Code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from baton_git.agents.transcripts import (
    Transcript,
    Warn,
    find_files,
    ignore_warning,
    read_first_records,
    sort_newest_first,
)

_MAX_SIBLINGS = 40
"""Maximum number of subagent transcripts in the session's folder that are checked for their session, newest first."""


def sessions(home: Path, environment: Mapping[str, str], warn: Warn = ignore_warning) -> Iterator[Transcript]:
    """Yield the transcripts of sessions, newest first; each file is read only when it is yielded.

    Args:
        environment: `CLAUDE_CONFIG_DIR` replaces `.claude` in `home`.
        warn: called for each folder that could not be listed.
    """
    root = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    # Before 2.1, the transcripts of subagents were in the same folder as those of the sessions; now they are deeper.
    paths = find_files(root, "projects", "*", "*.jsonl", warn=warn)
    for path in sort_newest_first((path for path in paths if not path.name.startswith("agent-")), warn):
        yield Transcript(path, path.stem, _read_cwd(path))


def _read_cwd(path: Path) -> str | None:
    """Return the working directory from the first records; None if they do not name it.

    The name of the transcript's folder is ambiguous: `-` stands for every character except letters and digits.
    """
    folders = (record.get("cwd") for record in read_first_records(path))
    return next((cwd for cwd in folders if isinstance(cwd, str)), None)


def subagents(path: Path, session: str) -> Iterator[Path]:
    """Yield the transcripts of a session's subagents, newest first.

    They are in a folder named after the session or, from 2.0.50 to 2.0.76, in the same folder as its transcript.
    """
    beside = sort_newest_first(find_files(path.parent, "agent-*.jsonl"))[:_MAX_SIBLINGS]
    within = find_files(path.with_suffix(""), "subagents", "**", "*.jsonl")
    yield from sort_newest_first([*within, *(file for file in beside if _belongs_to(file, session))])


def _belongs_to(path: Path, session: str) -> bool:
    return any(record.get("sessionId") == session for record in read_first_records(path))
