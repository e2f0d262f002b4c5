"""`baton review`: accept or reject fetched changes that wait for a person."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import click

from baton_git.core import diff
from baton_git.core.errors import NeedsHuman, Protected
from baton_git.core.kinds import ALL_KINDS
from baton_git.core.output import Styled, flat
from baton_git.core.styles import Column, Role, join, paint
from baton_git.core.text_layout import fit
from baton_git.core.view import Reader
from baton_git.interfaces.cli.app import App, at_terminal, command
from baton_git.interfaces.cli.common_command import find_completer
from baton_git.interfaces.cli.printing import ask, choose
from baton_git.namespace.review.queue import ReviewChoice, ReviewQueue, ReviewResult, WaitingRecord
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.sharing.review import decide, load_review, make_decided, make_waiting

REMOTES, WAITING = find_completer("remote", "review"), find_completer("accept", "review")


@command("review")
@click.option(
    "--remote", "-r", metavar="R", shell_complete=REMOTES, help="The remote. Default: the one that baton sync uses."
)
@click.option(
    "--accept",
    metavar="ID",
    multiple=True,
    shell_complete=WAITING,
    help="Accept the changes of this record; repeatable.",
)
@click.option(
    "--reject", metavar="ID", multiple=True, shell_complete=WAITING,
    help="Reject the changes of this record; repeatable.",
)  # fmt: skip
@click.option("--accept-all", is_flag=True, help="Accept all changes that are not rejected.")
@click.option("--reject-all", is_flag=True, help="Reject all changes that are not accepted.")
def review_command(
    app: App, remote: str | None, accept: tuple[str, ...], reject: tuple[str, ...], accept_all: bool, reject_all: bool
) -> None:
    """Review fetched changes that are not merged yet: accept or reject them, record by record or all together.

    At a terminal, the command asks about each record, unless an option decides. A rejected change stays
    rejected on later syncs; a later change of the same record waits again. An agent is shown only the kinds and ids,
    and decides nothing. To accept a change that makes a rule, a
    person must type the record's id.

    Changes wait for a review if the policy of the remote (git config remote.NAME.batonPolicy) is review, or if it is
    signed and no allowed key signed their commits. Under any policy, commits made by hand that silently revert others
    wait too, and so do changes with a file that is not allowed in a namespace.

    \b
    baton review
    baton review --accept OL-7k3f9q --reject PAT-2
    baton review --reject PAT-2 --accept-all
    """
    if accept_all and reject_all:
        raise click.UsageError("give --accept-all or --reject-all, not both")
    if set(accept) & set(reject):
        raise click.UsageError(f"{', '.join(sorted(set(accept) & set(reject)))} cannot be both accepted and rejected")
    with app.workspace() as ws:
        name, queue = load_review(ws, remote)
        if queue is None:
            app.answer(make_waiting(name, queue).as_data(), "")
            app.say(f"nothing from {name} waits for a review")
        elif accept or reject or accept_all or reject_all:
            choice = ReviewChoice(None if accept_all else accept, None if reject_all else reject, queue.theirs)
            _render_decided(app, name, _decide(app, ws, name, queue, choice))
        elif at_terminal() and not app.json and not queue.withheld:
            ws.branch.check_settings()
            _ask(app, ws, name, queue)
        else:
            app.answer(
                make_waiting(name, queue).as_data(),
                join([line for item in queue.items for line in _format_item(app.reader, queue, item)], "\n"),
            )
            app.say(queue.withheld or "to decide, add --accept ID, --reject ID, --accept-all or --reject-all")


def _format_item(reader: Reader, queue: ReviewQueue, item: WaitingRecord) -> list[Styled]:
    return format_waiting_record(reader, item) if not queue.withheld else [join([_format_name(item)])]


def _format_name(item: WaitingRecord) -> str:
    info = ALL_KINDS.get(item.kind)
    name = f"{info.title if info else item.kind} {item.id}" if item.kind != item.id else item.id
    return paint(flat(name), Role.HEADING)


def format_waiting_record(reader: Reader, item: WaitingRecord) -> list[Styled]:
    """Return lines that describe a waiting record and its changes, safe for a terminal."""
    lines = [_format_name(item)]
    for change in item.changes:
        lines.append(f"  {_describe_change(item, change)}")
        lines.append(
            reader.table([field for field in change.fields if field.field != "id"], FIELD_COLUMNS, headings=False)
        )
    return [join([line]) for line in lines if line] if item.changes else [join([*lines, "  not a record file"], "\n")]


def _describe_change(item: WaitingRecord, change: diff.RecordChange) -> str:
    """Return the change in words; for a new record only `added`, because its fields follow."""
    if change.action == "added" and (change.kind, change.id) == (item.kind, item.id):
        return "added"
    return diff.describe_change(change) or f"{change.kind} {change.action}"


def _describe_values(change: diff.FieldChange) -> str:
    before, after = (_show_value(side[0]) if side else "nothing" for side in (change.before, change.after))
    return f"{before} → {after}" if change.before else after


def _show_value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return fit(flat(text), LONGEST)


LONGEST = 1000
"""Maximum width of a value in columns; --json prints the whole value."""
FIELD_COLUMNS = (
    Column("field", lambda change: f"    {change.field}", Role.DIM),
    Column("value", _describe_values, wraps=True),
)


def _decide(app: App, ws: Workspace, name: str, queue: ReviewQueue, choice: ReviewChoice) -> ReviewResult:
    """Carry out a decision; ask a person at the terminal to confirm each record that would become a rule.

    Raises:
        NeedsHuman: there is no terminal, or the text typed is not the record's id.
    """
    confirmed: set[str] = set()
    while True:
        try:
            return decide(ws, app.now, name, choice, confirmed=confirmed)
        except Protected as error:
            ws = replace(ws, confirmed=app.identify_person(error))
        except NeedsHuman as error:
            item = next((item for item in queue.items if item.id == error.data.get("record")), None)
            if item is None or item.id in confirmed or not app.can_ask_person():
                raise
            app.say(
                "",
                *format_waiting_record(app.reader, item),
                f"{flat(item.id)} would become a rule that every session follows.",
            )
            typed = ask(f"Type {flat(item.id)} to confirm")
            if typed.strip() != item.id:
                raise
            confirmed.add(item.id)


def _ask(app: App, ws: Workspace, name: str, queue: ReviewQueue) -> None:
    """Ask about each record (accept, reject, skip it, or quit the questions), and carry out the decisions."""
    accepted: list[str] = []
    rejected: list[str] = []
    for item in queue.items:
        app.say("", *format_waiting_record(app.reader, item))
        answer = choose("accept, reject, skip or quit", "arsq")
        if answer == "q":
            break
        (accepted if answer == "a" else rejected if answer == "r" else []).append(item.id)
    if accepted or rejected:
        _render_decided(app, name, _decide(app, ws, name, queue, ReviewChoice(accepted, rejected, queue.theirs)))
    else:
        app.say("nothing was decided")


def _render_decided(app: App, name: str, done: ReviewResult) -> None:
    app.answer(make_decided(name, done).as_data(), "")
    app.say(f"{len(done.accepted)} accepted, {len(done.rejected)} rejected, {done.remaining} left", *done.notes)
    if done.rejected:
        app.say("the next sync reverts the rejected changes for everybody")
    if not done.remaining:
        app.say("to push the decisions: baton sync")


COMMANDS = {"review": review_command}
