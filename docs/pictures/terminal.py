"""Draw what a terminal shows while somebody types: a real shell in tmux, as an SVG without web fonts."""

from __future__ import annotations

import io
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

FORMAT = re.sub(r"@font-face \{\{.*?\n\s*\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
WIDTH = 104


class Terminal:
    """A shell in tmux."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.socket = str(folder.parent / "tmux")
        self.environment = {**environment, "TERM": "xterm-256color", "BATON_PAGER": "cat"}
        settings = folder.parent / "bashrc"
        settings.write_text("PS1='$ '\n")
        self.tmux("new-session", "-d", "-x", str(WIDTH), "-y", "60", "-c", str(folder), f"bash --rcfile {settings}")
        self.wait_for("$ ")

    def tmux(self, *words: str) -> str:
        argv = ["tmux", "-S", self.socket, "-f", "/dev/null", *words]
        return subprocess.run(argv, env=self.environment, check=True, capture_output=True, text=True).stdout

    def screen(self) -> str:
        """Return the lines so far, with the escape sequences of their colours."""
        return self.tmux("capture-pane", "-p", "-e", "-S", "-").rstrip()

    def type(self, text: str, shows: str = "") -> None:
        """Type a line, and wait until the screen ends with `shows` or, without it, with a new prompt."""
        self.tmux("send-keys", "-l", text)
        self.tmux("send-keys", "Enter")
        self.wait_for(shows or "$", after=text)

    def wait_for(self, shows: str, after: str = "") -> None:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            time.sleep(0.3)
            lines = self.tmux("capture-pane", "-p", "-S", "-").rstrip().splitlines() or [""]
            if lines[-1].strip().endswith(shows.strip()) and not lines[-1].endswith(after or "\0"):
                return
        raise AssertionError(f"the screen does not come to show {shows!r}:\n{self.screen()}")

    def save(self, file: Path, title: str) -> None:
        """Draw the screen without the last prompt, and clear it."""
        screen = self.screen().removesuffix("$").rstrip()
        console = Console(width=WIDTH, record=True, file=io.StringIO())
        console.print(Text.from_ansi(screen))
        svg = console.export_svg(title=title, code_format=FORMAT, unique_id=file.stem)
        file.write_text(svg + "\n", encoding="utf-8")
        print(f"{file.name}: {file.stat().st_size} bytes")
        self.tmux("send-keys", "clear", "Enter")
        time.sleep(0.5)
        self.tmux("clear-history")


@contextmanager
def open_terminal(folder: Path, environment: Mapping[str, str]) -> Iterator[Terminal]:
    terminal = Terminal(folder, environment)
    try:
        yield terminal
    finally:
        terminal.tmux("kill-server")
