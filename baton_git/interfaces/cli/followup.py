"""`baton followup`: add, defer, done."""

from __future__ import annotations

import click

from baton_git.interfaces.cli.app import App, command, group
from baton_git.verbs.followups import add_follow_up, defer_follow_up, finish_follow_up


@command("add", short_help="Note something to do later.")
@click.argument("item")
@click.option("--reason", metavar="TEXT", help="Why it is put off.")
@click.option("--pattern", metavar="ID", help="The pattern it belongs to.")
@click.option(
    "--priority", type=click.Choice(["normal", "elevated", "escalated"]), help="How pressing it is.  [normal]"
)
@click.option("--id", "id_", metavar="ID", help="An id of your own instead of a fresh one.")
def add(app: App, item: str, reason: str | None, pattern: str | None, priority: str | None, id_: str | None) -> None:
    """Note something to do later.

    \b
    baton followup add "Refactor the scoring formula" --reason "release first"
    """
    with app.workspace() as ws:
        app.made(add_follow_up(ws, app.now, item=item, reason=reason, pattern=pattern, priority=priority, id_=id_))


@command("defer", short_help="Put it off once more.")
@click.argument("id_", metavar="ID")
@click.option("--reason", metavar="TEXT", help="Why, in place of the reason before.")
def defer(app: App, id_: str, reason: str | None) -> None:
    """Put it off once more: elevated at the third time, escalated at the fifth.

    \b
    baton followup defer FU-2x8m4c
    """
    with app.workspace() as ws:
        app.made(defer_follow_up(ws, app.now, id_, reason=reason))


@command("done", short_help="It is done.")
@click.argument("id_", metavar="ID")
@click.option("--note", metavar="TEXT", help="What was done; kept with it.")
def done(app: App, id_: str, note: str | None) -> None:
    """It is done: put it into the archive.

    \b
    baton followup done FU-2x8m4c --note "in commit 4f2a91c"
    """
    with app.workspace() as ws:
        app.made(finish_follow_up(ws, app.now, id_, note=note))


COMMANDS = {"followup": group("followup", "Follow-ups: things put off.", [add, defer, done])}
