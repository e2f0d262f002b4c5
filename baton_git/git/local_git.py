"""Run the git program in one repository."""

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
