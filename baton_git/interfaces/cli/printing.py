"""The only way of a command to its terminal: everything printed is made safe for one, whatever it is made of.

`tests/test_layers.py` holds that nothing else in this folder prints or prompts.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import click

from baton_git.core.output import json_text, terminal, terminal_line


def write(text: str) -> None:
    """Prints data to standard output; only `Styled` text keeps its styling, and that only on a terminal."""
    click.echo(terminal(text))


def write_json(data: Any, *, indent: int | None = 2) -> None:
    """Prints data to standard output as JSON."""
    click.echo(json_text(data, indent))


def tell(*lines: str) -> None:
    """Prints messages to standard error."""
    for line in lines:
        click.echo(terminal(line), err=True)


def tell_usage(error: click.ClickException) -> None:
    """Prints what click says about wrong arguments."""
    said = io.StringIO()
    error.show(file=said)
    tell(said.getvalue().rstrip("\n"))


def ask(question: str) -> str:
    """What a person types as the answer; empty when that is nothing."""
    return str(click.prompt(terminal_line(question), default="", show_default=False, err=True))


def choose(question: str, answers: Sequence[str]) -> str:
    """The one of `answers` that a person types."""
    return str(click.prompt(terminal_line(question), type=click.Choice(list(answers)), err=True))


def agrees(question: str) -> bool:
    """Whether a person says yes."""
    return click.confirm(terminal_line(question), err=True)
