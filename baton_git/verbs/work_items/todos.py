"""The to-do list of a session, stored in its record, because the agents' own to-do tools are often switched off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from baton_git.core.codecs import json
from baton_git.core.errors import Ambiguous, Fault, InvalidArgument, InvalidDocument, LimitExceeded, NotFound
from baton_git.core.output import Styled, flat
from baton_git.core.records.base import parse
from baton_git.core.records.lineage import OPEN, Session, Todo
from baton_git.core.sessions import find_session
from baton_git.core.state import Key, State
from baton_git.core.styles import join
from baton_git.core.verb import ADDS, READS, REPLACES, SETTLES, FileInput, Input, Option, Tool, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.results import AtRevision, WrittenResult, position
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace, check_not_empty

Status = Literal["pending", "in_progress", "completed", "cancelled"]
MAX_ITEMS = 200
"""Maximum number of items in a list."""


class NumberedTodo(BaseModel):
    """One item of a session's to-do list."""

    number: int = Field(description="The number of the item in the list, from 1.", examples=[1])
    content: str = Field(description="The text of the item.", examples=["Write the parser"])
    status: Status = Field(description="The status of the item.")


class TodoList(AtRevision):
    """The to-do list of the acting session."""

    todos: list[NumberedTodo] = Field(description="The items in order.")

    def show(self, reader: Reader) -> ResultView:
        text = join([_show_item(reader, f"{item.number:>3}. ", item) for item in self.todos], "\n")
        return ResultView(text, () if self.todos else [_EMPTY])


_SHOWN_MARKS = {"pending": " ", "in_progress": ">", "completed": "x", "cancelled": "-"}
_EMPTY = "the list of this session is empty; to add an item: baton todo add TEXT"


def _show_item(reader: Reader, number: str, item: Todo | NumberedTodo) -> Styled:
    return reader.wrap(f"{number}[{_SHOWN_MARKS[item.status]}] ", flat(item.content))


class ChangedTodos(WrittenResult):
    """The to-do list after the change."""

    todos: list[NumberedTodo] = Field(description="The items in order.")

    def show(self, reader: Reader) -> ResultView:
        return ResultView(join([_show_item(reader, "", item) for item in self.todos], "\n"), self.told)


class ListTodos(Input):
    """Which items to list."""

    all: bool = Field(False, description="Include completed and cancelled items.")


class SetTodos(Input):
    """The new to-do list."""

    items: list[str | dict[str, Any]] = Field(
        description="The items. Each is a line of text or a table with `content`, `status` and any further keys. A "
        "mark before the text sets the status: [ ] pending, [>] in progress, [x] completed, [-] cancelled.",
        examples=[["Write the parser", "[>] Test it", "[x] Read the paper"]],
    )


class NewTodo(Input):
    """An item to add."""

    text: str = Field(description="The text of the item.", examples=["Write the parser"])
    started: bool = Field(False, description="Mark the item as in progress.")


class WhichTodo(Input):
    """One item of the list."""

    which: str = Field(description="The text of the item, an unambiguous prefix of it, or its number.", examples=["2"])


def _parse_file(text: str, file: str) -> dict[str, Any]:
    if text.lstrip().startswith("["):
        first = text.lstrip()[1:4].strip()
        if first.startswith(("{", "]")) or not first:
            todos = parse_json_list(json.loads(text.encode(), where=file), where=file)
            return {"items": [todo.as_data() for todo in todos]}
    return {"items": [todo.as_data() for todo in parse_list(text, where=file)]}


@verb(
    "todo set",
    "POST /v1/todos/set",
    file=FileInput(
        _parse_file,
        "Read the items from a file: lines `- [ ] text`, or JSON objects with content and status.",
        ("--file",),
        "FILE|-",
    ),
    effect=REPLACES,
    tag="sessions",
    positional=("items",),
    options={"items": Option(metavar="[ITEM]...")},
    examples=(
        'baton todo set "Write the parser" "[>] Test it" "[x] Read the paper"',
        "printf -- '- [x] Read\\n- [ ] Write\\n' | baton todo set --file -",
    ),
)
def set_todos(ws: Workspace, now: datetime, verb_input: SetTodos) -> ChangedTodos:
    """Replace the whole to-do list; marks set the status of its items.

    Raises:
        NotFound: there is no active session.
        InvalidArgument: an item is empty, or is given twice.
        InvalidDocument: an item has another mark, or its table is not valid.
        LimitExceeded: there are too many items.
    """
    todos = [
        parse_line(item) if isinstance(item, str) else parse(Todo, item, at=f"items[{index}]")
        for index, item in enumerate(verb_input.items)
    ]
    return replace_todos(ws, now, todos)


