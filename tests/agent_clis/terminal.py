"""A program in a terminal of a separate tmux: type text into it, and wait until the screen shows a text."""

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
    """Wait until `happened` returns true.

    Raises:
        AssertionError: it did not within `seconds`; the message contains the text of `what`.
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
    def is_over(self) -> bool:
        return self.tmux("list-panes", "-t", "cli", "-F", "#{pane_dead}").strip() != "0"

    def wait_for_text(self, text: str) -> None:
        """Wait until `text` is on the screen."""
        until(lambda: text in self.screen, lambda: f"no {text!r} on the screen:\n{self.screen}")

    def type(self, text: str, happened: Callable[[], bool]) -> None:
        """Type a line, and press Enter every 3 seconds until `happened` returns true.

        A CLI that takes the line for pasted text adds a line break at the first Enter. In all three CLIs, Enter on an
        empty line does nothing.
        """
        self.tmux("send-keys", "-t", "cli", "-l", text)
        self.wait_for_text(text)
        end = time.monotonic() + 40
        while not happened():
            assert time.monotonic() < end, f"{text!r} did nothing:\n{self.screen}"
            self.tmux("send-keys", "-t", "cli", "Enter")
            with suppress(AssertionError):
                until(happened, str, 3)

    def type_once(self, text: str) -> None:
        """Type a line and press Enter once."""
        self.tmux("send-keys", "-t", "cli", "-l", text)
        self.wait_for_text(text)
        time.sleep(0.5)
        self.keys("Enter")

    def keys(self, *names: str) -> None:
        self.tmux("send-keys", "-t", "cli", *names)

    def keys_in_turn(self, *names: str) -> None:
        """Press keys slowly, as a CLI takes keys that come at once for one sequence or for pasted text."""
        for name in names:
            self.keys(name)
            time.sleep(0.3)

    def wait_for_end(self) -> None:
        """Wait until the program has ended."""
        until(lambda: self.is_over, lambda: f"it still runs:\n{self.screen}")

    def kill(self) -> None:
        """Kill (`kill -9`) the program and its descendants."""
        for process in [*psutil.Process(self.pid).children(recursive=True), psutil.Process(self.pid)]:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        self.wait_for_end()


@contextmanager
def terminal(argv: list[str], cwd: Path, environment: dict[str, str], socket: Path) -> Iterator[Terminal]:
    """Run `argv` in a 120×40 terminal within the block, then kill its remaining processes."""
    shown = Terminal(socket, environment)
    start = ["start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";", "new-session", "-d", "-s", "cli"]
    shown.tmux("-f", os.devnull, *start, "-x", "120", "-y", "40", "-c", str(cwd), shlex.join(["exec", *argv]))
    try:
        yield shown
    finally:
        with suppress(psutil.NoSuchProcess, ValueError):
            shown.kill()
        shown.tmux("kill-server")
