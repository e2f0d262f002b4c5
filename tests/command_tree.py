"""Find all commands of the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import click

from baton_git.interfaces.cli import baton as root

Paths = dict[tuple[str, ...], click.Command]


@cache
def all_commands() -> Paths:
    """Return every command and subcommand, groups included, by the words that call it."""
    found: Paths = {}
    waiting: list[tuple[tuple[str, ...], click.Group]] = [((), root)]
    while waiting:
        words, group = waiting.pop()
        for name in group.list_commands(click.Context(group)):
            command = group.get_command(click.Context(group), name)
            assert command is not None
            found[(*words, name)] = command
            if isinstance(command, click.Group):
                waiting.append(((*words, name), command))
    return found


def leaves() -> list[tuple[str, ...]]:
    return sorted(words for words, command in all_commands().items() if not isinstance(command, click.Group))


RUN_ON = {("serve",), ("mcp",), ("demo",), ("loop-run",), ("session", "stop")}
"""Commands that do not end by themselves, or that start or stop programs."""


def arguments(command: click.Command, words_for: Callable[[click.Parameter], list[str]]) -> Iterator[str]:
    """Yield what a command needs: its required options, then its arguments, each with the words for it."""
    for parameter in command.params:
        if parameter.required and isinstance(parameter, click.Option):
            yield from (parameter.opts[0], *words_for(parameter))
    named = [one for one in command.params if isinstance(one, click.Argument)]
    words = [word for one in named for word in (words_for(one) if one.required or one.nargs == 1 else [])]
    yield from ["--", *words] if any(word.startswith("-") for word in words) else words


def placeholder(parameter: click.Parameter) -> str:
    """Return the name of a parameter in the help, such as `ID`."""
    return (parameter.metavar or parameter.name or "").strip("[]").upper().rstrip("…")
