"""Run the git program in one repository: with its settings, or so that nothing of it is run (`SessionRepository`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from baton_git.core.errors import StoreError
from baton_git.git import child_process
from baton_git.git.files.durable_files import find_hint

_VERSION = re.compile(r"git version (\d+)\.(\d+)")


@dataclass(frozen=True)
class LocalGit:
    """The git program in `folder`, the top of a work tree or a bare repository.

    `environment` must not have variables that point git to another repository.
    """

    folder: Path
    environment: Mapping[str, str]

    @cached_property
    def version(self) -> tuple[int, int]:
        """Major and minor version, such as `(2, 39)`.

        Raises:
            StoreError: git cannot be started, or its version cannot be parsed.
        """
        printed = self.ask("version") or ""
        match = _VERSION.match(printed)
        if match is None:
            raise StoreError(f"cannot parse the version of git: {printed[:60]!r}", hint="try: git version")
        return int(match[1]), int(match[2])

    def ask(self, *arguments: str) -> str | None:
        """Run a git command and return its output without final line breaks, or None if it fails.

        Raises:
            StoreError: git cannot be started, or did not finish in time.
        """
        done = self._run(arguments)
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n") if done.code == 0 else None

    def read(self, *arguments: str, given: bytes = b"", seconds: float = 30) -> str:
        """Run a git command that must succeed, with `given` as its input, and return its output.

        Raises:
            StoreError: the command fails, cannot be started, or did not finish in time.
        """
        done = self._run(arguments, given, seconds)
        if done.code != 0:
            lines = done.err.strip().splitlines() or ["it failed without a message"]
            raise StoreError(f"git {arguments[0]}: {lines[-1]}", hint=find_hint(lines[-1]))
        return done.stdout.decode("utf-8", "surrogateescape")

    def do(self, *arguments: str) -> None:
        """Run a git command that changes something.

        Raises:
            StoreError: the command fails, cannot be started, or did not finish in time.
        """
        self.read(*arguments)

    def _run(self, arguments: tuple[str, ...], given: bytes = b"", seconds: float = 30) -> child_process.ChildResult:
        argv = ["git", *arguments]
        try:
            done = child_process.run(
                argv, self.environment, self.folder, seconds, stdin=given, most_bytes=child_process.ALL
            )
        except OSError as error:
            raise StoreError(f"cannot start git: {error.strerror}", hint="install git") from error
        if done is None:
            raise StoreError(f"git {arguments[0]} did not finish within {seconds:g} seconds")
        return done


# --- read-only commands in the folder of a session; git starts no program that the repository configures

TIMEOUT = 5.0
"""Maximum time in seconds for one git command."""

_REPOSITORY_VARIABLES = re.compile(
    r"GIT_(?:DIR|WORK_TREE|COMMON_DIR|INDEX_FILE|INDEX_VERSION|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|NAMESPACE"
    r"|PREFIX|GRAFT_FILE|SHALLOW_FILE|QUARANTINE_PATH|REFLOG_ACTION|IMPLICIT_WORK_TREE|INTERNAL_\w+|REPLACE_REF_BASE"
    r"|NO_REPLACE_OBJECTS|CONFIG|TRACE\w*|EXTERNAL_DIFF|PUSH_OPTION_\w+)\Z"
)
"""Variables that select another repository, or change what git prints or runs; git does not receive them."""
_QUIET = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",  # for versions of git that ignore GIT_NO_LAZY_FETCH: no transport is allowed
    "GIT_PAGER": "cat",
    "BATON_HOOK": "1",
}
_ALWAYS = ("--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")


class GitUnavailable(Exception):
    """A git command did not start, failed, or took too long; the message has the reason.

    Attributes:
        output: what git had printed before.
    """

    def __init__(self, message: str, output: bytes | None = None) -> None:
        super().__init__(message)
        self.output = (output or b"").decode("utf-8", "replace")


@dataclass(frozen=True)
class SessionRepository:
    """A folder, the environment for git, and the time limit for one command in seconds."""

    folder: Path
    environment: Mapping[str, str]
    seconds: float = TIMEOUT

    def run_git(self, *arguments: str, stdin: str = "") -> str:
        """Run a git command with the text `stdin` as its input, and return its output.

        Raises:
            GitUnavailable: git does not start, fails, or takes too long.
        """
        environment = {
            name: text for name, text in self.environment.items() if not _REPOSITORY_VARIABLES.match(name)
        } | _QUIET
        argv, given, printed = ["git", *_ALWAYS, *arguments], stdin.encode("utf-8", "replace"), bytearray()
        try:
            done = child_process.run(
                argv, environment, self.folder, self.seconds, on_stdout=printed.extend, stdin=given, most_bytes=1 << 16
            )
        except OSError as error:
            if not self.folder.is_dir():
                raise GitUnavailable(f"the folder {self.folder} is gone") from None
            raise GitUnavailable(f"cannot start git: {error.strerror}") from None
        if done is None:
            raise GitUnavailable(f"git {arguments[0]} did not finish within {self.seconds:g} seconds", bytes(printed))
        if done.code != 0:
            lines = done.err.strip().splitlines() or [f"exit status {done.code}"]
            raise GitUnavailable(f"git {arguments[0]}: {lines[0][:200]}", bytes(printed))
        return printed.decode("utf-8", "replace")
