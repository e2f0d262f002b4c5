"""`baton conflicts`, `resolve` and `merge-driver`: values that two sides changed differently."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import click

from baton_git.core.errors import StoreError
from baton_git.core.records.conflict import Conflict
from baton_git.git.store import Store
from baton_git.interfaces.cli.app import App, command, flat, read_bytes
from baton_git.interfaces.results.changed import place
from baton_git.interfaces.results.conflicts import listed, settled
from baton_git.namespace.commit_log import LogEntry
from baton_git.namespace.merge_driver import merge_file
from baton_git.verbs.conflict_blame import Writers, writers
from baton_git.verbs.conflicts import Side, conflicts, resolve


@command("conflicts")
def conflicts_command(app: App) -> None:
    """List the values that two sides changed differently; one of each stands for now, both are kept.

    \b
    baton conflicts
    """
    with app.workspace() as ws:
        found = conflicts(ws)
        told = writers(ws, found)
    rows = [(one, told.get(one.id, {})) for one in found]
    app.answer([listed(*row) for row in rows], "\n".join(_lines(*row) for row in rows))
    if not found:
        app.say("nothing is contested")
    else:
        app.say("settle one with: baton resolve ID --ours | --theirs | --value VALUE")


def _lines(one: Conflict, told: Writers) -> str:
    about = f"{one.record_kind.replace('_', ' ')} {flat(one.record_id)}".strip()
    field = f", {flat(one.field)}" if one.field else ", the whole record"
    sides = [
        f"  --{side:<7}{'(stands) ' if one.winner == side else '         '}{_said(one, side)}{_by(told.get(side))}"
        for side in get_args(Side)
    ]
    return "\n".join([f"{flat(one.id)}  {about}{field}", *sides])


def _by(entry: LogEntry | None) -> str:
    """Who gave a side its value, and when."""
    if entry is None:
        return ""
    who = f"session {entry.session}" if entry.session else entry.author.partition(" <")[0]
    where = f" on {entry.machine}" if entry.machine else ""
    return f"   ({flat(who + where)}, {entry.time.astimezone():%Y-%m-%d %H:%M})"


def _said(one: Conflict, side: str) -> str:
    if side not in one.model_fields_set:
        return "nothing"
    value = getattr(one, side)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return flat(text)[:200]


@command("resolve")
@click.argument("id_", metavar="ID")
@click.option("--ours", is_flag=True, help="The first value that baton conflicts shows.")
@click.option("--theirs", is_flag=True, help="The second one.")
@click.option("--value", metavar="VALUE", help="Another value: text, or JSON for anything else.")
def resolve_command(app: App, id_: str, ours: bool, theirs: bool, value: str | None) -> None:
    """Settle a conflict: choose whose value stands, or give another one.

    ID is that of the conflict, or of a record that has only one.

    \b
    baton resolve C-1f2e3d4c --theirs
    baton resolve OL-7k3f9q --value "the health check answers 200"
    """
    if ours + theirs + (value is not None) != 1:
        raise click.UsageError("say one of --ours, --theirs and --value")
    with app.workspace() as ws:
        side: Side | None = "ours" if ours else "theirs" if theirs else None
        conflict, done = resolve(ws, app.now, id_, side, None if value is None else _plain(value))
    app.answer({**settled(conflict), **place(done.revision)}, "")
    app.told(done)


def _plain(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


@command("merge-driver")
@click.argument("base", metavar="%O")
@click.argument("ours", metavar="%A")
@click.argument("theirs", metavar="%B")
@click.argument("path", metavar="%P")
def merge_driver_command(app: App, base: str, ours: str, theirs: str, path: str) -> int:
    """Merge one file of a namespace for git merge; baton init registers it.

    Exit status 1 when git should stop: a value is contested, or two records had one id. What belongs to the result is
    then in the work tree, and git add -A, git commit finish the merge.

    \b
    git config merge.baton.driver "baton merge-driver %O %A %B %P"
    baton merge-driver base.tmp ours.tmp theirs.tmp open_loops/OL-1.toml
    """
    with Store(app.settings.repository) as store:
        done = merge_file(store, path, *(read_bytes(one) for one in (base, ours, theirs)))
    _write(Path(ours), done.text)
    for name, text in done.beside.items():
        _write(Path(name), text)
        app.say(f"baton: {path}: {name} belongs to the merge too; finish it with git add -A and git commit")
    app.answer({"path": path, "beside": sorted(done.beside)}, "")
    return 1 if done.beside else 0


def _write(path: Path, text: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


COMMANDS = {"conflicts": conflicts_command, "resolve": resolve_command, "merge-driver": merge_driver_command}
