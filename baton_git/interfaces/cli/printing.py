"""The only way of a command to its terminal: everything printed is made safe for one, whatever it is made of.

`tests/test_layers.py` holds that nothing else in this folder prints or prompts.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from baton_git.core.output import json_text, terminal, terminal_line


def write(text: str) -> None:
    """Print data to standard output; only `Styled` text keeps its styling, and that only on a terminal."""
    click.echo(terminal(text))


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


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on standard error while the block runs, if that is a terminal.

    Yields:
        What is told how much is done, and how much there is.
    """
    if not sys.stderr.isatty():
        yield lambda done, whole: None
        return
    with click.progressbar(length=0, label=terminal_line(label), file=sys.stderr) as bar:

        def advance(done: int, whole: int) -> None:
            bar.length = whole
            bar.update(done - bar.pos)

        yield advance
