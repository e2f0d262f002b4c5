"""Check that the program started by a hook works: it exists, is executable, has its interpreter, and loads."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from baton_git.git import child_process

SECONDS = 5.0
"""Time in seconds after which a program that has not loaded is reported as hanging."""


class ProgramHealth:
    """Checks programs, and runs each of them at most once.

    Args:
        own: command of the running baton, which is known to work.
    """

    def __init__(self, environment: Mapping[str, str], own: Sequence[str] = ()) -> None:
        self._environment = environment
        self._problems: dict[tuple[str, ...], str | None] = {tuple(own): None}

    def find_problem(self, words: Sequence[str], *, may_run: bool) -> str | None:
        """Return a description of what is wrong with a program, or None if no problem is found.

        Args:
            words: the command, beginning with the program.
            may_run: whether the program is trusted; programs named by a cloned repository must not be run.
        """
        path = shutil.which(words[0], path=self._environment.get("PATH"))
        if path is None:
            exists = Path(words[0]).is_absolute() and Path(words[0]).exists()
            return f"{words[0]} is not executable" if exists else f"{words[0]} is missing"
        interpreter = _interpreter(Path(path))
        if interpreter is not None and shutil.which(interpreter, path=self._environment.get("PATH")) is None:
            return f"{path} needs {interpreter}, which is missing"
        if not may_run:
            return None
        command = (path, *words[1:])
        if command not in self._problems:
            self._problems[command] = self._run_check(command)
        return self._problems[command]

    def _run_check(self, command: Sequence[str]) -> str | None:
        """Run a command that only loads the program; return a description of its failure, or None."""
        try:
            ended = child_process.run([*command, "hook", "--check"], self._environment, Path(), SECONDS)
        except OSError as error:
            return f"{command[0]} cannot be started: {error.strerror}"
        if ended is None:
            return f"{command[0]} hangs: no answer after {SECONDS:g} seconds"
        last = (ended.err.strip().splitlines() or ["no message"])[-1]
        return f"{command[0]} fails with exit status {ended.code}: {last[:200]}" if ended.code else None


def _interpreter(path: Path) -> str | None:
    """Return the interpreter in the first line of a script, or None if it has none or cannot be read."""
    try:
        with path.open("rb") as file:
            first = file.readline(512)
    except OSError:
        return None
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    if words[:1] == ["/usr/bin/env"]:
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else None
