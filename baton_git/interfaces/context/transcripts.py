"""Find the newest transcript that the agents' command lines keep at home."""

from __future__ import annotations

import os
from pathlib import Path

from baton_git.agents.registry import AGENTS
from baton_git.agents.transcripts import Transcript
from baton_git.core.errors import NotFound


def newest_transcript(agent: str | None) -> tuple[Path, str, str | None]:
    """Return the newest transcript of a session of this folder, else of any; its agent, and where that worked."""
    here = os.path.realpath(Path.cwd())
    newest: list[tuple[bool, float, Transcript, str]] = []
    for name in [agent] if agent else AGENTS:
        for number, transcript in enumerate(AGENTS[name].transcripts.sessions(Path.home(), dict(os.environ))):
            is_here = transcript.cwd is not None and _is_around(here, os.path.realpath(transcript.cwd))
            if number == 0 or is_here:
                newest.append((is_here, transcript.path.stat().st_mtime, transcript, name))
            if is_here:
                break
    if not newest:
        whose = agent or "any agent"
        raise NotFound(
            "transcript of", whose, hint="give its path; baton session list shows the sessions that there are"
        )
    _, _, transcript, name = max(newest, key=lambda entry: entry[:2])
    return transcript.path, name, transcript.cwd


def _is_around(folder: str, cwd: str) -> bool:
    return os.path.commonpath([folder, cwd]) in (folder, cwd) and min(folder, cwd) != "/"
