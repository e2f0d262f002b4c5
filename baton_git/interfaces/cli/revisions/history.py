"""Command-line additions to `log` and `diff`: print commits while reading them, the graph of sessions, changes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import click

from baton_git.core.change_lines import LINES
from baton_git.core.diff import commit_subject
from baton_git.core.isolation import Failure, isolate, show_line
from baton_git.core.output import CYAN, YELLOW, Styled, flat, one_line, style, terminal_line
from baton_git.core.records.lineage import Session
from baton_git.core.session_line import describe_session
from baton_git.core.text_layout import fit_styled
from baton_git.interfaces.cli.app import App, WholeNumber
from baton_git.interfaces.cli.pager import write_paged
from baton_git.interfaces.cli.printing import write
from baton_git.interfaces.cli.revisions.operation_table import render_operations
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.revisions.commit_lines import describe_rejection, format_content, format_heading
from baton_git.verbs.revisions.history import Shown
from baton_git.verbs.revisions.log import LogFilter, find_sessions, log, read_known_log


def _print_log(app: App, ws: Workspace, verb_input: LogFilter, values: Values) -> None:
    """Print the log, by default on a terminal only its 30 newest commits; or print the graph of sessions.

    With --json, print a page of the log, as every other interface does.
    """
    if values.get("graph"):
        sessions = find_sessions(ws.branch.read().state)
        if sessions or app.json:
            app.answer([session.as_data() for session in sessions], "" if app.json else _format_graph(app, sessions))
        else:
            app.say("there is no session yet; the graph shows sessions, baton log shows commits")
        return
    if app.json:
        named = {"limit": values["limit"]} if "limit" in values else {}
        app.answer_json(log.verb.run(ws, app.now, verb_input.model_copy(update=named)).as_data())
        return
    limit = values.get("limit") or (30 if sys.stdout.isatty() else None)
    commits = read_known_log(ws, verb_input.filter_for(ws), limit, ws.branch.read())
    if verb_input.ops and (operations := list(commits)):
        write(render_operations(app, operations))
        return
    number = _print_commits(app, verb_input, commits, oneline=bool(values.get("oneline")))
    if not number and ws.branch.read().commit is None:
        app.say(f"there is no namespace {flat(str(ws.branch.namespace))} here; to name another: baton log -n NAMESPACE")
    elif not number:
        app.say("no operation matches" if verb_input.ops else "no commit matches")
    if (limit is None or number < limit) and (remedy := ws.branch.find_completion()):
        app.say(f"older revisions are not here: {remedy}")


def _print_commits(app: App, verb_input: LogFilter, commits: Iterable[Shown], *, oneline: bool) -> int:
    """Print commits, on a terminal through the pager, elsewhere while they are read; return their number."""
    number, is_damaged = 0, False
    paged: list[str] = []
    print_now = paged.append if sys.stdout.isatty() else write
    for number, shown in enumerate(commits, 1):  # noqa: B007  the number of the last one is returned
        text = isolate(lambda shown=shown: _format_commit(app, verb_input, shown, oneline=oneline))  # type: ignore[misc]
        print_now(terminal_line(f"{shown.entry.commit[:10]} {text.describe()}") if isinstance(text, Failure) else text)
        is_damaged = is_damaged or bool(shown.unreadable)
    if paged:
        write_paged(LINES.join(paged))
    if is_damaged:
        app.say("some commits cannot be read; what can be repaired: baton doctor --fix")
    return number


def _format_commit(app: App, verb_input: LogFilter, shown: Shown, *, oneline: bool) -> Styled:
    rejected = [id_ for id_ in shown.entry.rejected_ids() if verb_input.record in (None, id_)]
    heading = format_heading(app.reader, shown if verb_input.record is None else _narrow(shown, rejected))
    line = fit_styled(_add_ids(app, shown, heading), app.reader.width)
    return line if oneline else LINES.join([line, *format_content(app.reader, shown, rejected), ""])


def _add_ids(app: App, shown: Shown, heading: Styled) -> Styled:
    """Return the heading of a commit with the ids of its session and of itself; on a terminal, only if they fit."""
    session, commit = shown.entry.session, style(shown.entry.commit[:10], YELLOW)
    named = [style(one_line(app.sessions.shorten(session), 40), CYAN)] if session else []
    for ids in ([*named, commit], [commit]):
        line = Styled("  ").join([heading, *ids])
        if fit_styled(line, app.reader.width) == line:
            return line
    return heading


def _narrow(shown: Shown, rejected: Sequence[str]) -> Shown:
    """Return a commit with a subject that describes only the changes and rejections that are shown."""
    phrases = [*([commit_subject(list(shown.changes))] if shown.changes else []), *map(describe_rejection, rejected)]
    return shown._replace(entry=shown.entry._replace(subject="; ".join(phrases))) if phrases else shown


def _format_graph(app: App, sessions: Sequence[Session]) -> str:
    """Return the sessions as a tree: each session is below the one that it continues, and indented only if others
    continue the same session."""
    parents = {session.id: session.parent for session in sessions}
    children: dict[str, list[Session]] = {session.id: [] for session in sessions}
    roots: list[Session] = []
    for session in sessions:
        followed = session.parent if session.parent in parents and not _is_circular(session.id, parents) else None
        (children[followed] if followed is not None else roots).append(session)
    lines: list[str] = []
    goals = app.goals({session.id for session in sessions})
    stack = [(session, "", "") for session in reversed(roots)]  # with the prefixes of its line and of further lines
    while stack:
        session, first, rest = stack.pop()
        describe = partial(describe_session, app.reader, session, goals, taken=len(first) + 2)
        lines.append(f"{first}● {show_line(session.id, describe)}")
        after = children[session.id]
        for number, child in reversed(list(enumerate(after))):
            last = number == len(after) - 1
            fork = ("╰─", "  ") if last else ("├─", "│ ")
            stack.append((child, rest + fork[0], rest + fork[1]) if len(after) > 1 else (child, rest, rest))
    return "\n".join(lines)


def _is_circular(id_: str, parents: Mapping[str, str | None]) -> bool:
    """Return whether a session is among its own ancestors, which an imported document may claim."""
    seen = {id_}
    parent = parents[id_]
    while parent is not None and parent in parents:
        if parent in seen:
            return True
        seen.add(parent)
        parent = parents[parent]
    return False


_LOG = (
    click.option(
        "--limit",
        "-l",
        type=WholeNumber(1),
        help="Maximum number of commits.  [30 on a terminal, 50 with --json, else all]",
    ),
    click.option("--oneline", is_flag=True, default=None, help="One line for each commit, without changed fields."),
    click.option("--graph", is_flag=True, default=None, help="Show the sessions as a graph instead."),
)
ADDITIONS = {
    "log": Addition(_LOG, run=_print_log),
}
