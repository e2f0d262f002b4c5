"""The click command class of baton: parse `--json` with or without fields, and list common options last in the help."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pydantic import BaseModel

COMMON = frozenset({"--create", "--repo", "--namespace", "--session", "--agent", "--json", "--help"})
"""Options listed under "Options of every command"; only commands that can create a namespace have `--create`."""
WORDS = "words of the command line"
"""The key of the context's `meta` under which the words of the command line are, for a help that depends on them."""
_FIELDS = re.compile(r"[\w.]+(?:,[\w.]+)+")
"""A list of two or more fields; a single word after `--json` may be an argument of the command."""


SOURCES = {
    "ids": ("id", "ids", "record", "into", "decision"), "namespaces": ("namespace", "name"),
    "sessions": ("session", "by_session", "in_session", "of_session"), "agents": ("agent", "by_agent"),
    "kinds": ("kind",), "statuses": ("status", "priority"), "remotes": ("remote",),
    "decisions": ("by", "decision_ref", "superseded_by"), "patterns": ("pattern", "linked_pattern"),
    "waiting": ("accept", "reject"), "revisions": ("at", "a", "b", "revision"),
    "times": ("since", "until"), "files": ("file", "about"),
}  # fmt: skip
"""For each source of completions, the fields and parameters that are completed from it."""


Completer = Callable[[click.Context, click.Parameter, str], list[Any]]
"""Returns the completions of an incomplete word."""


def find_completer(field: str, word: str) -> Completer | None:
    """Return the function that completes a field of a command; None if the field has no completions.

    Args:
        field: the name of the field.
        word: the first word of the command.
    """
    source = next((source for source, fields in SOURCES.items() if field in fields), None)
    if source is None:
        return None

    def offer(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from baton_git.interfaces.cli.shell_completion import complete  # needed only for completion

        return complete(source, word, ctx, incomplete)

    return offer


class CommonCommand(click.Command):
    """A command with the options that every command has."""

    answer: type[BaseModel] | None = None
    """The model of the result, or None. With a model, a single word after `--json` selects that field of the result.

    It is None if that word may be an argument: if the command requires one, or if it writes and accepts one.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            self._check_values(ctx, args)
        ctx.meta[WORDS] = tuple(args)
        return super().parse_args(ctx, list(_join_fields(args, self._is_field)))

    def _check_values(self, ctx: click.Context, args: Sequence[str]) -> None:
        """Refuse an option's value that looks like a forgotten one: another option or, instead of a name, a number.

        click takes any word as the value, so `log -n -3` would name a namespace, and `wrap --context --json` a text.
        """
        options = {name: option for option in self.get_params(ctx) if isinstance(option, click.Option)
                   for name in (*option.opts, *option.secondary_opts)}  # fmt: skip
        words = iter(args)
        for word in words:
            if word == "--":
                return
            option = options.get(word)
            if option is None or option.is_flag or option.count or word == "--json":
                continue
            value = next(words, "")
            name = next(iter(option.opts))
            is_name = not COMMON.isdisjoint(option.opts)
            if value.partition("=")[0] in options or (is_name and len(value) > 1 and value.startswith("-")):
                limit = "; for the number of items: --limit" if value[1:].isdecimal() and "--limit" in options else ""
                ctx.fail(
                    f"{word} needs a value, and {value!r} looks like an option{limit} (if it is meant: {name}={value})"
                )

    def _is_field(self, word: str) -> bool:
        if self.answer is None:
            return False
        from baton_git.interfaces.cli.field_selection import list_fields  # few commands name fields

        return word in list_fields(self.answer)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help text, with long examples broken into several lines."""
        inner = click.HelpFormatter(width=formatter.width)
        super().format_help_text(ctx, inner)
        formatter.write_paragraph()
        for line in inner.getvalue().splitlines():
            formatter.write("".join(f"{part}\n" for part in break_example(line, formatter.width)))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of this command, and the common options in a section of their own."""
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


def _join_fields(args: Sequence[str], is_field: Callable[[str], bool]) -> Iterator[str]:
    """Join `--json` with the next word if that is a list of fields; else give it an empty value."""
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
        if after is not None and (_FIELDS.fullmatch(after) or is_field(after)):
            yield f"--json={after}"
        else:
            yield "--json="
            yield from _join_fields([after, *words] if after is not None else [], is_field)
            return


def break_example(line: str, width: int) -> Iterator[str]:
    """Yield the lines of an example, if possible broken with backslashes to at most `width` characters each."""
    indent = line[: len(line) - len(line.lstrip())]
    while len(line) > width and line.lstrip().startswith("baton "):
        position = line.rfind(" ", len(indent) + 8, width - 2)
        option_position = line.rfind(" --", len(indent) + 8, width - 2)
        position = option_position if option_position > 0 else position
        if position < 0 or line[:position].count('"') % 2 or line[:position].count("'") % 2:
            break
        yield f"{line[:position]} \\"
        line = f"{indent}    {line[position + 1 :]}"
    yield line
