"""A program in a terminal: a tmux of its own, text typed into it, and the screen read until something stands there."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil


def until(happened: Callable[[], bool], what: Callable[[], str], seconds: float = 40) -> None:
    """Waits until `happened`.

    Raises:
        AssertionError: not within `seconds`; it says `what`.
    """
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, what()
        time.sleep(0.05)


@dataclass(frozen=True)
class Terminal:
    """A program that runs in a terminal. `socket` is that of its tmux."""

    socket: Path
    environment: dict[str, str]

    def tmux(self, *words: str) -> str:
        argv = ["tmux", "-S", str(self.socket), *words]
        return subprocess.run(argv, env=self.environment, capture_output=True, text=True, timeout=20).stdout

    @property
    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", "cli")

    @property
    def pid(self) -> int:
        return int(self.tmux("list-panes", "-t", "cli", "-F", "#{pane_pid}"))

    @property
    def over(self) -> bool:
        return self.tmux("list-panes", "-t", "cli", "-F", "#{pane_dead}").strip() != "0"

    def shows(self, text: str) -> None:
        """Waits until `text` is on the screen."""
        until(lambda: text in self.screen, lambda: f"no {text!r} on the screen:\n{self.screen}")

    def type(self, text: str, happened: Callable[[], bool]) -> None:
        """Types a line and sends it, until what it is for `happened`.

        Enter is pressed again now and then: a CLI that takes the line for pasted makes a new line of the first one, and
        an empty line does nothing in any of them.
        """
        self.tmux("send-keys", "-t", "cli", "-l", text)
        self.shows(text)
        end = time.monotonic() + 40
        while not happened():
            assert time.monotonic() < end, f"{text!r} did nothing:\n{self.screen}"
            self.tmux("send-keys", "-t", "cli", "Enter")
            with suppress(AssertionError):
                until(happened, str, 3)

    def keys(self, *names: str) -> None:
        self.tmux("send-keys", "-t", "cli", *names)

    def ended(self) -> None:
        """Waits until the program has ended."""
        until(lambda: self.over, lambda: f"it still runs:\n{self.screen}")

    def kill(self) -> None:
        """`kill -9` of the program and of all that it started."""
        for one in [*psutil.Process(self.pid).children(recursive=True), psutil.Process(self.pid)]:
            with suppress(ProcessLookupError):
                os.kill(one.pid, signal.SIGKILL)
        self.ended()


@contextmanager
def terminal(argv: list[str], cwd: Path, environment: dict[str, str], socket: Path) -> Iterator[Terminal]:
    """Runs `argv` in a terminal of 120×40 for the time of the `with`; then kills what is left of it."""
    here = Terminal(socket, environment)
    start = ["start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";", "new-session", "-d", "-s", "cli"]
    here.tmux("-f", os.devnull, *start, "-x", "120", "-y", "40", "-c", str(cwd), shlex.join(["exec", *argv]))
    try:
        yield here
    finally:
        with suppress(psutil.NoSuchProcess, ValueError):
            here.kill()
        here.tmux("kill-server")