def replace_todos(ws: Workspace, now: datetime, todos: Sequence[Todo]) -> ChangedTodos:
    """Replace the whole list; see `set_todos`."""
    for todo in todos:
        check_not_empty(todo.content, "item")
    texts = [todo.content for todo in todos]
    duplicate = next((text for text in texts if texts.count(text) > 1), None)
    if duplicate is not None:
        raise InvalidArgument(f"{duplicate!r} is in the list twice", hint="each item needs its own text")
    return _update_list(ws, now, "todo-set", lambda _: tuple(todos))


@verb(
    "todo add",
    "POST /v1/todos",
    effect=ADDS,
    tag="sessions",
    positional=("text",),
    options={"started": Option(names=("--doing",))},
    tool=Tool("Add a to-do."),
    examples=('baton todo add "Write the parser" --doing',),
)
def add_todo(ws: Workspace, now: datetime, verb_input: NewTodo) -> ChangedTodos:
    """Add an item at the end of the to-do list.

    Raises:
        NotFound: there is no active session.
        InvalidArgument: the item is empty, or is already in the list.
        LimitExceeded: there are too many items.
    """
    check_not_empty(verb_input.text, "item")
    item = Todo(content=verb_input.text.strip(), status="in_progress" if verb_input.started else "pending")

    def change(todos: tuple[Todo, ...]) -> tuple[Todo, ...]:
        if any(todo.content == item.content for todo in todos):
            raise InvalidArgument(f"{item.content!r} is in the list already", hint="to see the list: baton todo list")
        return (*todos, item)

    return _update_list(ws, now, "todo-add", change)


@verb(
    "todo start",
    "POST /v1/todos/start",
    effect=SETTLES,
    on_existing=True,
    tag="sessions",
    positional=("which",),
    options={"which": Option(metavar="TEXT|NUMBER")},
    examples=('baton todo start "Write"',),
)
def start_todo(ws: Workspace, now: datetime, verb_input: WhichTodo) -> ChangedTodos:
    """Mark a to-do item as in progress."""
    return mark_todo(ws, now, verb_input.which, "in_progress")


@verb(
    "todo done",
    "POST /v1/todos/done",
    effect=SETTLES,
    on_existing=True,
    tag="sessions",
    positional=("which",),
    options={"which": Option(metavar="TEXT|NUMBER")},
    tool=Tool("Finish a to-do.", fields={"which": "Text or number"}),
    examples=("baton todo done 2",),
)
def finish_todo(ws: Workspace, now: datetime, verb_input: WhichTodo) -> ChangedTodos:
    """Mark a to-do item as done."""
    return mark_todo(ws, now, verb_input.which, "completed")


@verb(
    "todo cancel",
    "POST /v1/todos/cancel",
    effect=SETTLES,
    on_existing=True,
    tag="sessions",
    positional=("which",),
    options={"which": Option(metavar="TEXT|NUMBER")},
    examples=('baton todo cancel "Write the"',),
)
def cancel_todo(ws: Workspace, now: datetime, verb_input: WhichTodo) -> ChangedTodos:
    """Mark a to-do item as cancelled."""
    return mark_todo(ws, now, verb_input.which, "cancelled")


@verb(
    "todo list",
    "GET /v1/todos",
    effect=READS,
    tag="sessions",
    session="acts",
    tool=Tool("List the to-dos.", hidden=("all",)),
    examples=("baton todo list", "baton todo list --all --json"),
)
def list_todos(ws: Workspace, now: datetime, verb_input: ListTodos) -> TodoList:
    """List the to-do items of the acting session, with numbers.

    Raises:
        NotFound: there is no active session.
    """
    revision = ws.branch.read()
    items = _number_items(_acting_session(ws, revision.state).todos)
    shown = [item for item in items if verb_input.all or item.status in OPEN]
    return TodoList(todos=shown, **position(revision))


