"""Run read-only git commands in the folder of a session; git starts no program that the repository configures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from baton_git.git import child_process

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
