"""The transcripts that the agents' command lines keep at home, as far as a face names none."""

from __future__ import annotations

import os
from pathlib import Path

from baton_git.agents.registry import AGENTS
from baton_git.agents.transcripts import Transcript
from baton_git.core.errors import NotFound


def newest_transcript(agent: str | None) -> tuple[Path, str, str | None]:
    """The newest transcript of a session of this folder, else of any; whose it is, and where that worked."""
    here = os.path.realpath(Path.cwd())
    newest: list[tuple[bool, float, Transcript, str]] = []
    for name in [agent] if agent else AGENTS:
        for number, one in enumerate(AGENTS[name].transcripts.sessions(Path.home(), dict(os.environ))):
            is_here = one.cwd is not None and _is_around(here, os.path.realpath(one.cwd))
            if number == 0 or is_here:
                newest.append((is_here, one.path.stat().st_mtime, one, name))
            if is_here:
                break
    if not newest:
        whose = agent or "any agent"
        raise NotFound(
            "transcript of", whose, hint="give its path; baton session list shows the sessions that there are"
        )
    _, _, found, name = max(newest, key=lambda entry: entry[:2])
    return found.path, name, found.cwd


def _is_around(folder: str, other: str) -> bool:
    return os.path.commonpath([folder, other]) in (folder, other) and min(folder, other) != "/"
