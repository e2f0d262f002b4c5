"""`baton merge-driver`, and command-line additions to `conflicts` and `resolve`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import click

from baton_git.core.errors import StoreError
from baton_git.core.isolation import Failure, isolate
from baton_git.core.kinds import ALL_KINDS
from baton_git.core.natural_times import describe_age
from baton_git.core.output import Styled
from baton_git.git.store import Store
from baton_git.interfaces.cli.app import App, command, flat, read_bytes
from baton_git.interfaces.cli.rendering.styles import Role, join, paint, shows_styles
from baton_git.interfaces.cli.rendering.table import Column, render_table
from baton_git.interfaces.cli.rendering.widths import fit
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.merge_driver import merge_file
from baton_git.verbs.sharing.conflict_resolution import Side
from baton_git.verbs.sharing.conflicts import ConflictList, ResolvedConflict

LONGEST = 1000
"""Maximum width of a value, in terminal columns; --json prints the whole value."""
SIDE_COLUMNS = (
    Column("side", lambda row: row[0], Role.ID),
    Column("", lambda row: row[1], Role.GOOD),
    Column("value", lambda row: row[2], lambda row: row[3], wraps=True),
)


def _render_conflicts(app: App, result: ConflictList) -> None:
    app.answer(result.as_data(), join([_describe_safely(app, conflict) for conflict in result.conflicts], "\n"))
    if not result.conflicts:
        app.say("there is no open conflict")
    else:
        app.say("to resolve one: baton resolve ID --ours | --theirs | --value VALUE")
    if result.next is not None:
        app.say(f"there are more conflicts: baton conflicts --after {flat(result.next)}")


def _describe_safely(app: App, conflict: dict[str, Any]) -> Styled:
    lines = isolate(lambda: _describe(app, conflict))
    return join([f"{flat(conflict['id'])}: {lines.describe()}"]) if isinstance(lines, Failure) else lines


def _describe(app: App, conflict: dict[str, Any]) -> Styled:
    """Return a conflict as lines: the record and the field, and each side's value with its author and age."""
    info = ALL_KINDS.get(conflict["record_kind"])
    about = f"{info.title if info else conflict['record_kind']} {conflict['record_id']}".strip()
    styled = shows_styles()
    heading = [
        f"{flat(about)}, {flat(conflict['field'] or 'the whole record')}  ",
        paint(flat(conflict["id"]), Role.ID, styled=styled),
    ]
    rows = [row for side in get_args(Side) for row in _side_rows(app, conflict, side)]
    return join([join(heading), render_table(rows, SIDE_COLUMNS, headings=False)], "\n")


def _side_rows(app: App, conflict: dict[str, Any], side: str) -> Iterator[tuple[str, str, str, Role]]:
    """Yield the rows of a side: the option that chooses it, whether its value is in use, its text, and the style."""
    yield f"  --{side}", "(in use)" if conflict["winner"] == side else "", _value_of(conflict, side), Role.PLAIN
    writer = conflict["writers"].get(side)
    if writer is not None:
        who = writer["author"].partition(" <")[0]
        is_here = writer["machine"] == app.settings.machine
        where = f" on {writer['machine']}{' (this machine)' if is_here else ''}" if writer["machine"] else ""
        session = f", session {app.sessions.shorten(writer['session'])}" if writer["session"] else ""
        yield "", "", f"{who}{where}, {describe_age(writer['time'], app.now)}{session}", Role.DIM


def _value_of(conflict: dict[str, Any], side: str) -> str:
    if side not in conflict:
        return "nothing"
    value = conflict[side]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return fit(flat(text), LONGEST)


def _fill_value(app: App, values: Values) -> Values:
    """Parse the value as JSON; if it is not JSON, leave it a text."""
    if "value" not in values:
        return values
    try:
        return values | {"value": json.loads(values["value"])}
    except ValueError:
        return values


def _render_resolved(app: App, result: ResolvedConflict) -> None:
    app.answer(result.as_data(), "")
    app.tell_change(result)


@command("merge-driver")
@click.argument("base", metavar="%O")
@click.argument("ours", metavar="%A")
@click.argument("theirs", metavar="%B")
@click.argument("path", metavar="%P")
def merge_driver_command(app: App, base: str, ours: str, theirs: str, path: str) -> int:
    """Merge one file of a namespace; git merge calls this, because baton init registers it as a merge driver.

    Exit status: 1 if both sides changed a value differently, or if two records had the same id. Then the merge writes
    further files to the work tree, and git stops. To finish the merge: git add -A, git commit.

    \b
    git config merge.baton.driver "baton merge-driver %O %A %B %P"
    baton merge-driver base.tmp ours.tmp theirs.tmp open_loops/OL-1.toml
    """
    with Store(app.settings.repository) as store:
        merged = merge_file(store, path, *(read_bytes(file) for file in (base, ours, theirs)))
    _write(Path(ours), merged.text)
    for name, text in merged.other_files.items():
        _write(Path(name), text)
        app.say(f"baton: {path}: the merge also wrote {name}; to finish the merge: git add -A, git commit")
    app.answer({"path": path, "beside": sorted(merged.other_files)}, "")
    return 1 if merged.other_files else 0


def _write(path: Path, text: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


ADDITIONS = {
    "conflicts": Addition(render=_render_conflicts),
    "resolve": Addition(fill=_fill_value, render=_render_resolved),
}
COMMANDS = {"merge-driver": merge_driver_command}
