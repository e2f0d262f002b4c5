"""Command-line additions to the verbs of a session's to-do list: read it from a file, and print it as text."""

from __future__ import annotations

import click

from baton_git.core.codecs import json
from baton_git.core.output import Styled
from baton_git.core.records.lineage import Todo
from baton_git.interfaces.cli.app import INPUT_FILE, App, flat, read_text
from baton_git.interfaces.cli.rendering.styles import join
from baton_git.interfaces.cli.rendering.widths import wrap_after
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.verbs.work_items.todos import ChangedTodos, NumberedTodo, TodoList, parse_json_list, parse_list

MARKS = {"pending": " ", "in_progress": ">", "completed": "x", "cancelled": "-"}


def _fill_items(app: App, values: Values) -> Values:
    """Add the items in the file, if one is given.

    Raises:
        UsageError: neither or both of items and a file are given.
    """
    if ("items" in values) == ("file" in values):
        raise click.UsageError("give items, or --file")
    if "file" not in values:
        return values
    return {"items": [todo.as_data() for todo in _read(values["file"])]}


def _read(file: str) -> list[Todo]:
    text = read_text(file)
    if text.lstrip().startswith("["):
        first = text.lstrip()[1:4].strip()
        if first.startswith(("{", "]")) or not first:
            return parse_json_list(json.loads(text.encode(), where=file), where=file)
    return parse_list(text, where=file)


def _render_changed(app: App, result: ChangedTodos) -> None:
    app.answer(result.as_data(), join([_line("", item) for item in result.todos], "\n"))
    app.tell_change(result)


def _render_list(app: App, result: TodoList) -> None:
    app.answer(result.as_data(), join([_line(f"{item.number:>3}. ", item) for item in result.todos], "\n"))
    if not result.todos:
        app.say("the list of this session is empty; to add an item: baton todo add TEXT")


def _line(number: str, item: Todo | NumberedTodo) -> Styled:
    return wrap_after(f"{number}[{MARKS[item.status]}] ", flat(item.content))


FILE = click.option(
    "--file",
    type=INPUT_FILE,
    metavar="FILE|-",
    help="Read the items from a file: lines `- [ ] text`, or JSON objects with content and status.",
)
ADDITIONS = {
    "todo set": Addition([FILE], fill=_fill_items, render=_render_changed),
    **{f"todo {word}": Addition(render=_render_changed) for word in ("add", "start", "done", "cancel")},
    "todo list": Addition(render=_render_list),
}
