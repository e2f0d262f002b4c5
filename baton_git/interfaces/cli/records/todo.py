"""Command-line additions to the verbs of a session's to-do list: read it from a file, and print it as text."""

from __future__ import annotations

import click

from baton_git.core.codecs import json
from baton_git.core.records.lineage import Todo
from baton_git.interfaces.cli.app import INPUT_FILE, App, read_text
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.verbs.work_items.todos import parse_json_list, parse_list


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


FILE = click.option(
    "--file",
    type=INPUT_FILE,
    metavar="FILE|-",
    help="Read the items from a file: lines `- [ ] text`, or JSON objects with content and status.",
)
ADDITIONS = {
    "todo set": Addition([FILE], fill=_fill_items),
}
