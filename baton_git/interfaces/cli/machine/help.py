"""`baton help`: the help of a command, or a topic that concerns many commands."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

from baton_git.core.errors import find_near_names
from baton_git.core.styles import Column
from baton_git.core.text_layout import render_table
from baton_git.core.times import EXAMPLES
from baton_git.interfaces.cli.printing import terminal_width, write
from baton_git.interfaces.context.setting_registry import SETTINGS, VARIABLES

DATES = f"""Times

--since, --until and --at take a time. A time can also be given instead of a
revision. The HTTP API, the MCP tools and the library accept the same forms.

  2026-06-17            the start of a day; for --until and --at, its end
  2026-06-17T12:30      a time in the local zone, unless it has a zone
  yesterday, monday     a day; a weekday is the last one before today
  3h, 2 days ago        a time before now (s, min, h, days, weeks, months)
  last week             7 days ago

Examples: {EXAMPLES}
"""
REVISIONS = """Revisions

Each change of a namespace is a commit with a number: 1, 2, 3. If two machines
used the same number before they synced, name the commit by its id.

  12                    revision 12
  ~2                    two revisions before the newest
  4f2a91c               a commit id, or 7 or more of its first digits
  yesterday             the newest revision up to a time (baton help dates)

  baton log             list the revisions
  baton show 12         show a revision and what it changed
  baton diff ~3         show what changed since a revision
  baton read --at 12    print the state at a revision
"""
JSON = """JSON

Every command that prints a result has --json. The result goes to standard
output, messages go to standard error.

  baton status --json                      the whole result
  baton list --json id,status,title        only these fields of each record
  baton status --json=revision             a single field: with =
  baton show 12 --json=revision,author     only these fields of the result

If the result has the fields, they are printed as an object. If the items of
its list have them, they are printed as a list of objects. a.b is the field b
of the object a. A field that an item does not have is null. An unknown field
is an error, and the error names the known ones.

Write = before a single field (--json=revision), because a single word after
a space can also be an argument of the command. A list with a comma needs no =.

With --json an error is an object with error, message, hint (what to do) and
the data of the error. docs/reference/verbs.md describes the result of each
command; so does GET /openapi.json of baton serve.
"""
EXIT_CODES = """Exit codes

  0    ok
  1    failed: a check failed, a file is invalid, a person must confirm first
  2    usage: an unknown option, a missing argument, an invalid value
  3    conflict or stale: somebody else wrote first, or a conflict is open
  4    busy: another process was at work on the same data; try again
  5    unknown: a check or a search could not be run
  70   a bug in baton; the message names a file with a bug report
  130  interrupted

sync and wrap do their work and exit with 3 while conflicts are open. boot,
hooks, conflicts and resolve exit with 0 even then.
"""
ENVIRONMENT = """Environment variables

An option overrides the variable, and the variable overrides the
configuration.

"""
CONFIGURATION = """Configuration

Settings are in git's configuration. To set one: git config baton.NAME VALUE
in the repository, or with --global for all. Defaults are in parentheses.

"""
_INDENT = " " * 6


def _describe_variables() -> str:
    entries = [
        (f"{variable.name}{f' ({variable.option})' if variable.option else ''}", variable.description)
        for variable in VARIABLES
    ]
    return ENVIRONMENT + _list_entries(entries)


def _describe_settings() -> str:
    entries = [
        (setting.key, f"{setting.description} ({setting.shown_default or 'none'})") for setting in SETTINGS.values()
    ]
    return CONFIGURATION + _list_entries(entries)


def _list_entries(entries: list[tuple[str, str]]) -> str:
    """Return the names with their descriptions indented below them, without the marks of Markdown."""
    texts = [
        textwrap.fill(text.replace("`", ""), 78, initial_indent=_INDENT, subsequent_indent=_INDENT)
        for _, text in entries
    ]
    lines = [f"  {name}\n{text}" for (name, _), text in zip(entries, texts, strict=True)]
    return "\n".join([*lines, "", "More: docs/settings.md"])


def _describe_kinds() -> str:
    from baton_git.core.kinds import KINDS

    columns = [
        Column("kind", lambda info: info.kind),
        Column("one", lambda info: info.title),
        Column("several", lambda info: info.name(2)),
        Column("ids", lambda info: f"{info.prefix}-…" if info.prefix else ""),
        Column("folder", lambda info: info.folder),
    ]
    about = "A command accepts any of these names, with a hyphen instead of a space:\nbaton list open-loops\n"
    table = click.unstyle(render_table(list(KINDS.values()), columns, width=terminal_width()))
    return f"Kinds of records\n\n{about}\n{table}\n"


TOPICS: dict[str, str | Callable[[], str]] = {
    "dates": DATES, "revisions": REVISIONS, "json": JSON, "kinds": _describe_kinds,
    "configuration": _describe_settings, "environment": _describe_variables, "exit-codes": EXIT_CODES,
}  # fmt: skip
"""The text of each topic, or the function that makes it from a registry."""


def describe_topic(name: str) -> str:
    """Return the text of a topic."""
    topic = TOPICS[name]
    return topic if isinstance(topic, str) else topic()


def _offer_words(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the completions of the next word: topics and commands, or the commands of the group before it."""
    group: click.Command | None = ctx.find_root().command
    words = ctx.params.get("words") or ()
    for word in words:
        group = group.get_command(ctx, word) if isinstance(group, click.Group) else None
    names = group.list_commands(ctx) if isinstance(group, click.Group) else []
    return [CompletionItem(name) for name in [*names, *(() if words else TOPICS)] if name.startswith(incomplete)]


@click.command("help")
@click.argument("words", metavar="[TOPIC | COMMAND...]", nargs=-1, shell_complete=_offer_words)
@click.pass_context
def help_command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command, or a topic.

    Topics: dates, revisions, json, kinds, configuration, environment, exit-codes.

    \b
    baton help
    baton help loop add
    baton help dates
    """
    if len(words) == 1 and words[0] in TOPICS:
        write(describe_topic(words[0]).rstrip("\n"))
        return
    root = ctx.find_root()
    write(_help_of(root, words))


def _help_of(root: click.Context, words: tuple[str, ...]) -> str:
    """Return the help of the command with these words.

    Raises:
        click.UsageError: there is no such command or topic.
    """
    ctx, command = root, root.command
    for position, word in enumerate(words):
        group = command if isinstance(command, click.Group) else None
        names = group.list_commands(ctx) if group is not None else []
        if group is None or word not in names:
            near = find_near_names(word, [*names, *(TOPICS if not position else ())], 3)
            hint = f" Did you mean {' or '.join(near)}?" if near else " To list the commands: baton help"
            raise click.UsageError(f"there is no command or topic {' '.join(words[: position + 1])!r}.{hint}")
        command = group.get_command(ctx, word) or command
        ctx = click.Context(command, info_name=word, parent=ctx, **command.context_settings)
    return command.get_help(ctx)


COMMANDS = {"help": help_command}
