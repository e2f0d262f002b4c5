"""Find what a session's own tools did in its folder: the commits they made, the remotes git printed, the files.

Unlike a search for patterns in the text, this does not count what a person or the model quotes, nor what a command did
in another repository.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import NamedTuple

from baton_git.agents.events import SessionContext, ToolCall, ToolResult
from baton_git.agents.extraction.commits import find_git_work, find_made_commits, is_elsewhere, parse_git_words
from baton_git.agents.extraction.shell import parse_script
from baton_git.agents.mining.evidence import MAX_COMMITS, MAX_NAMES, MAX_SUBJECT, NamedCommit
from baton_git.agents.registry import AGENTS
from baton_git.agents.transcripts import TranscriptFormat

MAX_FILES = 60
"""Maximum number of files of a session that are compared with those of the repository; the first ones are kept."""

_LISTED = re.compile(r"^\S+\t(\S+) \((?:fetch|push)\)", re.MULTILINE)
_TRANSFERRED = re.compile(r"^(?:To|From) (\S+)\r?$", re.MULTILINE)
_ALONE = re.compile(r"\A\s*((?:[a-z0-9+.-]+://|[\w.-]+@[\w.-]+:)\S+)\s*\Z")
_PATTERNS = {
    "remote": (_LISTED, _ALONE), "config": (_ALONE,), "push": (_TRANSFERRED,), "fetch": (_TRANSFERRED,),
    "pull": (_TRANSFERRED,),
}  # fmt: skip
"""What the subcommands of git print when they name a remote of the repository."""


class GitUse(NamedTuple):
    """What a session did in its folder and below.

    Attributes:
        commits: the commits that its commands made in the folder and whose ids git printed.
        remotes: the addresses of the repository's remotes that git printed there.
        inner_commits, inner_remotes: those of folders below; these may be submodules or other repositories.
        files: the paths, relative to the folder, of files that its tools read or changed.
        branches: the branches on which it worked.
    """

    commits: tuple[NamedCommit, ...] = ()
    remotes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    inner_commits: tuple[NamedCommit, ...] = ()
    inner_remotes: tuple[str, ...] = ()


def read_git_use(agent: str, path: Path, folder: str | None) -> GitUse:
    """Return what a session did in its folder.

    Args:
        folder: the folder of the session, for a transcript that does not name it; then its commits count only if its
            tools used absolute paths in the folder.

    Raises as the reader of its transcript does.
    """
    reader = _Reader(AGENTS[agent].transcript, folder)
    for event in reader.cli.events(path):
        match event:
            case SessionContext():
                reader.add_context(event)
            case ToolCall(side=False):
                reader.add_call(event)
            case ToolResult(side=False):
                reader.add_result(event)
            case _:
                pass
    commits = tuple(reader.commits)[:MAX_COMMITS] if reader.is_located else ()
    return GitUse(
        commits, tuple(reader.remotes)[:MAX_NAMES], tuple(reader.files)[:MAX_FILES], tuple(reader.branches)[:MAX_NAMES],
        tuple(reader.inner_commits)[:MAX_COMMITS], tuple(reader.inner_remotes)[:MAX_NAMES],
    )  # fmt: skip


class _Reader:
    """What a session did in its folder, according to the events so far."""

    def __init__(self, cli: TranscriptFormat, folder: str | None) -> None:
        self.cli = cli
        self.is_located = False
        self.commits: dict[NamedCommit, None] = {}
        self.remotes: dict[str, None] = {}
        self.inner_commits: dict[NamedCommit, None] = {}
        self.inner_remotes: dict[str, None] = {}
        self.files: dict[str, None] = {}
        self.branches: dict[str, None] = {}
        self._home, self._cwd, self._names_folder = folder, folder, False
        self._created: list[str] = []
        self._calls: dict[str, tuple[str, str, str | None]] = {}

    def add_context(self, event: SessionContext) -> None:
        if event.cwd and not self._names_folder:
            self._home = event.cwd
            self.is_located = self._names_folder = True
        self._cwd = event.cwd or self._cwd
        if event.branch and self._is_inside(self._cwd):
            self.branches[event.branch] = None

    def add_call(self, event: ToolCall) -> None:
        use = self.cli.read_call(event)
        if use.command is not None:
            folder = posixpath.join(self._cwd or "", use.folder) if use.folder else self._cwd
            self._calls[event.id] = (event.name, use.command, folder)
        for name in (*use.files, *use.reads):
            path = posixpath.normpath(posixpath.join(self._cwd or "", name))
            if self._home is not None and path.startswith(self._home.rstrip("/") + "/"):
                self.files[posixpath.relpath(path, self._home)] = None
                self.is_located = self.is_located or name.startswith("/")

    def add_result(self, event: ToolResult) -> None:
        name, command, folder = self._calls.pop(event.id, ("", "", None))
        if "git" not in command or self.cli.read_result(name, event).failed:
            return
        work = find_git_work(command, folder)
        self._created += [path for path in work.repositories if path and path != self._home]
        for made in find_made_commits(work, event.text):
            if made.hash and not is_elsewhere(work, made.commit_command, self._home, self._created):
                subject = made.subject.encode()[:MAX_SUBJECT].decode("utf-8", "ignore")
                is_home = made.commit_command.folder in (None, self._home)
                (self.commits if is_home else self.inner_commits)[NamedCommit(made.hash, subject)] = None
        self._add_remotes(command, folder, event.text)

    def _add_remotes(self, command: str, folder: str | None, output: str) -> None:
        """Add the addresses that the output of a script names, if all of its commands about remotes concern the
        session's folder or those below, and name no address themselves."""
        verbs: set[str] = set()
        is_home = True
        for script_command in parse_script(command, folder).commands:
            if script_command.words[0].rpartition("/")[2] != "git":
                continue
            verb, rest, where = parse_git_words(script_command)
            if verb == "clone":
                return
            if verb in _PATTERNS:
                if not self._is_inside(where) or any("/" in word and ":" in word for word in rest):
                    return
                verbs.add(verb)
                is_home = is_home and where is not None and posixpath.normpath(where) == self._home
        for pattern in {pattern for verb in verbs for pattern in _PATTERNS[verb]}:
            found = dict.fromkeys(match[1] for match in pattern.finditer(output))
            (self.remotes if is_home else self.inner_remotes).update(found)

    def _is_inside(self, folder: str | None) -> bool:
        home = self._home
        if folder is None or home is None:
            return False
        folder = posixpath.normpath(folder)
        inside = folder == home or folder.startswith(home.rstrip("/") + "/")
        return inside and not any(folder == path or folder.startswith(path + "/") for path in self._created)
