"""The only way of a command to its terminal: everything printed is made safe for one, whatever it is made of.

`tests/test_layers.py` holds that nothing else in this folder prints or prompts.
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

from baton_git.core.output import json_text, terminal, terminal_line
from baton_git.interfaces.cli.rendering.styles import shows_styles


def write(text: str) -> None:
    """Print data to standard output; only `Styled` text keeps its styling, and that only where styles are shown."""
    shown = terminal(text)
    click.echo(shown if shows_styles() else click.unstyle(shown))


def write_json(data: Any, *, indent: int | None = 2) -> None:
    """Print data to standard output as JSON."""
    click.echo(json_text(data, indent))


def tell(*lines: str) -> None:
    """Print messages to standard error."""
    for line in lines:
        click.echo(terminal(line), err=True)


def tell_usage(error: click.ClickException) -> None:
    """Print what click says about wrong arguments."""
    text = io.StringIO()
    error.show(file=text)
    tell(text.getvalue().rstrip("\n"))


def ask(question: str) -> str:
    """Return what a person types; empty if nothing."""
    return str(click.prompt(terminal_line(question), default="", show_default=False, err=True))


def choose(question: str, answers: Sequence[str]) -> str:
    """Return the one of `answers` that a person types."""
    return str(click.prompt(terminal_line(question), type=click.Choice(list(answers)), err=True))


def agrees(question: str, *, default: bool = False) -> bool:
    """Return whether a person says yes; `default` if they only press Enter."""
    return click.confirm(terminal_line(question), default=default, err=True)


PROGRESS_AFTER = 0.5
"""Seconds that work takes before a line says how far it is: what is done by then needs none."""


class ProgressLine:
    """One line on standard error that says how far long work is; on a terminal only, and gone in the end."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._since = time.monotonic()
        self._width = 0
        self.is_shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def advance(self, done: int, whole: int) -> None:
        """Show how much is done, and how much there is; nothing once that is all."""
        share = f" {100 * done // whole}%" if whole else ""
        self.show(f"{self._label}: {done:,} of {whole:,}{share}")
        if done >= whole:
            self.clear()

    def show(self, text: str) -> None:
        """Show a text in place of the one before."""
        if self.is_shown and time.monotonic() - self._since >= PROGRESS_AFTER:
            import shutil  # slow to load, and only long work at a terminal needs it

            line = terminal_line(text)[: shutil.get_terminal_size().columns - 1]
            self._overwrite(line)
            self._width = len(line)

    def clear(self) -> None:
        """Take the line away, before something else is printed."""
        if self._width:
            self._overwrite("")
            self._width = 0

    def _overwrite(self, line: str) -> None:
        click.echo("\r" + line.ljust(self._width), nl=False, err=True)
        if not line:
            click.echo("\r", nl=False, err=True)


@contextmanager
def progress_line(label: str) -> Iterator[ProgressLine]:
    """Show how far the block is."""
    line = ProgressLine(label)
    try:
        yield line
    finally:
        line.clear()
