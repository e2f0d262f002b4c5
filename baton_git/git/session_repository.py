"""Run read-only git commands in the folder of a session; git starts no program that the repository configures."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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
        try:
            done = subprocess.run(  # noqa: S603  git, with baton's arguments
                ["git", *_ALWAYS, *arguments],  # noqa: S607  the git on the user's PATH
                cwd=self.folder, env=environment, input=stdin.encode("utf-8", "replace"), capture_output=True,
                timeout=self.seconds, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise GitUnavailable(
                f"git {arguments[0]} did not finish within {self.seconds:g} seconds", error.stdout
            ) from None
        except OSError as error:
            if not self.folder.is_dir():
                raise GitUnavailable(f"the folder {self.folder} is gone") from None
            raise GitUnavailable(f"cannot start git: {error.strerror}") from None
        if done.returncode != 0:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit status {done.returncode}"]
            raise GitUnavailable(f"git {arguments[0]}: {lines[0][:200]}", done.stdout)
        return done.stdout.decode("utf-8", "replace")
