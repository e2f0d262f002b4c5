"""The click command of baton: `--json` with or without fields, and the options that all have last in the help."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

COMMON = frozenset({"--create", "--repo", "--namespace", "--session", "--agent", "--json", "--help"})
"""The options that every command has; `--create` those that can begin a namespace."""
_FIELDS = re.compile(r"[\w.]+(?:,[\w.]+)+")
"""More than one field: a single word after `--json` may be an argument of the command."""


SOURCES = {
    "ids": ("id", "ids", "record", "into", "decision"), "namespaces": ("namespace", "name"),
    "sessions": ("session", "by_session"), "agents": ("agent", "by_agent"), "kinds": ("kind",),
    "revisions": ("at", "a", "b", "revision"),
}  # fmt: skip
"""By what a shell offers, the fields and parameters for which it does."""


def offer_for(field: str, word: str) -> Callable[[click.Context, click.Parameter, str], list[Any]] | None:
    """Return what completes a field of a command whose first word this is; None where nothing can be offered."""
    source = next((source for source, fields in SOURCES.items() if field in fields), None)
    if source is None:
        return None

    def offer(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from baton_git.interfaces.cli.shell_completion import complete  # only a shell that completes needs it

        return complete(source, word, ctx, incomplete)

    return offer


class CommonCommand(click.Command):
    """A command with the options that every command has."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_join_fields(args)))

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help, with examples broken where they are too long for the line."""
        inner = click.HelpFormatter(width=formatter.width)
        super().format_help_text(ctx, inner)
        formatter.write_paragraph()
        for line in inner.getvalue().splitlines():
            formatter.write("".join(f"{part}\n" for part in break_example(line, formatter.width)))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of this command, and under a heading of their own those of every command."""
        own: list[tuple[str, str]] = []
        common: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                (common if COMMON.intersection(param.opts) else own).append(record)
        for title, records in (("Options", own), ("Options of every command", common)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _join_fields(args: Sequence[str]) -> Iterator[str]:
    """Give `--json` a value: the fields in the next word where it is a list of them, else none."""
    words = iter(args)
    for word in words:
        if word == "--":
            yield word
            yield from words
            return
        if word != "--json":
            yield word
            continue
        after = next(words, None)
        if after is not None and _FIELDS.fullmatch(after):
            yield f"--json={after}"
        else:
            yield "--json="
            yield from _join_fields([after, *words] if after is not None else [])
            return


def break_example(line: str, width: int) -> Iterator[str]:
    """Give an example as lines of at most `width` characters, which a shell still takes as one command."""
    indent = line[: len(line) - len(line.lstrip())]
    while len(line) > width and line.lstrip().startswith("baton "):
        place = line.rfind(" ", len(indent) + 8, width - 2)
        option = line.rfind(" --", len(indent) + 8, width - 2)
        place = option if option > 0 else place
        if place < 0 or line[:place].count('"') % 2 or line[:place].count("'") % 2:
            break
        yield f"{line[:place]} \\"
        line = f"{indent}    {line[place + 1 :]}"
    yield line
