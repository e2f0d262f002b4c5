"""`baton todo`: the acting session's own list of what is to be done."""

from __future__ import annotations

from typing import Any

import click

from baton_git.core.codecs import json
from baton_git.core.records.lineage import OPEN, Todo
from baton_git.interfaces.cli.app import App, command, flat, group, read_text
from baton_git.namespace.revision import WriteResult
from baton_git.systems.gobby.todos import (
    Status,
    add_todo,
    list_todos,
    mark_todo,
    parse_json_list,
    parse_line,
    parse_list,
    set_todos,
)

MARKS = {"pending": " ", "in_progress": ">", "completed": "x", "cancelled": "-"}


@command("set", short_help="Put these items in the place of the whole list.")
@click.argument("items", nargs=-1, metavar="[ITEM]…")
@click.option("--file", metavar="FILE|-", help="Lines `- [ ] text`, or a JSON list of content and status, instead.")
def set_command(app: App, items: tuple[str, ...], file: str | None) -> None:
    """Put these items in the place of the whole list; marks as in a list say how they stand.

    \b
    baton todo set "Write the parser" "[>] Test it" "[x] Read the paper"
    printf -- '- [x] Read\\n- [ ] Write\\n' | baton todo set --file -
    """
    if bool(items) == (file is not None):
        raise click.UsageError("give items, or --file")
    todos = [parse_line(one) for one in items] if file is None else _read(file)
    with app.workspace() as ws:
        _answer(app, set_todos(ws, app.now, todos), list_todos(ws))


def _read(file: str) -> list[Todo]:
    text = read_text(file)
    if text.lstrip().startswith("["):
        first = text.lstrip()[1:4].strip()
        if first.startswith(("{", "]")) or not first:
            return parse_json_list(json.loads(text.encode(), where=file), where=file)
    return parse_list(text, where=file)


@command("add", short_help="Put an item at the end of the list.")
@click.argument("text")
@click.option("--doing", is_flag=True, help="It is being worked on.")
def add_command(app: App, text: str, doing: bool) -> None:
    """Put an item at the end of the list.

    \b
    baton todo add "Write the parser" --doing
    """
    with app.workspace() as ws:
        _answer(app, add_todo(ws, app.now, text, is_begun=doing), list_todos(ws))


def _marking(name: str, status: Status, short_help: str, text: str) -> click.Command:
    @command(name, short_help=short_help, help=text)
    @click.argument("which", metavar="TEXT|NUMBER")
    def marking(app: App, which: str) -> None:
        with app.workspace() as ws:
            _answer(app, mark_todo(ws, app.now, which, status), list_todos(ws))

    return marking


start_command = _marking(
    "start",
    "in_progress",
    "It is being worked on.",
    """It is being worked on. TEXT may be a unique beginning of the item.

    \b
    baton todo start "Write"
    """,
)
done_command = _marking(
    "done",
    "completed",
    "It is done.",
    """It is done. TEXT may be a unique beginning of the item.

    \b
    baton todo done 2
    """,
)
cancel_command = _marking(
    "cancel",
    "cancelled",
    "It will not be done.",
    """It will not be done. TEXT may be a unique beginning of the item.

    \b
    baton todo cancel "Write the"
    """,
)


@command("list", short_help="The list, with numbers.")
@click.option("--all", "with_closed", is_flag=True, help="Also what is done or cancelled.")
def list_command(app: App, with_closed: bool) -> None:
    """The list of the session at work, with numbers.

    \b
    baton todo list
    baton todo list --all --json
    """
    with app.workspace() as ws:
        todos = list_todos(ws)
    shown = [(number, one) for number, one in enumerate(todos, 1) if with_closed or one.status in OPEN]
    app.answer(
        [{"number": number, **_data(one)} for number, one in shown],
        "\n".join(f"{number:>3}. {_line(one)}" for number, one in shown),
    )


def _answer(app: App, written: WriteResult, todos: tuple[Todo, ...]) -> None:
    version = written.version
    data: dict[str, Any] = {"todos": [_data(one) for one in todos], "commit": version.commit}
    app.answer({**data, "revision": version.revision}, "\n".join(_line(one) for one in todos))
    app.told(written)


def _data(one: Todo) -> dict[str, str]:
    return {"content": one.content, "status": one.status}


def _line(one: Todo) -> str:
    return f"[{MARKS[one.status]}] {flat(one.content)}"


COMMANDS = {
    "todo": group(
        "todo",
        "The session's list of what is to be done.",
        [set_command, add_command, start_command, done_command, cancel_command, list_command],
    )
}
