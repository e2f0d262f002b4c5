"""Find all commands of the command line."""

from __future__ import annotations

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
