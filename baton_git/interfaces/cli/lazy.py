"""A group of commands that imports only the module of the command that is run."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import click

from baton_git.core.errors import find_near_names


class LazyGroup(click.Group):
    """A group of the commands in a table.

    Args:
        table: the module and the help line of each command. If the module's `COMMANDS` has no command of this name, or
            no module is named, the command is derived from the verbs of this name and the module's `ADDITIONS`.
        sections: the commands that `--help` lists under each title. A command in no section is not listed.
        related: for words that are no commands but that people try, the commands that the error names.
    """

    def __init__(
        self,
        name: str | None,
        table: Mapping[str, tuple[str, str]],
        sections: Mapping[str, Sequence[str]],
        related: Mapping[str, Sequence[str]] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(name, **{"no_args_is_help": True, **settings})
        self.table = table
        self.sections = sections
        self.related = related or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        name, about = self.table[cmd_name]
        module = importlib.import_module(f"baton_git.interfaces.cli.{name}") if name else None
        command = getattr(module, "COMMANDS", {}).get(cmd_name)
        return command or _derive_command(cmd_name, about, getattr(module, "ADDITIONS", {}))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.table))
        for title, names in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), self.table[name][1]) for name in names])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.table and not args[0].startswith("-"):
            if args[0].lower() in self.related:
                ctx.fail(f"there is no command {args[0]!r}; see: {', '.join(self.related[args[0].lower()])}")
            begins = [name for name in self.table if name.startswith(args[0][:3])]
            near = begins or find_near_names(args[0], self.table, 2)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            ctx.fail(f"there is no command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


def _derive_command(word: str, about: str, additions: Mapping[str, Any]) -> click.Command:
    from baton_git.interfaces.cli.verb_command import verb_group  # commands in `COMMANDS` do not need it
    from baton_git.verbs.table import verbs_of

    return verb_group(word, about, verbs_of(word), additions, [make_list_command(word)] if word in FAMILIES else [])


FAMILIES = ("loop", "followup", "pattern", "decision", "handover")
"""Groups of commands for one kind of record whose command `list` is derived from the verb `list`."""


def make_list_command(word: str) -> click.Command:
    """Return the command `list` of a group: `loop list` runs `list loop`."""
    from baton_git.interfaces.cli.records.listing import make_family_list_command  # only groups of one kind need it

    return make_family_list_command(word)
