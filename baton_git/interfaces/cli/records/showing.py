"""Command-line additions to `show`: show a record of any kind as well as a revision, and print both as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from textwrap import indent
from typing import Any

import click

from baton_git.core.errors import Ambiguous, InvalidArgument, NotFound
from baton_git.core.isolation import Failure, isolate
from baton_git.core.kinds import KINDS
from baton_git.core.natural_times import describe_age
from baton_git.core.output import Styled, terminal_line
from baton_git.core.times import parse_time_or_none
from baton_git.core.verb import Result
from baton_git.interfaces.cli.app import App
from baton_git.interfaces.cli.common_command import find_completer
from baton_git.interfaces.cli.records.listing import describe_proposal, describe_status, status_role
from baton_git.interfaces.cli.rendering.pager import write_paged
from baton_git.interfaces.cli.rendering.styles import Role, join, paint, shows_styles
from baton_git.interfaces.cli.rendering.table import Column, render_table
from baton_git.interfaces.cli.rendering.widths import wrap_after
from baton_git.interfaces.cli.revisions.change_lines import describe_author
from baton_git.interfaces.cli.revisions.history import render_commit
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.records.details import RecordEvent, ShownRecord, find_exact, find_record, show_record
from baton_git.verbs.records.stored import PROPOSED
from baton_git.verbs.revisions.log import CommitResult, OneRevision, show

LABEL = 20
"""Width of the column of field names, in characters."""
EMPTY: tuple[Any, ...] = (None, "", [], {}, ())
"""Values that are not shown."""
REVISION = "revision or record"


def _show(app: App, ws: Workspace, verb_input: OneRevision, values: Values) -> Result:
    """Show the revision or record that the text names. A revision takes precedence over the beginning of an id.

    Raises:
        Ambiguous: the text names a revision and is the id of a record.
        NotFound: the text names neither.
    """
    text, at = verb_input.revision, values.get("at")
    if at is not None:
        return show_record(ws, app.now, text, at=at)
    tip = ws.branch.read()
    if tip.commit is None:
        return show(ws, app.now, verb_input)
    records, revision = find_exact(tip.state, text), _find_revision(ws, text)
    if records and revision:
        names = [revision, *(f"{key.kind}/{key.id}" for key in records)]
        raise Ambiguous(REVISION, text, names, hint="name the record as KIND/ID, or the commit by its id")
    if revision:
        return show(ws, app.now, verb_input)
    try:
        find_record(tip.state, text)
    except NotFound:
        raise NotFound(REVISION, text, hint="baton list shows the records, baton log the revisions") from None
    return show_record(ws, app.now, text)


def _find_revision(ws: Workspace, text: str) -> str:
    """Return the name of the revision that the text names; empty if it names none."""
    try:
        return ws.branch.name_commit(ws.branch.resolve(text))
    except Ambiguous:
        return f"revision {text}"
    except (NotFound, InvalidArgument):
        return ""


def _render_shown(app: App, result: Result) -> None:
    if isinstance(result, ShownRecord):
        render_record(app, result)
    elif isinstance(result, CommitResult):
        render_commit(app, result)


def render_record(app: App, result: ShownRecord) -> None:
    """Print a record: its fields, its origin, and its newest changes."""
    if app.json:
        app.answer_json(result.as_data())
    else:
        write_paged(join(list(_record_lines(app, result)), "\n"))


def _record_lines(app: App, result: ShownRecord) -> Iterator[str]:
    yield _heading(app, result)
    if result.title:
        yield wrap_after("", result.title)
    yield ""
    yield from _field_lines(app, result)
    yield from _source_lines(app, result)
    if result.history:
        *columns, what = make_event_columns(app)
        yield ""
        yield render_table(result.history, [*columns, what._replace(wraps=True)], headings=False)
    if result.earlier:
        yield f"and {result.earlier} earlier: baton log --record {terminal_line(result.id)}"
    if result.unread:
        yield f"older changes cannot be read: {terminal_line(result.unread)}"
    if result.ready is not None:
        yield ""
        yield join([f"{result.ready.why}; next: ", _paint(result.ready.command, Role.ID)])


def _heading(app: App, result: ShownRecord) -> Styled:
    parts = [_paint(app.sessions.shorten(result.id), Role.HEADING), KINDS[result.kind].title]
    if describe_status(result):
        parts.append(_paint(describe_status(result), status_role(result)))
    if result.closed is not None:
        parts.append(f"archived {describe_age(result.closed.at, app.now)}: {result.closed.reason}")
    return join(parts, "  ")


def _field_lines(app: App, result: ShownRecord) -> Iterator[str]:
    if result.unreadable is not None:
        yield _field("cannot be read", f"{result.unreadable.path}: {result.unreadable.why}")
        return
    if app.sessions.shorten(result.id) != result.id:
        yield _field("id", result.id)
    hidden = {"id", KINDS[result.kind].about, "status", "priority", "anchors", "replaces"}
    for name, value in (result.record or {}).items():
        if name not in hidden and value not in EMPTY:
            text = isolate(lambda value=value: _show_value(app, value))  # type: ignore[misc]
            yield _field(name.replace("_", " "), str(value) if isinstance(text, Failure) else text)


def _show_value(app: App, value: Any) -> str:
    """Return a value as text: the filled fields of a table, a line for each item of a list, a time with its age.

    A table is on one line, unless one of its fields is itself a table or a list.
    """
    if isinstance(value, Mapping):
        fields = {name.replace("_", " "): item for name, item in value.items() if item not in EMPTY}
        if _is_nested(value):
            return "\n".join(_show_field(app, name, item) for name, item in fields.items())
        return ", ".join(f"{name} {_show_value(app, item)}" for name, item in fields.items())
    if isinstance(value, list | tuple):
        return "\n".join(indent(f"- {_show_value(app, item)}", "  ").strip() for item in value)
    text = str(value)
    return f"{text} ({describe_age(text, app.now)})" if parse_time_or_none(text) is not None else text


def _show_field(app: App, name: str, value: Any) -> str:
    """Return `name: text`; if the text has several lines, return the name on a line above the text."""
    text = _show_value(app, value)
    return f"{name}:\n{indent(text, '  ')}" if _is_nested(value) or "\n" in text else f"{name}: {text}"


def _is_nested(value: Any) -> bool:
    """Return whether a value needs a line for each of its parts: a list, or a table with a table or list in it."""
    if isinstance(value, Mapping):
        return any(isinstance(item, Mapping | list | tuple) for item in value.values() if item not in EMPTY)
    return isinstance(value, list | tuple)


def _source_lines(app: App, result: ShownRecord) -> Iterator[str]:
    for anchor in result.anchors or ():
        state = f", {anchor.text}" if anchor.text else ""
        yield _field("about", f"{anchor.path}{f':{anchor.symbol}' if anchor.symbol else ''}{state}")
    if result.proposal is not None:
        yield _field(
            "proposal", f"{describe_proposal(result)}; to settle it: baton decision confirm {_proposed_in(result)}"
        )
    if result.provenance is not None:
        yield _field("vouched for", result.provenance.text)
    if result.began is not None:
        yield _field("made by", _describe_maker(app, result.began))
    for id_ in result.conflicts:
        yield _field("conflict", f"{id_} (baton resolve {id_} --ours or --theirs)")


def _proposed_in(result: ShownRecord) -> str:
    """Return the id of the proposed decision: the shown one, or the first that is proposed to replace it."""
    return result.id if result.status == PROPOSED else (result.proposal or "").partition(",")[0].split(" and ")[0]


def _describe_maker(app: App, event: RecordEvent) -> str:
    age = describe_age(event.time, app.now)
    if event.session is None:
        return f"{event.author}, {age}"
    by = " ".join(filter(None, (event.agent, f"on {event.machine}" if event.machine else "")))
    who = event.author.partition(" <")[0] + (f" ({by})" if by else "")
    return f"{who}, {age}, session {app.sessions.shorten(event.session)}"


def make_event_columns(app: App, text: Callable[[Any], str] = lambda event: event.text) -> list[Column]:
    """Return the columns of a table of commits: revision, time, person and agent, and the text that `text` returns."""

    def number(event: Any) -> object:
        return event.revision if event.revision is not None else event.commit[:10]

    def what(event: Any) -> str:
        changes = [change.id for change in getattr(event, "changes", ())]
        return app.sessions.shorten_in(text(event), filter(None, (event.session, *changes)))

    return [
        Column("revision", number, Role.WARNING, right=True),
        Column("when", lambda event: describe_age(event.time, app.now), Role.DIM),
        Column("who", lambda event: describe_author(event) if event.op != "merge" else "", Role.ID),
        Column("what", what),
    ]


def _field(name: str, text: str) -> Styled:
    label = terminal_line(name)
    return wrap_after(join([_paint(label, Role.DIM), " " * max(LABEL - len(label), 1)]), text)


def _paint(text: str, role: Role) -> str:
    return paint(text, role, styled=shows_styles())


AT = click.option(
    "--at",
    metavar="REV|TIME",
    shell_complete=find_completer("at", "show"),
    help="Show the record as it was at this revision or time.",
)
ADDITIONS = {
    "show": Addition(
        (AT,),
        about="Given the id of a record (or a unique beginning of it, or KIND/ID), show the record, live or archived: "
        "its fields, who vouches for it, its origin, and its newest changes.",
        run=_show,
        render=_render_shown,
    ),
    "record": Addition(render=render_record),
}
