"""Command-line additions to `list`: print a table for each kind."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from itertools import groupby
from pathlib import Path

import click

from baton_git.core.kinds import KINDS, find_kind
from baton_git.core.lifecycle import WAITS
from baton_git.core.natural_times import describe_age
from baton_git.core.output import Styled
from baton_git.core.records.base import parse
from baton_git.core.records.lineage import Session
from baton_git.core.verb import Option
from baton_git.interfaces.cli.app import App, flat, path_from_top
from baton_git.interfaces.cli.rendering.pager import write_paged
from baton_git.interfaces.cli.rendering.session_line import describe_whose, describe_work
from baton_git.interfaces.cli.rendering.styles import Role, join, paint, shows_styles
from baton_git.interfaces.cli.rendering.table import Column, render_table
from baton_git.interfaces.cli.verb_command import Addition, Values, verb_command
from baton_git.namespace.provenance.judgement import word_of_kind
from baton_git.namespace.remote_selection import count_waiting_commits
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.records.listing import ListedRecords, RecordFilter, list_records
from baton_git.verbs.records.stored import PROPOSED, StoredRecord
from baton_git.verbs.sharing.review_notice import describe_waiting

STATUS_ROLES = {
    **dict.fromkeys(("failed", "escalated", "unreadable"), Role.BAD),
    **dict.fromkeys(("elevated", "rule_candidate"), Role.WARNING),
    **dict.fromkeys(("verified", "graduated"), Role.GOOD),
}
"""The style of each status; others are plain."""


def describe_status(record: StoredRecord) -> str:
    """Return the status of a record in words; `unreadable` if the record cannot be read."""
    return "unreadable" if record.unreadable is not None else (record.status or "").replace("_", " ")


def status_role(record: StoredRecord) -> Role:
    """Return the style of a record's status."""
    return STATUS_ROLES.get(describe_status(record).replace(" ", "_"), Role.PLAIN)


def describe_source(record: StoredRecord) -> str:
    """Return who vouches for a record, in one or two words; empty for an agent on this machine or if it is unknown."""
    source = record.provenance
    if source is None or source.kind == "agent":
        return ""
    return word_of_kind(source.kind, source.remote or "")


def _describe_about(record: StoredRecord, goals: Mapping[str, str]) -> str:
    if record.unreadable is not None:
        return record.unreadable.why
    closed = f" ({record.closed.reason})" if record.closed is not None else ""
    changed = f" · {record.aging}" if record.aging else ""
    waits = f" · {WAITS}" if record.waits else ""
    return f"{_describe_work(record, goals)}{closed}{waits}{changed}{describe_proposal(record, ' · ')}"


def _describe_work(record: StoredRecord, goals: Mapping[str, str]) -> str:
    """Return the title of a record; of a session also who ran it."""
    if record.kind != Session.kind or record.record is None:
        return record.title
    session = parse(Session, record.record)
    return " · ".join(filter(None, (describe_work(session, goals), describe_whose(session, with_machine=False))))


def describe_proposal(record: StoredRecord, before: str = "") -> str:
    """Return the proposal that a decision is part of and the text on its other side; empty if there is none."""
    if record.proposal is None:
        return ""
    held = ", which is in force" if record.status == PROPOSED else ""
    return f"{before}{record.proposal}{held}: {record.counterpart}"


def _columns(app: App, goals: Mapping[str, str], *, with_kind: bool) -> list[Column]:
    kind = [Column("kind", lambda record: KINDS[record.kind].title)] if with_kind else []
    return [
        *kind,
        Column("status", describe_status, status_role),
        Column("changed", lambda record: describe_age(record.updated, app.now), Role.DIM),
        Column("source", describe_source),
        Column("about", lambda record: _describe_about(record, goals)),
        Column("id", lambda record: app.sessions.shorten(record.id), Role.ID),
    ]


def _render_records(app: App, result: ListedRecords) -> None:
    if app.json:
        app.answer_json(result.as_data())
        return
    if result.records:
        write_paged(_make_tables(app, _join_proposals(result.records)))
    else:
        app.say("no record matches")
    if result.next is not None:
        app.say(f"there are more records; to list them, add --after {result.next}, or a higher --limit")


def _join_proposals(records: list[StoredRecord]) -> list[StoredRecord]:
    """Return the records without those that are proposed to replace a listed one: the row of that one tells both."""
    told = {record.proposal for record in records if record.status != PROPOSED}
    return [record for record in records if record.status != PROPOSED or record.proposal not in told]


def _list_records(app: App, ws: Workspace, verb_input: RecordFilter, values: Values) -> ListedRecords:
    """List the records. Without --json, also print to stderr how many commits of each remote wait, because the list
    does not contain their changes."""
    if not app.json:
        for remote, commits in count_waiting_commits(ws):
            app.say(flat(describe_waiting(ws.branch, remote, commits)))
    return list_records.verb.run(ws, app.now, verb_input)


def _make_tables(app: App, records: list[StoredRecord]) -> Styled:
    """Return a table for each kind; a single table if the records are not sorted by kind."""
    goals = app.goals({record.id for record in records if record.kind == Session.kind})
    groups = [(kind, list(items)) for kind, items in groupby(records, key=lambda record: record.kind)]
    if len({kind for kind, _ in groups}) < len(groups):
        return render_table(records, _columns(app, goals, with_kind=True))
    if len(groups) == 1:
        return render_table(records, _columns(app, goals, with_kind=False))
    parts: list[str] = []
    for kind, items in groups:
        title = f"{KINDS[kind].name(2).capitalize()} ({len(items)})"
        heading = paint(title, Role.HEADING, styled=shows_styles())
        parts.append(join([heading, render_table(items, _columns(app, goals, with_kind=False), headings=False)], "\n"))
    return join(parts, "\n\n")


def fill_filter(app: App, values: Values) -> Values:
    """Return the values with --session and --agent as filters, and with the path of --about (PATH or PATH:SYMBOL), if
    it exists, relative to the top of the work tree. The default of the limit is 1000."""
    options = app.settings.options
    named = {"by_session": options.session, "by_agent": options.agent}
    about = values.get("about")
    if about and any(path and os.path.lexists(path) for path in (about, about.partition(":")[0])):
        named["about"] = path_from_top(app, os.path.relpath(about) if Path(about).is_absolute() else about)
    return {"limit": 1000} | values | {name: value for name, value in named.items() if value is not None}


LISTING = Addition(
    about="With --session or --agent, only records that the session or agent created or changed are listed.",
    fill=fill_filter, run=_list_records, session_help="Only records that this session created or changed.",
    agent_help="Only records that this agent created or changed.",
    render=_render_records,
)  # fmt: skip
ADDITIONS = {"list": LISTING}


def make_family_list_command(word: str) -> click.Command:
    """Return the command that lists the records of one kind, such as `baton loop list`."""
    kind = find_kind(word)
    assert kind is not None
    declared = list_records.verb
    options = {**declared.options, "kind": Option(hidden=True)}
    examples = (f"baton {word} list", f"baton {word} list --sort newest --since 2026-06-17")

    def run(ws: Workspace, now: datetime, verb_input: RecordFilter) -> ListedRecords:
        return declared.run(ws, now, verb_input)

    run.__doc__ = f"List the {KINDS[kind].name(2)}, including unreadable ones."
    family = declared._replace(name=f"{word} list", run=run, positional=(), options=options, examples=examples)
    return verb_command(family, LISTING._replace(fill=lambda app, values: {**fill_filter(app, values), "kind": kind}))