def mark_todo(ws: Workspace, now: datetime, which: str, status: Status) -> ChangedTodos:
    """Set the status of a to-do item. An item that an earlier session of this work tree left open is first added to the
    list.

    Args:
        which: its text, an unambiguous prefix of it, or its number in the list, from 1.

    Raises:
        NotFound: there is no active session, or no such item.
        Ambiguous: several items begin with this text.
    """

    def change(todos: tuple[Todo, ...]) -> tuple[Todo, ...]:
        try:
            index = _find_index(todos, which)
        except NotFound:
            if which.isdecimal():
                raise
            earlier = _list_unfinished_todos(ws)
            return (*todos, earlier[_find_index(earlier, which)].replace(status=status))
        return (*todos[:index], todos[index].replace(status=status), *todos[index + 1 :])

    return _update_list(ws, now, f"todo-{status.replace('_', '-')}", change)


def _update_list(
    ws: Workspace, now: datetime, op: str, change: Callable[[tuple[Todo, ...]], tuple[Todo, ...]]
) -> ChangedTodos:
    def change_state(tip: Revision) -> State:
        session = _acting_session(ws, tip.state)
        todos = change(session.todos)
        if len(todos) > MAX_ITEMS:
            raise LimitExceeded("the list", len(todos), MAX_ITEMS, "items")
        if todos == session.todos:
            return tip.state
        return tip.state.put(session.replace(todos=[todo.as_data() for todo in todos]))

    written = ws.update(op, now, change_state)
    return ChangedTodos.of(written, todos=_number_items(_acting_session(ws, written.revision.state).todos))


def _number_items(todos: Sequence[Todo]) -> list[NumberedTodo]:
    return [
        NumberedTodo(number=number, content=todo.content, status=todo.status) for number, todo in enumerate(todos, 1)
    ]


def _list_unfinished_todos(ws: Workspace) -> tuple[Todo, ...]:
    from baton_git.agents.sessions.handoff_index import find_nearest, list_unfinished  # rarely needed, slow to import

    state, session = ws.branch.read().state, ws.actor.session
    unfinished = list_unfinished(ws, state, find_nearest(ws, state, session))
    return tuple(Todo(content=item.todo.content) for item in unfinished)


def _acting_session(ws: Workspace, state: State) -> Session:
    """Return the acting session's record. Raises NotFound if there is none, or if it is archived."""
    hint = "baton boot begins a session; --session or BATON_SESSION names one"
    name = ws.actor.session
    if name is None:
        raise NotFound("active session in namespace", ws.branch.namespace.text, hint=hint)
    session = find_session(state, name)
    if session is None or state.entry(Key(Session.kind, name)) is None:
        raise NotFound("session", name, hint=hint)
    return session


def _find_index(todos: tuple[Todo, ...], which: str) -> int:
    texts = [todo.content for todo in todos]
    if which in texts:
        return texts.index(which)
    if which.isdecimal() and len(which) < 10 and 1 <= int(which) <= len(todos):
        return int(which) - 1
    wanted = which.strip().casefold()
    matches = [index for index, text in enumerate(texts) if wanted and text.casefold().startswith(wanted)]
    if len(matches) > 1:
        raise Ambiguous("item", which, [texts[index] for index in matches])
    if not matches:
        raise NotFound("item", which, hint="to list the items with their numbers: baton todo list")
    return matches[0]


# --- a list as text


_MARKS: dict[str, Status] = {" ": "pending", ">": "in_progress", "x": "completed", "X": "completed", "-": "cancelled"}


def parse_list(text: str, *, where: str = "") -> list[Todo]:
    """Return the items of a text, one on each line: `- [x] done`, `- [>] in progress`, `- [ ] to do`, or without a
    mark.

    Raises:
        InvalidDocument: an item has another mark.
    """
    lines = (line.strip() for line in text.splitlines())
    return [parse_line(line, where=where) for line in lines if line]


def parse_line(line: str, *, where: str = "") -> Todo:
    """Return one item; the mark and the dash before it are optional."""
    bare = line[2:].lstrip() if line[:2] in ("- ", "* ") else line
    if len(bare) < 3 or bare[0] != "[" or bare[2] != "]":
        return Todo(content=bare.strip())
    if bare[1] not in _MARKS:
        raise InvalidDocument([Fault("", f"{line[:60]!r}: the mark is not [ ], [>], [x] or [-]")], where=where)
    return Todo(content=bare[3:].strip(), status=_MARKS[bare[1]])


def parse_json_list(data: Any, *, where: str = "") -> list[Todo]:
    """Return the items of a JSON list. Raises InvalidDocument if it is not such a list."""
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise InvalidDocument([Fault("", "must be a list of tables with content and status")], where=where)
    return [parse(Todo, item, where=where, at=f"[{index}]") for index, item in enumerate(data)]
