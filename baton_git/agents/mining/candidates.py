"""List the transcripts that agent CLIs keep on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from baton_git.agents.registry import AGENTS
from baton_git.agents.transcripts import Transcript, Warn, ignore_warning

FileKey = tuple[str, int, int, int, int]


class Candidate(NamedTuple):
    """A transcript as it was when it was listed.

    Attributes:
        cwd: the folder in which its session started; None if unknown.
        cwd_digest: the SHA-256 of that folder's path, if only this is known.
    """

    agent: str
    path: Path
    session: str
    cwd: str | None
    cwd_digest: str | None
    device: int
    inode: int
    size: int
    mtime_ns: int

    @property
    def key(self) -> FileKey:
        """A key that changes when the file changes."""
        return (str(self.path), self.device, self.inode, self.size, self.mtime_ns)


def list_candidates(
    agents: Sequence[str], home: Path, environment: Mapping[str, str], warn: Warn = ignore_warning
) -> Iterator[Candidate]:
    """Yield the transcripts of sessions, those of each agent newest first.

    Transcripts of subagents are left out, because they are read together with the transcript of their session. So are
    symbolic links to files outside of the agent's folder. Folders may be links: users put `projects` on another disk.
    """
    for name in agents:
        root = os.path.realpath(AGENTS[name].hooks.find_user_folder(home, environment))
        for transcript in AGENTS[name].find_sessions(home, environment, warn):
            if not transcript.path.is_symlink() or _is_below(os.path.realpath(transcript.path), root):
                yield from _make_candidates(name, transcript)


def _make_candidates(agent: str, transcript: Transcript) -> Iterator[Candidate]:
    try:
        stat = transcript.path.stat()
    except OSError:  # removed meanwhile
        return
    if S_ISREG(stat.st_mode) and transcript.session:
        yield Candidate(
            agent, transcript.path, transcript.session, transcript.cwd, transcript.cwd_digest,
            stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns,
        )  # fmt: skip


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")
