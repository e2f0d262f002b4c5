"""Command-line additions to `list`: print a table for each kind."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import click

from baton_git.core.kinds import KINDS, find_kind
from baton_git.core.output import flat
from baton_git.core.verb import Option
from baton_git.interfaces.cli.app import App, path_from_top
from baton_git.interfaces.cli.verb_command import Addition, Values, verb_command
from baton_git.namespace.remote_selection import count_waiting_commits
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.records.listing import ListedRecords, RecordFilter, list_records
from baton_git.verbs.sharing.review_notice import describe_waiting


def _list_records(app: App, ws: Workspace, verb_input: RecordFilter, values: Values) -> ListedRecords:
    """List the records. Without --json, also print to stderr how many commits of each remote wait, because the list
    does not contain their changes."""
    if not app.json:
        for remote, commits in count_waiting_commits(ws):
            app.say(flat(describe_waiting(ws.branch, remote, commits)))
    return list_records.verb.run(ws, app.now, verb_input)


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

    fill=fill_filter, run=_list_records, session_help="Only records that this session created or changed.",
    agent_help="Only records that this agent created or changed.",
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
