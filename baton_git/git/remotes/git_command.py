"""Run the git program for one repository, with a time limit."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from baton_git.core.child_environment import without_repository
from baton_git.core.errors import RemoteError
from baton_git.git import child_process
from baton_git.git.remotes.error_messages import mask_line
from baton_git.git.store import Repository

# --- the environment: the user's, without variables that select another repository or allow prompts

_SILENT: Final = {
    "LC_ALL": "C",  # git's messages are parsed
    "LANGUAGE": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # set but empty: git then runs neither core.askPass nor SSH_ASKPASS
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_PAGER": "cat",
    "BATON_HOOK": "1",  # disables baton's git hooks for this command
}


def for_git(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a git command that runs with `--git-dir` and must not prompt."""
    return without_repository(environment) | _SILENT


# --- the user's ssh, without prompts and with a connection timeout

_PUTTY: Final = {"plink", "tortoiseplink", "putty"}


class SshSettings(NamedTuple):
    """The settings `core.sshCommand` and `ssh.variant`; None if not set."""

    command: str | None = None
    variant: str | None = None


def command(environment: Mapping[str, str], settings: SshSettings, seconds: float) -> str:
    """Return the command that git would run (GIT_SSH_COMMAND, core.sshCommand, GIT_SSH, or ssh), with more options.

    The options disable prompts; for OpenSSH, they also limit the connection time to `seconds`. The variant `simple`
    gets no options.
    """
    program = environment.get("GIT_SSH")
    chosen = environment.get("GIT_SSH_COMMAND") or settings.command or (shlex.quote(program) if program else "ssh")
    variant = (environment.get("GIT_SSH_VARIANT") or settings.variant or "auto").lower()
    if variant == "auto":
        variant = _guess_variant(chosen)
    if variant in _PUTTY:
        return f"{chosen} -batch"
    if variant == "simple":
        return chosen
    return f"{chosen} -o BatchMode=yes -o ConnectTimeout={max(1, math.ceil(seconds))}"


def _guess_variant(line: str) -> str:
    """Guess the ssh variant from the program name, like git: plink and similar programs, else OpenSSH."""
    try:
        words = shlex.split(line)
    except ValueError:  # the shell reports the error
        return "ssh"
    name = PurePath(words[0].replace("\\", "/")).name.lower().removesuffix(".exe") if words else ""
    return name if name in _PUTTY else "ssh"


# --- git

_SETTINGS: Final = {
    "gc.auto": "0",
    "maintenance.auto": "false",
    "core.fsync": "all",
    "core.fsyncObjectFiles": "true",  # the same for git before 2.36; later versions only print a warning
    "fetch.output": "full",  # the format that `_fetched_refs` parses
    "advice.fetchShowForcedUpdates": "false",
}
_IN_A_VIEW: Final = {
    "core.fsync": "objects",  # the refs of a view are temporary
    "core.hooksPath": os.devnull,  # hooks must run in the repository only
}
_LOCAL_SECONDS: Final = 10.0

Progress = Callable[[str], None]
"""Receives progress messages of git and the server, one line at a time, without control characters."""


@dataclass(frozen=True)
class RemoteGit:
    """The git program, run with `--git-dir` for `repository`, so that the current directory does not matter.

    Attributes:
        program: path of git.
        view: a temporary git directory to use instead of the repository's own (see `quarantine`).
        is_quarantine: new objects are stored in the view.
        extra: additional environment variables for git.
    """

    program: str
    repository: Repository
    environment: Mapping[str, str] = field(repr=False)
    view: Path | None = None
    is_quarantine: bool = False
    extra: Mapping[str, str] = field(default_factory=dict)

    def ask(self, *words: str) -> str | None:
        """Run a command that only reads the repository; return its output, or None if it fails.

        Raises:
            RemoteError: git cannot be started, or did not finish in time.
        """
        done = self._run(words, for_git(self.environment), _LOCAL_SECONDS, None)
        if done is None:
            raise RemoteError(f"git {words[0]} did not finish in time", hint="try it by hand in that repository")
        return done.out if done.code == 0 else None

    def run_remote(
        self,
        words: tuple[str, ...],
        settings: Mapping[str, str],
        quiet_ssh: SshSettings,
        seconds: float,
        progress: Progress | None,
        stop: Callable[[], bool] | None = None,
        stdin: bytes = b"",
    ) -> child_process.ChildResult | None:
        """Run a command that contacts a remote; return None if it was killed after `seconds` or by `stop`.

        Raises:
            RemoteError: git cannot be started.
        """
        line = command(self.environment, quiet_ssh, seconds)
        environment = for_git(self.environment) | {"GIT_SSH_COMMAND": line}
        own = _SETTINGS if self.view is None else _SETTINGS | _IN_A_VIEW
        options = [part for name, value in {**own, **settings}.items() for part in ("-c", f"{name}={value}")]
        return self._run(
            (*options, *words), environment, seconds, progress and _by_line(progress), stdin=stdin, stop=stop
        )

    def run_local(self, words: tuple[str, ...], stdin: bytes, seconds: float) -> child_process.ChildResult | None:
        """Run a command on local objects with the input `stdin`; return None if it was killed after `seconds`.

        Raises:
            RemoteError: git cannot be started.
        """
        return self._run(words, for_git(self.environment), seconds, None, stdin=stdin)

    def _run(
        self,
        words: tuple[str, ...],
        environment: Mapping[str, str],
        seconds: float,
        on_stderr: child_process.OnChunk | None,
        *,
        stdin: bytes = b"",
        stop: Callable[[], bool] | None = None,
    ) -> child_process.ChildResult | None:
        common = self.repository.common_dir
        top = self.repository.work_tree  # relative paths of remotes begin here
        folder = top if top is not None and top.is_dir() else common
        if self.view is not None:
            shared = {} if self.is_quarantine else {"GIT_OBJECT_DIRECTORY": str(common / "objects")}
            environment = {**environment, **shared, "GIT_WORK_TREE": str(folder)}
        try:
            environment = {**environment, **self.extra}
            argv = [self.program, f"--git-dir={self.view or common}", *words]
            return child_process.run(argv, environment, folder, seconds, on_stderr, stdin=stdin, stop=stop)
        except OSError as error:
            raise RemoteError(f"cannot run {self.program}: {error.strerror}", hint="check that git works") from error


def _by_line(progress: Progress) -> Callable[[bytes], None]:
    """Return a function that splits chunks into lines. A line that git will overwrite ends with a carriage return."""
    rest = b""

    def receive(chunk: bytes) -> None:
        nonlocal rest
        *lines, rest = re.split(rb"[\r\n]+", rest + chunk)
        for line in lines:
            if text := mask_line(line.decode("utf-8", "replace")):
                progress(text)

    return receive
