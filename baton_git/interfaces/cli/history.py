"""`baton log`, `show`, `diff`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from baton_git.core.diff import FieldChange, RecordChange
from baton_git.core.kinds import NUMBERED
from baton_git.core.output import BLUE, BOLD, CYAN, GREEN, RED, YELLOW, Styled, one_line, style, terminal_line
from baton_git.core.records.lineage import Session
from baton_git.core.state import SHAPE
from baton_git.interfaces.cli.app import App, command, flat
from baton_git.interfaces.cli.printing import write
from baton_git.interfaces.results import history as answers
from baton_git.verbs.history import Filter, Shown, compare, full_id, lineage, moment, read_commit, read_log

COLOURS = {"added": GREEN, "restored": GREEN, "changed": YELLOW, "archived": BLUE, "removed": RED}
LINES = Styled("\n")


@command("log")
@click.option("--record", metavar="ID", help="Only what changed this record.")
@click.option("--by-session", metavar="ID", help="Only what this session did.")
@click.option("--by-agent", metavar="NAME", help="Only what this agent did.")
@click.option("--since", metavar="TIME", help="Not older than this ISO date or time.")
@click.option("--until", metavar="TIME", help="Not newer.")
@click.option("--limit", "-l", type=click.IntRange(1), help="At most this many.  [30 on a terminal]")
@click.option("--oneline", is_flag=True, help="Only one line each, without the fields.")
@click.option("--graph", is_flag=True, help="Draw who worked after whom instead.")
def log_command(
    app: App,
    record: str | None,
    by_session: str | None,
    by_agent: str | None,
    since: str | None,
    until: str | None,
    limit: int | None,
    oneline: bool,
    graph: bool,
) -> None:
    """What was changed, by whom, newest first, record by record.

    \b
    baton log --limit 5
    baton log --record OL-7k3f9q
    baton log --by-session 2026-06-17-003 --oneline
    baton log --graph
    """
    with app.workspace() as ws:
        if graph:
            sessions = lineage(ws)
            app.answer([one.as_data() for one in sessions], _graph(sessions) if not app.json else "")
            return
        wanted = Filter(record and full_id(ws, record), by_session, by_agent, moment(since), moment(until, end=True))
        commits = read_log(ws, wanted, limit or (30 if sys.stdout.isatty() else None))
        if app.json:
            app.answer([answers.shown(one) for one in commits], "")
            return
        found = False
        for one in commits:
            found = True
            write(heading(one) if oneline else LINES.join([heading(one), *change_lines(one.changes), ""]))
        if not found and ws.branch.read().commit is None:
            app.say(f"there is no namespace {flat(str(ws.branch.namespace))} here (baton log -n NAMESPACE)")
        elif not found:
            app.say("no commit matches")


def heading(shown: Shown) -> Styled:
    entry = shown.entry
    revision = style(f"{'?' if entry.revision is None else entry.revision:>4}", YELLOW)
    who = " ".join(one for one in (entry.session, f"({entry.agent})" if entry.agent else "") if one)
    when = entry.time.astimezone().strftime("%Y-%m-%d %H:%M")
    about = [revision, entry.commit[:10], when, *([style(who, CYAN)] if who else [""]), terminal_line(entry.subject)]
    return Styled("  " if who else " ").join(about)


def change_lines(changes: Sequence[RecordChange]) -> Iterator[Styled]:
    """A line for each field that changed, `OL-7k3f9q  status: open → verified`, or one for a record as a whole."""
    for change in changes:
        if change.kind == SHAPE.kind:
            continue
        kind = f"{change.kind.removeprefix('archived_')} " if change.kind not in NUMBERED and change.id else ""
        name = f"      {kind}" + style(one_line(change.id, 80) or "baton", BOLD) + "  "
        about = f"  {one_line(change.title, 70)}" if change.title else ""
        if change.action != "changed":
            reason = f" ({one_line(change.reason, 60)})" if change.reason else ""
            yield name + style(f"{change.action}{reason}", COLOURS[change.action]) + about
        for field in change.fields if change.action in ("changed", "archived") else ():
            yield name + field_line(field)


def field_line(change: FieldChange) -> Styled:
    """`status: open → verified`; of lists, what came and what went."""
    before, after = change.before, change.after
    name = Styled(f"{terminal_line(change.field)}: ")
    if before and after and isinstance(before[0], list | tuple) and isinstance(after[0], list | tuple):
        gone = [style(f"- {_value((one,))}", RED) for one in _less(before[0], after[0])]
        come = [style(f"+ {_value((one,))}", GREEN) for one in _less(after[0], before[0])]
        return name + (Styled("  ").join([*gone, *come]) or "in another order")
    return name + style(_value(before), RED) + " → " + style(_value(after), GREEN)


def _less(items: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """`items` without `others`, each of which takes one away."""
    left = list(items)
    for one in others:
        if one in left:
            left.remove(one)
    return left


def _value(side: tuple[Any, ...]) -> str:
    if not side:
        return "(not set)"
    return one_line(side[0] if isinstance(side[0], str) else json.dumps(side[0], ensure_ascii=False), 120) or "''"


def _graph(sessions: Sequence[Session]) -> str:
    """The sessions as a tree, each below the one it followed; an only successor goes on in the same column."""
    parents = {one.id: one.parent for one in sessions}
    children: dict[str, list[Session]] = {one.id: [] for one in sessions}
    roots: list[Session] = []
    for one in sessions:
        followed = one.parent if one.parent in parents and not _circular(one.id, parents) else None
        (children[followed] if followed is not None else roots).append(one)
    lines: list[str] = []
    waiting = [(one, "", "") for one in reversed(roots)]
    while waiting:
        one, first, rest = waiting.pop()
        lines.append(f"{first}● {_session_line(one)}")
        after = children[one.id]
        for number, child in reversed(list(enumerate(after))):
            last = number == len(after) - 1
            fork = ("╰─", "  ") if last else ("├─", "│ ")
            waiting.append((child, rest + fork[0], rest + fork[1]) if len(after) > 1 else (child, rest, rest))
    return "\n".join(lines)


def _circular(id_: str, parents: Mapping[str, str | None]) -> bool:
    """Whether a session follows itself in the end, as a document may claim."""
    seen = {id_}
    parent = parents[id_]
    while parent is not None and parent in parents:
        if parent in seen:
            return True
        seen.add(parent)
        parent = parents[parent]
    return False


def _session_line(one: Session) -> str:
    who = f"  {one.agent}" if one.agent else ""
    where = f"@{one.machine}" if one.machine else ""
    until = f" to {one.ended}" if one.ended else f", {one.status}"
    return one_line(
        f"{one.id}{who}{where} · {one.started}{until}{' · ' if one.summary else ''}{one.summary or ''}", 160
    )


@command("show")
@click.argument("revision", default="~0", metavar="[REV]")
def show_command(app: App, revision: str) -> None:
    """One revision and what it changed; the newest when none is named.

    \b
    baton show
    baton show 12
    baton show ~3 --json
    """
    with app.workspace() as ws:
        shown = read_commit(ws, revision)
    entry = shown.entry
    facts = [
        f"commit   {entry.commit}",
        *(f"parent   {one}" for one in entry.parents),
        f"author   {entry.author}",
        f"time     {entry.time.astimezone().isoformat()}",
        *(f"{name:<9}{value}" for name in ("op", "session", "agent", "machine") if (value := getattr(entry, name))),
    ]
    app.answer(answers.shown(shown), LINES.join([heading(shown), *facts, "", *change_lines(shown.changes)]))


@command("diff")
@click.argument("a", metavar="A")
@click.argument("b", required=False, metavar="[B]")
def diff_command(app: App, a: str, b: str | None) -> None:
    """What changed from revision A to revision B, the newest when B is not named.

    Revisions are numbers, ~N back from the newest, commit ids, or ISO dates and times.

    \b
    baton diff 12 15
    baton diff 2026-06-17
    """
    with app.workspace() as ws:
        found = compare(ws, a, b)
    app.answer(answers.compared(found), LINES.join(change_lines(found.changes)))
    if not found.changes:
        app.say(f"nothing differs between revisions {found.before.number} and {found.after.number}")


COMMANDS = {"log": log_command, "show": show_command, "diff": diff_command}
