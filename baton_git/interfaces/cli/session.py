"""`baton session`: list, stop, inspect, record, history, adapters."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from itertools import islice
from pathlib import Path

import click

from baton_git.agents.sessions.records import SpawnedSession
from baton_git.core.codecs import json
from baton_git.core.output import json_text
from baton_git.core.records.base import parse
from baton_git.core.records.lineage import Session
from baton_git.git.files.atomic_files import read_bytes as read_file
from baton_git.git.files.atomic_files import write_all
from baton_git.interfaces.cli.app import App, command, flat, group, read_bytes
from baton_git.interfaces.cli.history import session_line
from baton_git.interfaces.cli.printing import write
from baton_git.interfaces.cli.spawned import list_spawned, mark_of, marks_of_spawned, stop_command
from baton_git.interfaces.cli.verb_command import Addition, Values, verb_command
from baton_git.namespace.workspace import Workspace
from baton_git.systems.ecc.adapters.adapter import Listed, Surroundings, Target
from baton_git.systems.ecc.adapters.all_adapters import (
    BrokenAdapter,
    OpenedSession,
    list_adapters,
    list_sessions,
    open_target,
)
from baton_git.systems.ecc.adapters.canonical import parse_snapshot
from baton_git.systems.ecc.record import CanonicalSession, Snapshot
from baton_git.systems.ecc.snapshot_verbs import (
    RECORDED,
    FormerSnapshot,
    RecordedSnapshot,
    SnapshotHistory,
    SnapshotList,
    summarise_snapshot,
)
from baton_git.systems.ecc.snapshots import find, record, recorded
from baton_git.verbs.lineage import Lineage
from baton_git.verbs.table import verbs_of

ADAPTER = click.option("--adapter", metavar="ID", help="Who must know it; else each is asked in turn.")
TARGET_TYPE = click.option("--target-type", metavar="TYPE", help="What TARGET is: plan, session, claude-alias, …")
LIMIT = click.option("--limit", "-l", type=click.IntRange(1), default=20, show_default=True, help="At most this many.")


@command("list", short_help="What can be opened, newest first.")
@ADAPTER
@click.option("--recorded", "is_recorded", is_flag=True, help="What was recorded in this namespace instead.")
@click.option("--spawned", "is_spawned", is_flag=True, help="What workflows and loops started in this repository.")
@LIMIT
def list_command(app: App, adapter: str | None, is_recorded: bool, is_spawned: bool, limit: int) -> None:
    """The sessions that adapters can open, newest first, each with its target. One that a workflow or a loop started
    is marked with the id under which baton session stop knows it.

    \b
    baton session list
    baton session list --adapter claude-history --limit 5
    baton session list --recorded
    baton session list --spawned
    """
    if is_recorded and is_spawned:
        raise click.UsageError("give --recorded or --spawned, not both")
    if is_spawned and adapter is not None:
        raise click.UsageError("give --spawned or --adapter, not both: started sessions belong to no adapter")
    with app.workspace() as ws:
        if is_spawned:
            list_spawned(app, ws, limit)
        elif is_recorded:
            kept = [snapshot for snapshot in recorded(ws) if adapter in (None, snapshot.snapshot.adapterId)][:limit]
            summaries = [summarise_snapshot(snapshot).model_dump() for snapshot in kept]
            app.answer(summaries, "\n".join(_kept_line(snapshot) for snapshot in kept))
        else:
            with _apart():
                sessions, broken = list_sessions(_around(app, ws), adapter)
                shown = list(islice(sessions, limit))
            marks = marks_of_spawned(app, ws)
            app.answer(
                [
                    {"adapter": session.adapter, **session.listed._asdict(), **mark_of(marks, session.listed.target)}
                    for session in shown
                ],
                "\n".join(
                    _line(session.listed.updated_at, session.listed.target, *_prefix_mark(marks, session.listed))
                    for session in shown
                ),
            )
            _warn(app, broken)


@command("inspect", short_help="Print the canonical snapshot of a session.")
@click.argument("target")
@ADAPTER
@TARGET_TYPE
@click.option("--write", "file", metavar="FILE", type=click.Path(path_type=Path), help="Into this file as well.")
@click.option("--record", "is_kept", is_flag=True, help="Record it as well.")
def inspect_command(
    app: App, target: str, adapter: str | None, target_type: str | None, file: Path | None, is_kept: bool
) -> None:
    """Print the canonical snapshot (ecc.session.v1) of a session, as JSON.

    TARGET is one that baton session list shows, the path of a plan, of a session file or of a transcript,
    or recorded:ADAPTER/ID for what was recorded.

    \b
    baton session inspect claude:latest
    baton session inspect workflow-visual-proof --adapter dmux-tmux
    baton session inspect codex:latest --write /tmp/session.json
    """
    with app.workspace() as ws:
        opened = _open_target(app, ws, target, adapter, target_type)
        text = json_text(opened.data)
        if file is not None:
            write_all({file: f"{text}\n".encode()})
        write(text)
        if is_kept:
            app.tell_write(record(ws, app.now, opened.snapshot).written)


@command("adapters", short_help="Which sources of sessions there are.")
def adapters_command(app: App) -> None:
    """The sources of sessions that there are, also those that other packages bring.

    \b
    baton session adapters
    """
    with _apart():
        known = list_adapters()
    usable = [adapter for adapter in known if not isinstance(adapter, BrokenAdapter)]
    data = [
        {"id": adapter.ID, "description": adapter.DESCRIPTION, "targetTypes": list(adapter.TARGET_TYPES)}
        for adapter in usable
    ]
    app.answer({"adapters": data}, json_text({"adapters": data}))
    _warn(app, [adapter for adapter in known if isinstance(adapter, BrokenAdapter)])


# --- what they share


def _around(app: App, ws: Workspace) -> Surroundings:
    return Surroundings(Path.home(), Path.cwd(), app.now, dict(os.environ), ws.branch.read().state)


def _open_target(app: App, ws: Workspace, target: str, adapter: str | None, target_type: str | None) -> OpenedSession:
    if target.startswith(RECORDED) and adapter is None:
        kept = find(ws.branch.read().state, target.removeprefix(RECORDED)).snapshot
        return OpenedSession(kept.as_data(), kept)
    with _apart():
        opened = open_target(Target(target, target_type or ""), _around(app, ws), adapter)
    _warn(app, opened.problems)
    return opened


@contextmanager
def _apart() -> Iterator[None]:
    """While others' adapters run, what they print goes to stderr: standard output is the answer's."""
    with redirect_stdout(sys.stderr):
        yield


def _read(file: str) -> CanonicalSession:
    content = read_bytes(file) if file == "-" else read_file(Path(file))
    return parse_snapshot(json.loads(content, where=file), where=file)


def _warn(app: App, broken: Sequence[BrokenAdapter]) -> None:
    for adapter in broken:
        how = "left something out" if adapter.partly else "cannot be used"
        app.say(flat(f"the session adapter {adapter.id} {how}: {adapter.why}"))


def _line(*parts: str) -> str:
    time, *rest = (flat(part) for part in parts)
    return "  ".join([f"{time or '-':<24}", *rest])


def _prefix_mark(marks: Mapping[str, SpawnedSession], listed: Listed) -> tuple[str, ...]:
    mark = mark_of(marks, listed.target)
    return (*((f"[{mark['spawned']} {mark['status']}]",) if mark else ()), listed.title)


def _kept_line(snapshot: Snapshot) -> str:
    return _line(snapshot.recorded_at, snapshot.id, _in_words(snapshot.snapshot))


def _in_words(snapshot: CanonicalSession) -> str:
    number = len(snapshot.workers)
    about = snapshot.workers[0].intent.objective if number == 1 else f"{number} workers"
    return f"{snapshot.session.state}: {about}"


def _fill_snapshot(app: App, values: Values) -> Values:
    """Take the snapshot from the file, or open the target."""
    target, file = values.get("target"), values.get("file")
    if target is not None and file is not None:
        raise click.UsageError("give a TARGET or --file, not both")
    if file is not None:
        return {"snapshot": _read(file).as_data()}
    if target is None:
        raise click.UsageError("give a TARGET, or --file with a snapshot")
    with app.workspace() as ws:
        opened_session = _open_target(app, ws, target, values.get("adapter"), values.get("target_type"))
    return {"snapshot": opened_session.snapshot.as_data()}


def _render_recorded(app: App, result: RecordedSnapshot) -> None:
    app.answer(result.as_data(), flat(result.id))
    app.tell_change(result)


def _render_history(app: App, result: SnapshotHistory) -> None:
    lines = [_former_line(former) for former in result.snapshots]
    app.answer(result.as_data()["snapshots"], "\n".join(lines))


def _former_line(former: FormerSnapshot) -> str:
    revision = (former.commit or "?")[:10] if former.revision is None else str(former.revision)
    return _line(former.recorded_at, f"revision {revision}", _in_words(parse(CanonicalSession, former.snapshot)))


def _render_snapshots(app: App, result: SnapshotList) -> None:
    lines = [_line(kept.recorded_at, kept.id, kept.state, f"{kept.workers} workers") for kept in result.snapshots]
    app.answer(result.as_data(), "\n".join(lines))


def _render_lineage(app: App, result: Lineage) -> None:
    app.answer(result.as_data(), "\n".join(session_line(parse(Session, session)) for session in result.sessions))


TARGET = click.argument("target", required=False)
FILE = click.option("--file", metavar="FILE|-", help="A snapshot in JSON instead of a target.")
ADDITIONS = {
    "session record": Addition([TARGET, ADAPTER, TARGET_TYPE, FILE], fill=_fill_snapshot, render=_render_recorded),
    "session history": Addition(render=_render_history),
    "session snapshots": Addition(render=_render_snapshots),
    "session lineage": Addition(render=_render_lineage),
}
DERIVED = [verb_command(verb, ADDITIONS.get(name, Addition())) for name, verb in verbs_of("session").items()]
COMMANDS = {
    "session": group(
        "session",
        "Sessions of agents as ECC's snapshots: list, inspect, record, look back.",
        [list_command, stop_command, inspect_command, *DERIVED, adapters_command],
    )
}
