"""`baton help`: the help of a command, or a topic that concerns many of them."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from baton_git.core.natural_times import EXAMPLES
from baton_git.core.suggestions import find_near_names
from baton_git.interfaces.cli.printing import write
from baton_git.interfaces.cli.rendering.table import Column, render_table

DATES = f"""Times

A time can be given wherever there is --since, --until or --at, and in place of
a revision; over HTTP, MCP and in the library too.

  2026-06-17            a day: its beginning, with --until and --at its end
  2026-06-17T12:30      a time, in the local zone unless it names one
  yesterday, monday     a day; a weekday is the last one before today
  3h, 2 days ago        so long before now (s, min, h, days, weeks, months)
  last week             7 days ago

Examples: {EXAMPLES}
"""
REVISIONS = """Revisions

Each change of a namespace is one commit, and has a number: 1, 2, 3.
Machines that worked apart may have made the same number; then name the commit.

  12                    revision 12
  ~2                    two before the newest
  4f2a91c               a commit, by 7 or more of its digits
  yesterday             the newest that is not later (baton help dates)

  baton log             what there is
  baton show 12         one revision and what it changed
  baton diff ~3         what changed since
  baton read --at 12    the state as it was
"""
JSON = """JSON

Every command that answers has --json. Data goes to standard output, messages
go to standard error.

  baton status --json                      the whole answer
  baton list --json id,status,title        only these fields of each record
  baton status --json=revision             one field: with =
  baton show 12 --json=revision,author     fields of an answer

Fields of the answer give an object. Fields of the items of the list that an
answer holds give that list. a.b is the field b within a. A field that an item
does not have is null; one that no answer has is an error that names the
fields there are.

The word after --json counts as fields only if it holds a comma; other words
are arguments of the command.

An error has error, message, hint (the next step) and the data of the error.
The shape of each answer: docs/reference/verbs.md, or GET /openapi.json of
baton serve.
"""
EXIT_CODES = """Exit codes

  0    ok
  1    failed: a check failed, a file is invalid, a person must confirm first
  2    usage: an unknown option, a missing argument, a value that does not fit
  3    conflict or stale: somebody was faster, or a conflict is left
  4    busy: other writers held the namespace for 10 seconds
  5    unknown: a check could not be run
  70   a bug in baton; the message says what to report
  130  interrupted

sync and wrap end with 3 while conflicts are open; what they did is done.
boot and hooks, whose sessions must start, conflicts, which lists, and
resolve, which settled one of several, end with 0.
"""
ENVIRONMENT = """Environment variables

An option counts more than the variable, and the variable more than the
configuration.

  BATON_REPO        the repository (--repo)
  BATON_NAMESPACE   the namespace (--namespace)
  BATON_SESSION     the session that acts (--session)
  BATON_AGENT       the agent that acts (--agent)
  BATON_HOST, BATON_PORT   where baton serve listens (--host, --port)
  BATON_API_TOKEN   the token of serve, mcp --http and cache
  BATON_PAGE_TOKEN  the token of the page of baton serve
  BATON_URL         the server of baton cache (--url)
  BATON_DB_PATH     session-baton's own: where its database is
  BATON_PAGER       the pager; else GIT_PAGER, core.pager, PAGER, less
  NO_COLOR          no styles
  XDG_DATA_HOME, XDG_CONFIG_HOME   your own store, approvals, settings files

More: docs/settings.md
"""
CONFIGURATION = """Configuration

Settings are in git's configuration: git config baton.NAME VALUE in the
repository, or with --global.

  baton.namespace        the namespace; else the name of the folder
  baton.remote           the remote that sync, boot and wrap use
  baton.autosync         whether boot and wrap sync (true)
  remote.R.batonPolicy   how commits of a remote are accepted: auto, review,
                         signed
  baton.ttlDays          days until an open loop is escalated (7)
  baton.elevateAt, baton.escalateAt   deferrals of a follow-up (3, 5)
  baton.threshold        occurrences until a pattern may be a rule (3)
  baton.sessionsKept     sessions that are not archived (50)
  baton.shareTurns       whether prompts and answers are committed (false)
  baton.recallAtPrompt   whether prompts are looked up (false)
  baton.allowPrivateHosts   whether checks reach private networks (false)
  baton.signingKey, baton.allowedSigners   signed commits
  baton.refPrefix        where the branches are (refs/heads/baton/)

All of them: docs/settings.md
"""


def _describe_kinds() -> str:
    from baton_git.core.kinds import KINDS

    columns = [
        Column("kind", lambda info: info.kind),
        Column("one", lambda info: info.title),
        Column("several", lambda info: info.name(2)),
        Column("ids", lambda info: f"{info.prefix}-…" if info.prefix else ""),
        Column("folder", lambda info: info.folder),
    ]
    about = "A command takes a kind by any of its names: baton list loops.\n"
    return f"Kinds of records\n\n{about}\n{render_table(list(KINDS.values()), columns)}\n"


TOPICS = {
    "dates": DATES, "revisions": REVISIONS, "json": JSON, "kinds": "", "configuration": CONFIGURATION,
    "environment": ENVIRONMENT, "exit-codes": EXIT_CODES,
}  # fmt: skip
"""The pages that are not about one command; that of the kinds is made of their registry."""


def _offer_words(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the topics and commands that begin so; after a group, its commands."""
    group: click.Command | None = ctx.find_root().command
    given = ctx.params.get("words") or ()
    for word in given:
        group = group.get_command(ctx, word) if isinstance(group, click.Group) else None
    names = group.list_commands(ctx) if isinstance(group, click.Group) else []
    return [CompletionItem(name) for name in [*names, *(() if given else TOPICS)] if name.startswith(incomplete)]


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
        write((TOPICS[words[0]] or _describe_kinds()).rstrip("\n"))
        return
    root = ctx.find_root()
    write(_help_of(root, words))


def _help_of(root: click.Context, words: tuple[str, ...]) -> str:
    """Return the help of the command that the words call.

    Raises:
        click.UsageError: there is no such command or topic.
    """
    ctx, command = root, root.command
    for place, word in enumerate(words):
        group = command if isinstance(command, click.Group) else None
        names = group.list_commands(ctx) if group is not None else []
        if group is None or word not in names:
            near = find_near_names(word, [*names, *(TOPICS if not place else ())], 3)
            hint = f" Did you mean {' or '.join(near)}?" if near else " baton help lists what there is."
            raise click.UsageError(f"there is no command or topic {' '.join(words[: place + 1])!r}.{hint}")
        command = group.get_command(ctx, word) or command
        ctx = click.Context(command, info_name=word, parent=ctx, **command.context_settings)
    return command.get_help(ctx)


COMMANDS = {"help": help_command}
