"""`baton dashboard`, which `baton` without arguments runs in a repository: the state of the work on one screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

import click

from baton_git.core.brief_sections import describe_writer, list_told_contexts
from baton_git.core.errors import NotFound
from baton_git.core.isolation import show_line
from baton_git.core.kinds import KINDS
from baton_git.core.output import Styled, one_line
from baton_git.core.records.lineage import Session
from baton_git.core.session_line import describe_session
from baton_git.core.styles import Column, Role, join, paint
from baton_git.core.times import describe_age
from baton_git.interfaces.cli.app import App, command
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.records.details import make_event_columns
from baton_git.verbs.records.ready import ReadyResult, list_ready
from baton_git.verbs.revisions.history import read_log
from baton_git.verbs.revisions.log import CommitResult
from baton_git.verbs.upkeep.namespace_status import StatusResult, status

CONTEXT, NEEDS, CHANGES, SESSIONS = 3, 6, 5, 2
"""Maximum number of lines of each part, so that the dashboard fits on a screen of 24 lines."""
AT_WORK = "at work: "
COUNTED = ("open_loop", "follow_up", "pattern", "active_decision", "rule")


@command(
    "dashboard",
    short_help="Show the state of the work on one screen.",
    help="Show the state of the work on one screen: what needs attention, and the newest changes. In a repository, "
    "baton without arguments does the same.\n\n\b\n"
    "baton\nbaton dashboard -n project:memory-hall",
)
def dashboard_command(app: App) -> None:
    with app.workspace() as ws:
        app.tell_problems(ws)
        app = replace(app, read_state=lambda: ws.branch.read().state)
        try:
            ws.branch.check_exists()
        except NotFound as missing:
            if app.settings.options.namespace is not None:
                raise
            _tell_how_to_begin(app, missing)
            return
        state, ready = status(ws, app.now), list_ready(ws, app.now, limit=NEEDS)
        changes = [CommitResult.of(shown) for shown in islice(read_log(ws), CHANGES)]
        if app.json:
            log = [change.as_data() for change in changes]
            app.answer_json({"status": state.as_data(), "ready": ready.as_data(), "log": log})
        else:
            app.answer(None, join(list(_lines(app, ws, state, ready, changes)), "\n"))


def _tell_how_to_begin(app: App, missing: NotFound) -> None:
    parent = click.get_current_context().parent
    app.answer({}, parent.get_help() if parent is not None else "")
    app.say(str(missing), *([missing.hint] if missing.hint else []))


def _lines(
    app: App, ws: Workspace, state: StatusResult, ready: ReadyResult, changes: Sequence[CommitResult]
) -> Iterator[str]:
    heading = paint(state.namespace, Role.HEADING)
    yield join(
        [
            heading,
            f"  revision {state.revision}, {describe_age(state.updated_at, app.now)}"
            if state.revision
            else "  nothing recorded yet",
        ]
    )
    yield from _session_lines(app, state.status.sessions)
    yield from _context_lines(app, ws)
    yield ""
    yield from _need_lines(app, ready)
    yield ""
    later = [change for change in changes if change.parents]  # the first commit of a namespace changes no record
    if later:
        yield _head("Newest changes")
        yield app.reader.table(later, make_event_columns(app.reader, lambda change: change.subject), headings=False)
        yield ""
    yield _describe_counts(ws)
    yield app.reader.fit("baton list · show ID · ready · log · recall QUESTION · --help", 0)


def _session_lines(app: App, sessions: Sequence[Session]) -> Iterator[str]:
    newest = sorted(sessions, key=lambda session: session.started, reverse=True)
    goals = app.goals({session.id for session in newest[:SESSIONS]})
    for session in newest[:SESSIONS]:
        describe = partial(describe_session, app.reader, session, goals, taken=len(AT_WORK))
        yield f"{AT_WORK}{show_line(session.id, describe)}"
    if len(newest) > SESSIONS:
        yield f"         and {len(newest) - SESSIONS} more"


def _context_lines(app: App, ws: Workspace) -> Iterator[str]:
    """Yield the first lines of the newest context, and a line for each session that worked at the same time."""
    contexts = list_told_contexts(ws.branch.read().state)
    newest, others = contexts[:1], contexts[1:]
    texts = [line for context in newest for line in (context.text or "").splitlines() if line.strip()][:CONTEXT]
    texts += [f"{describe_writer(context, app.now)}: {context.text}" for context in others[:SESSIONS]]
    if len(others) > SESSIONS:
        texts.append(f"and the contexts of {len(others) - SESSIONS} more sessions (baton boot tells them)")
    for text in texts:
        yield paint(app.reader.fit(f"| {one_line(text, 400)}", 0), Role.DIM)


def _need_lines(app: App, ready: ReadyResult) -> Iterator[Styled]:
    if not ready.items:
        yield _head("Nothing needs attention now")
        return
    yield _head(f"Needs attention ({ready.total})")
    yield app.reader.table(ready.items, NEED_COLUMNS, headings=False)
    if ready.total > len(ready.items):
        yield join([f"and {ready.total - len(ready.items)} more: baton ready"])


NEED_COLUMNS = (
    Column("need", lambda item: item.need.replace("_", "-"), lambda item: item.role),
    Column("about", lambda item: item.title),
    Column("command", lambda item: item.command, Role.ID),
)


def _describe_counts(ws: Workspace) -> str:
    state = ws.branch.read().state
    counts = ((kind, len(state.ids(kind))) for kind in COUNTED)
    return ", ".join(f"{count} {KINDS[kind].name(count)}" for kind, count in counts if count) or "no records yet"


def _head(text: str) -> Styled:
    return join([paint(text, Role.HEADING)])


COMMANDS = {"dashboard": dashboard_command}
