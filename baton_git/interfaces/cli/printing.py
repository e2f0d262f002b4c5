"""Print and prompt. All text is made safe for a terminal: control characters cannot reach it.

`tests/test_layers.py` checks that no other module of this folder prints or prompts.
"""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from baton_git.core.output import Styled, json_text, terminal, terminal_line

DEFAULT_WIDTH = 80
"""The width of a terminal that does not tell its width, in columns."""


def shows_styles() -> bool:
    """Return whether stdout is a terminal that shows styles; NO_COLOR (https://no-color.org) disables them."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def terminal_width() -> int | None:
    """Return the width of the terminal in columns; None if stdout is not a terminal."""
    if not sys.stdout.isatty():
        return None
    import shutil  # slow to import, and needed only at a terminal

    return shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns


def write(text: str) -> None:
    """Print text to stdout. Styles are kept only in `Styled` text, and only if stdout shows styles."""
    shown = terminal(text)
    click.echo(shown if shows_styles() else click.unstyle(shown))


def write_json(data: Any, *, indent: int | None = 2) -> None:
    """Print data to stdout as JSON."""
    click.echo(json_text(data, indent))


def tell(*lines: str) -> None:
    """Print messages to stderr, one per line."""
    for line in lines:
        is_plain = isinstance(line, Styled) and not shows_styles()
        click.echo(click.unstyle(line) if is_plain else terminal(line), err=True)


def tell_usage(error: click.ClickException) -> None:
    """Print click's message about wrong arguments to stderr."""
    text = io.StringIO()
    error.show(file=text)
    tell(text.getvalue().rstrip("\n"))
    if isinstance(error, click.MissingParameter) and (example := _find_example(error)):
        tell(f"For example: {example}")


def _find_example(error: click.UsageError) -> str:
    """Return the first example in the help of the command that an error is about; empty if there is none."""
    about = error.ctx.command.help if error.ctx is not None else None
    return next((line.strip() for line in (about or "").splitlines() if line.strip().startswith("baton ")), "")


def ask(question: str) -> str:
    """Prompt for a line of text and return it; empty if nothing is typed."""
    return str(click.prompt(terminal_line(question), default="", show_default=False, err=True))


def choose(question: str, answers: Sequence[str]) -> str:
    """Prompt for one of `answers`, and return it."""
    return str(click.prompt(terminal_line(question), type=click.Choice(list(answers)), err=True))


def agrees(question: str, *, default: bool = False) -> bool:
    """Ask a yes-or-no question; return whether the answer is yes. Enter alone means `default`."""
    return click.confirm(terminal_line(question), default=default, err=True)


PROGRESS_AFTER = 0.5
"""Seconds before progress is shown."""


class ProgressLine:
    """A progress line on stderr, for work that takes long. It is shown only on a terminal, and cleared at the end."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._since = time.monotonic()
        self._width = 0
        self.is_shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def advance(self, done: int, whole: int) -> None:
        """Show how much of the work is done; clear the line when all of it is.

        Args:
            whole: the amount of work in total; 0 if unknown.
        """
        share = f" {100 * done // whole}%" if whole else ""
        self.show(f"{self._label}: {done:,} of {whole:,}{share}")
        if done >= whole:
            self.clear()

    def show(self, text: str) -> None:
        """Replace the text of the line."""
        if self.is_shown and time.monotonic() - self._since >= PROGRESS_AFTER:
            import shutil  # slow to import, and needed only for long work at a terminal

            line = terminal_line(text)[: shutil.get_terminal_size().columns - 1]
            self._overwrite(line)
            self._width = len(line)

    def clear(self) -> None:
        """Clear the line, before other output is printed."""
        if self._width:
            self._overwrite("")
            self._width = 0

    def _overwrite(self, line: str) -> None:
        click.echo("\r" + line.ljust(self._width), nl=False, err=True)
        if not line:
            click.echo("\r", nl=False, err=True)


@contextmanager
def progress_line(label: str) -> Iterator[ProgressLine]:
    """Yield a progress line, and clear it at the end of the block."""
    line = ProgressLine(label)
    try:
        yield line
    finally:
        line.clear()
