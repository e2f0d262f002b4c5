"""The todo list of a session, kept in its own record: agents' own tools for it are often switched off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Literal

from baton_git.core.errors import Ambiguous, Fault, InvalidArgument, InvalidDocument, LimitExceeded, NotFound
from baton_git.core.lifecycle import known_session
from baton_git.core.records.base import parse
from baton_git.core.records.lineage import Session, Todo
from baton_git.core.state import Key, State
from baton_git.namespace.revision import Revision, WriteResult
from baton_git.namespace.workspace import Workspace, check_not_empty

Status = Literal["pending", "in_progress", "completed", "cancelled"]
MOST = 200
"""Items of one list."""


def list_todos(ws: Workspace) -> tuple[Todo, ...]:
    """Return the acting session's list. Raises NotFound if no session is at work."""
    return _acting_session(ws, ws.branch.read().state).todos


def set_todos(ws: Workspace, now: datetime, todos: Sequence[Todo]) -> WriteResult:
    """Replace the whole list.

    Raises:
        NotFound: no session is at work.
        InvalidArgument: an item is empty, or stands twice.
        LimitExceeded: there are too many.
    """
    texts = [todo.content for todo in todos]
    for text in texts:
        check_not_empty(text, "item")
    for text in texts:
        if texts.count(text) > 1:
            raise InvalidArgument(f"{text!r} stands twice in the list", hint="an item is known by its text")
    return _change_todos(ws, now, "todo-set", lambda _: tuple(todos))


def add_todo(ws: Workspace, now: datetime, text: str, *, is_begun: bool = False) -> WriteResult:
    """Add an item at the end of the list.

    Raises:
        NotFound: no session is at work.
        InvalidArgument: it is empty, or is there already.
        LimitExceeded: there are too many.
    """
    check_not_empty(text, "item")
    item = Todo(content=text.strip(), status="in_progress" if is_begun else "pending")

    def change(todos: tuple[Todo, ...]) -> tuple[Todo, ...]:
        if item.content in (todo.content for todo in todos):
            raise InvalidArgument(f"{item.content!r} is in the list already", hint="baton todo list shows it")
        return (*todos, item)

    return _change_todos(ws, now, "todo-add", change)


def mark_todo(ws: Workspace, now: datetime, which: str, status: Status) -> WriteResult:
    """Set the status of an item. One that an earlier session of this work tree left undone is added to this list.

    Args:
        which: its text, a unique beginning of it, or its number in the list, from 1.

    Raises:
        NotFound: no session is at work, or there is no such item.
        Ambiguous: several items begin so.
    """

    def change(todos: tuple[Todo, ...]) -> tuple[Todo, ...]:
        try:
            index = _find_index(todos, which)
        except NotFound:
            if which.isdecimal():
                raise
            undone = _list_undone(ws)
            return (*todos, undone[_find_index(undone, which)].replace(status=status))
        return (*todos[:index], todos[index].replace(status=status), *todos[index + 1 :])

    return _change_todos(ws, now, f"todo-{status.replace('_', '-')}", change)


def _change_todos(
    ws: Workspace, now: datetime, op: str, change: Callable[[tuple[Todo, ...]], tuple[Todo, ...]]
) -> WriteResult:
    def apply(tip: Revision) -> State:
        session = _acting_session(ws, tip.state)
        todos = change(session.todos)
        if len(todos) > MOST:
            raise LimitExceeded("the list", len(todos), MOST, "items")
        if todos == session.todos:
            return tip.state
        return tip.state.put(session.replace(todos=[todo.given() for todo in todos]))

    return ws.update(op, now, apply)


def _list_undone(ws: Workspace) -> tuple[Todo, ...]:
    from baton_git.systems.gobby.previous_sessions import list_handoffs, list_unfinished  # seldom needed, slow to load

    state, session = ws.branch.read().state, ws.actor.session
    unfinished = list_unfinished(state, list_handoffs(ws, state, session), acting=session)
    return tuple(Todo(content=item.todo.content) for item in unfinished)


def _acting_session(ws: Workspace, state: State) -> Session:
    """Return the acting session's record; one that was ended or archived is not at work."""
    hint = "baton boot begins a session; --session or BATON_SESSION names one"
    name = ws.actor.session
    if name is None:
        raise NotFound("session at work here", ws.branch.namespace.text, hint=hint)
    session = known_session(state, name)
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
    near = [index for index, text in enumerate(texts) if wanted and text.casefold().startswith(wanted)]
    if len(near) > 1:
        raise Ambiguous("item", which, [texts[index] for index in near])
    if not near:
        raise NotFound("item", which, hint="baton todo list shows what there is, with numbers")
    return near[0]


# --- a list as text


_MARKS: dict[str, Status] = {" ": "pending", ">": "in_progress", "x": "completed", "X": "completed", "-": "cancelled"}


def parse_list(text: str, *, where: str = "") -> list[Todo]:
    """Return the items of a text: lines `- [x] done`, `- [>] at work`, `- [ ] to do`, or plain; one item each.

    Raises:
        InvalidDocument: a mark is none of these.
    """
    lines = (line.strip() for line in text.splitlines())
    return [parse_line(line, where=where) for line in lines if line]


def parse_line(line: str, *, where: str = "") -> Todo:
    """Return one item; its mark and the dash before it may be missing."""
    bare = line[2:].lstrip() if line[:2] in ("- ", "* ") else line
    if len(bare) < 3 or bare[0] != "[" or bare[2] != "]":
        return Todo(content=bare.strip())
    if bare[1] not in _MARKS:
        raise InvalidDocument([Fault("", f"{line[:60]!r}: the mark is none of [ ] [>] [x] [-]")], where=where)
    return Todo(content=bare[3:].strip(), status=_MARKS[bare[1]])


def parse_json_list(data: Any, *, where: str = "") -> list[Todo]:
    """Return the items of a list in JSON. Raises InvalidDocument if it is none."""
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise InvalidDocument([Fault("", "must be a list of tables with content and status")], where=where)
    return [parse(Todo, item, where=where, at=f"[{index}]") for index, item in enumerate(data)]
