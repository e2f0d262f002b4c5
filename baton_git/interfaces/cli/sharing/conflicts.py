"""`baton merge-driver`, and what the command line adds to the verbs of conflicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import click

from baton_git.core.errors import StoreError
from baton_git.core.times import parse_time
from baton_git.git.store import Store
from baton_git.interfaces.cli.app import App, command, flat, read_bytes
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.merge_driver import merge_file
from baton_git.verbs.sharing.conflict_resolution import Side
from baton_git.verbs.sharing.conflicts import ConflictList, SettledConflict


def _render_conflicts(app: App, result: ConflictList) -> None:
    app.answer(result.as_data(), "\n".join(_describe(conflict) for conflict in result.conflicts))
    if not result.conflicts:
        app.say("nothing is contested")
    else:
        app.say("settle one with: baton resolve ID --ours | --theirs | --value VALUE")
    if result.next is not None:
        app.say(f"there are more: baton conflicts --after {flat(result.next)}")


def _describe(conflict: dict[str, Any]) -> str:
    about = f"{conflict['record_kind'].replace('_', ' ')} {flat(conflict['record_id'])}".strip()
    field = f", {flat(conflict['field'])}" if conflict["field"] else ", the whole record"
    sides = [
        f"  --{side:<7}{'(stands) ' if conflict['winner'] == side else '         '}"
        f"{_value_of(conflict, side)}{_writer_of(conflict, side)}"
        for side in get_args(Side)
    ]
    return "\n".join([f"{flat(conflict['id'])}  {about}{field}", *sides])


def _writer_of(conflict: dict[str, Any], side: str) -> str:
    """Who gave a side its value, and when."""
    writer = conflict["writers"].get(side)
    if writer is None:
        return ""
    who = f"session {writer['session']}" if writer["session"] else writer["author"].partition(" <")[0]
    where = f" on {writer['machine']}" if writer["machine"] else ""
    time = parse_time(writer["time"]).astimezone()
    return f"   ({flat(who + where)}, {time:%Y-%m-%d %H:%M})"


def _value_of(conflict: dict[str, Any], side: str) -> str:
    if side not in conflict:
        return "nothing"
    value = conflict[side]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return flat(text)[:200]


def _fill_value(app: App, values: Values) -> Values:
    """Read the value as JSON where it is some; any other text stands for itself."""
    if "value" not in values:
        return values
    try:
        return values | {"value": json.loads(values["value"])}
    except ValueError:
        return values


def _render_settled(app: App, result: SettledConflict) -> None:
    app.answer(result.as_data(), "")
    app.tell_change(result)


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


ADDITIONS = {
    "conflicts": Addition(render=_render_conflicts),
    "resolve": Addition(fill=_fill_value, render=_render_settled),
}
COMMANDS = {"merge-driver": merge_driver_command}
