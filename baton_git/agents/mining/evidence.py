"""Find the commits, remotes and branches that a transcript names, as evidence of the repository it worked in.

The file is searched for a few patterns and not parsed, so that reading hundreds of files takes seconds.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from baton_git.agents.json_lines import open_transcript

MAX_COMMITS = 50
"""Maximum number of commits collected from a transcript; the first ones are kept."""
MAX_NAMES = 20
"""Maximum number of remotes, and of branches."""
MAX_SUBJECT = 60
"""Maximum number of bytes of a subject that are compared, from its beginning."""
_CHUNK = 8 << 20
_OVERLAP = 4096

# The line that `git commit` prints, inside a JSON string; the branch name has at most 200 bytes.
_MADE = re.compile(rb"\[[^\]\s\"\\\[]{1,200}(?: \(root-commit\))? ([0-9a-f]{7,64})\] ([^\"\\]{1,%d})" % MAX_SUBJECT)
_HEAD = re.compile(rb'"commit_hash": ?"([0-9a-f]{40}(?:[0-9a-f]{24})?)"')
_BRANCH = re.compile(rb'"gitBranch": ?"([^"\\]{1,200})"')
_BRIEF = re.compile(rb"=== baton ([A-Za-z0-9][A-Za-z0-9._/-]{0,99}) (?:\xc2\xb7|\\\\u00b7) (?:revision|session) ")
_PRINTED = re.compile(rb"\((?:fetch|push)\)|\b(?:To|From) [^ \\\"]*[:/]|get-url|remote\.[^ ]+\.url")
_REMOTE = re.compile(rb'"repository_url": ?"([^"\\]{1,1000})"')


class NamedCommit(NamedTuple):
    """A commit that a transcript names; `subject` is the beginning of its subject, empty if only the id is named."""

    hash: str
    subject: str


class Evidence(NamedTuple):
    """What a transcript names, anywhere in its text.

    Attributes:
        remotes: the remotes of the session's repository that the agent CLI recorded.
        namespaces: the namespaces whose brief the session received.
        has_remotes: whether git may have printed the address of a remote; see `git_use`.
    """

    commits: tuple[NamedCommit, ...] = ()
    remotes: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    has_remotes: bool = False


def find_evidence(path: Path) -> Evidence:
    """Return the evidence in a transcript. Raises as `open_transcript` does."""
    commits: dict[NamedCommit, None] = {}
    remotes: dict[str, None] = {}
    branches: dict[str, None] = {}
    namespaces: dict[str, None] = {}
    has_remotes = False
    before = b""
    with open_transcript(path) as file:
        while chunk := file.read(_CHUNK):
            text = before + chunk
            commits |= dict.fromkeys(NamedCommit(_decode(m[1]), _decode(m[2])) for m in _MADE.finditer(text))
            commits |= dict.fromkeys(NamedCommit(_decode(m[1]), "") for m in _HEAD.finditer(text))
            remotes |= dict.fromkeys(_decode(m[1]) for m in _REMOTE.finditer(text))
            branches |= dict.fromkeys(map(_decode, set(_BRANCH.findall(text))))
            namespaces |= dict.fromkeys(map(_decode, set(_BRIEF.findall(text))))
            has_remotes = has_remotes or _PRINTED.search(text) is not None
            if len(commits) >= MAX_COMMITS:
                break
            before = text[-_OVERLAP:]
    return Evidence(
        tuple(commits)[:MAX_COMMITS], tuple(remotes)[:MAX_NAMES], tuple(sorted(branches))[:MAX_NAMES],
        tuple(sorted(namespaces))[:MAX_NAMES], has_remotes,
    )  # fmt: skip


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "ignore")
