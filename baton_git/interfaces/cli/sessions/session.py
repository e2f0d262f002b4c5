"""Command-line additions to the verbs of ECC sessions: sessions that baton started, files, and the output."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import click

from baton_git.core.codecs import json
from baton_git.core.output import flat, json_text
from baton_git.core.styles import Column, Role
from baton_git.core.times import describe_age
from baton_git.git.files.atomic_files import read_bytes as read_file
from baton_git.git.files.atomic_files import write_all
from baton_git.interfaces.cli.app import INPUT_FILE, App, read_bytes
from baton_git.interfaces.cli.printing import write
from baton_git.interfaces.cli.sessions.spawned import list_spawned
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.workspace import Workspace
from baton_git.systems.ecc.record import CanonicalSession, Snapshot, parse_snapshot
from baton_git.systems.ecc.session_verbs import (
    RECORDED,
    InspectedTarget,
    InspectTarget,
    ListTargets,
    OfferedTarget,
    describe_snapshot,
    inspect_target,
    list_targets,
    summarize_snapshot,
)
from baton_git.systems.ecc.snapshots import list_recorded, record_latest, shorten_paths


def _list_sessions(app: App, ws: Workspace, verb_input: ListTargets, values: Values) -> None:
    """List the sessions that adapters can open, with marks for those that baton started.

    With --recorded, list only recorded sessions; with --spawned, only those that baton started.
    """
    if values.get("recorded") and values.get("spawned"):
        raise click.UsageError("give --recorded or --spawned, not both")
    if values.get("spawned") and verb_input.adapter is not None:
        raise click.UsageError("give --spawned or --adapter, not both")
    if values.get("spawned"):
        list_spawned(app, ws, verb_input.limit)
    elif values.get("recorded"):
        recorded = [
            snapshot for snapshot in list_recorded(ws) if verb_input.adapter in (None, snapshot.snapshot.adapterId)
        ]
        recorded = recorded[: verb_input.limit]
        summaries = [summarize_snapshot(snapshot).model_dump() for snapshot in recorded]
        app.answer(summaries, _make_recorded_table(app, recorded))
    else:
        with _redirect_stdout():
            result = list_targets(ws, app.now, verb_input)
        app.say(*(flat(problem) for problem in result.unreadable))
        app.answer(result.as_data(), _make_offered_table(app, result.sessions))
        app.say(*result.describe_problems())


def _inspect(app: App, ws: Workspace, verb_input: InspectTarget, values: Values) -> None:
    """Print a snapshot; with --write also write it to a file, and with --record also record it."""
    result = _open_target(app, ws, verb_input)
    text = json_text(result.snapshot)
    if "file" in values:
        write_all({values["file"]: f"{text}\n".encode()})
    write(text)
    is_recorded_already = verb_input.target.startswith(RECORDED)
    if values.get("record", app.settings.records_snapshots and not is_recorded_already):
        app.tell_write(record_latest(ws, app.now, parse_snapshot(shorten_paths(ws, result.snapshot))).written)


def _open_target(app: App, ws: Workspace, verb_input: InspectTarget) -> InspectedTarget:
    with _redirect_stdout():
        result = inspect_target(ws, app.now, verb_input)
    app.say(*result.describe_problems())
    return result


@contextmanager
def _redirect_stdout() -> Iterator[None]:
    """Redirect stdout to stderr, so that adapters of other packages cannot mix their output with the result."""
    with redirect_stdout(sys.stderr):
        yield


def _read(file: str) -> CanonicalSession:
    content = read_bytes(file) if file == "-" else read_file(Path(file))
    return parse_snapshot(json.loads(content, where=file), where=file)


def _make_offered_table(app: App, sessions: Sequence[OfferedTarget]) -> str:
    """Return a table of sessions that can be opened, with the id and status of those that baton started."""

    def shorten(text: str) -> str:
        """Return the target or title with the short name of a session of baton; other adapters want whole ids."""
        return app.sessions.shorten_in(text) if text.startswith(("baton:", "Session ")) else text

    columns = [
        Column("updated", lambda session: describe_age(session.updated_at, app.now), Role.DIM),
        Column("started here", lambda session: f"{session.spawned} {session.status}".strip()),
        Column("title", lambda session: flat(shorten(session.title))),
        Column("target", lambda session: shorten(session.target), Role.ID),
    ]
    return app.reader.table(sessions, columns)


def _make_recorded_table(app: App, recorded: Sequence[Snapshot]) -> str:
    columns = [
        Column("recorded", lambda snapshot: describe_age(snapshot.recorded_at, app.now), Role.DIM),
        Column("about", lambda snapshot: flat(describe_snapshot(snapshot.snapshot))),
        Column("id", lambda snapshot: app.sessions.shorten(snapshot.id), Role.ID),
    ]
    return app.reader.table(recorded, columns)


def _fill_snapshot(app: App, values: Values) -> Values:
    """Add the snapshot from the file or from the target."""
    target, file = values.get("target"), values.get("file")
    if target is not None and file is not None:
        raise click.UsageError("give a TARGET or --file, not both")
    if file is not None:
        return {"snapshot": _read(file).as_data()}
    if target is None:
        raise click.UsageError("give a TARGET, or --file with a snapshot")
    verb_input = InspectTarget(
        target=target, adapter=values.get("adapter"), target_type=values.get("target_type")
    )  # fmt: skip
    with app.workspace() as ws:
        return {"snapshot": _open_target(app, ws, verb_input).snapshot}


ADAPTER = click.option("--adapter", metavar="ID", help="The adapter to use. Default: try each.")
TARGET_TYPE = click.option(
    "--target-type",
    metavar="TYPE",
    help="How to read TARGET, if it is ambiguous: one of the types that baton session adapters lists.",
)
TARGET = click.argument("target", required=False)
FILE = click.option("--file", type=INPUT_FILE, metavar="FILE|-", help="Read the snapshot as JSON from a file.")
LISTS = (
    click.option("--recorded", is_flag=True, help="List the sessions recorded in this namespace."),
    click.option("--spawned", is_flag=True, help="List only sessions that baton started in this repository."),
)
COPIES = (
    click.option(
        "--write", "file", metavar="FILE", type=click.Path(path_type=Path), help="Also write the snapshot to this file."
    ),
    click.option(
        "--record/--no-record",
        default=None,
        help="Also record the snapshot. Default: git config baton.recordSnapshots.",
    ),
)
ADDITIONS = {
    "session list": Addition(LISTS, run=_list_sessions),
    "session inspect": Addition(COPIES, run=_inspect),
    "session record": Addition([TARGET, ADAPTER, TARGET_TYPE, FILE], fill=_fill_snapshot),
}
