"""The list of what a session wants to do, in its own record: agents' own tools for it are off more often than not."""

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


def todos_of(ws: Workspace) -> tuple[Todo, ...]:
    """The acting session's list. Raises NotFound when no session is at work."""
    return _session(ws, ws.branch.read().state).todos


def set_todos(ws: Workspace, now: datetime, todos: Sequence[Todo]) -> WriteResult:
    """Puts these in the place of the whole list.

    Raises:
        NotFound: no session is at work.
        InvalidArgument: an item is empty, or stands twice.
        LimitExceeded: there are too many.
    """
    for one in todos:
        check_not_empty(one.content, "item")
    texts = [one.content for one in todos]
    double = next((text for text in texts if texts.count(text) > 1), None)
    if double is not None:
        raise InvalidArgument(f"{double!r} stands twice in the list", hint="an item is known by its text")
    return _changed(ws, now, "todo-set", lambda _: tuple(todos))


def add_todo(ws: Workspace, now: datetime, text: str, *, is_begun: bool = False) -> WriteResult:
    """Puts an item at the end of the list.

    Raises:
        NotFound: no session is at work.
        InvalidArgument: it is empty, or is there already.
        LimitExceeded: there are too many.
    """
    check_not_empty(text, "item")
    item = Todo(content=text.strip(), status="in_progress" if is_begun else "pending")

    def change(todos: tuple[Todo, ...]) -> tuple[Todo, ...]:
        if any(one.content == item.content for one in todos):
            raise InvalidArgument(f"{item.content!r} is in the list already", hint="baton todo list shows it")
        return (*todos, item)

    return _changed(ws, now, "todo-add", change)


def mark_todo(ws: Workspace, now: datetime, which: str, status: Status) -> WriteResult:
    """Says how an item stands. One that an earlier session of this work tree left undone becomes one of this list.

    Args:
        which: its text, a unique beginning of it, or its number in the list, from 1.

    Raises:
        NotFound: no session is at work, or there is no such item.
        Ambiguous: several items begin so.
    """

    def change(todos: tuple[Todo, ...]) -> tuple[Todo, ...]:
        try:
            at = _place(todos, which)
        except NotFound:
            if which.isdecimal():
                raise
            earlier = _left_undone(ws)
            return (*todos, earlier[_place(earlier, which)].replace(status=status))
        return (*todos[:at], todos[at].replace(status=status), *todos[at + 1 :])

    return _changed(ws, now, f"todo-{status.replace('_', '-')}", change)


def _changed(
    ws: Workspace, now: datetime, op: str, change: Callable[[tuple[Todo, ...]], tuple[Todo, ...]]
) -> WriteResult:
    def on(tip: Revision) -> State:
        session = _session(ws, tip.state)
        todos = change(session.todos)
        if len(todos) > MOST:
            raise LimitExceeded("the list", len(todos), MOST, "items")
        if todos == session.todos:
            return tip.state
        return tip.state.put(session.replace(todos=[one.given() for one in todos]))

    return ws.update(op, now, on)


def _left_undone(ws: Workspace) -> tuple[Todo, ...]:
    from baton_git.systems.gobby.injections import worktree_of  # seldom needed, and slow to load
    from baton_git.systems.gobby.previous_sessions import of_worktree, unfinished

    state, session = ws.branch.read().state, ws.actor.session
    every = of_worktree(state, worktree=worktree_of(ws), machine=ws.actor.machine, other_than=session)
    return tuple(Todo(content=one.todo.content) for one in unfinished(state, every, acting=session))


def _session(ws: Workspace, state: State) -> Session:
    """The acting session's record; one that was ended or archived is not at work."""
    hint = "baton boot begins a session; --session or BATON_SESSION names one"
    name = ws.actor.session
    if name is None:
        raise NotFound("session at work here", ws.branch.namespace.text, hint=hint)
    found = known_session(state, name)
    if found is None or state.entry(Key(Session.kind, name)) is None:
        raise NotFound("session", name, hint=hint)
    return found


def _place(todos: tuple[Todo, ...], which: str) -> int:
    texts = [one.content for one in todos]
    if which in texts:
        return texts.index(which)
    if which.isdecimal() and len(which) < 10 and 1 <= int(which) <= len(todos):
        return int(which) - 1
    wanted = which.strip().casefold()
    near = [at for at, text in enumerate(texts) if wanted and text.casefold().startswith(wanted)]
    if len(near) > 1:
        raise Ambiguous("item", which, [texts[at] for at in near])
    if not near:
        raise NotFound("item", which, hint="baton todo list shows what there is, with numbers")
    return near[0]


# --- a list as text


_MARKS: dict[str, Status] = {" ": "pending", ">": "in_progress", "x": "completed", "X": "completed", "-": "cancelled"}


def parse_list(text: str, *, where: str = "") -> list[Todo]:
    """The items of a text: lines `- [x] done`, `- [>] at work`, `- [ ] to do`, or plain; one item each.

    Raises:
        InvalidDocument: a mark is none of these.
    """
    lines = (line.strip() for line in text.splitlines())
    return [parse_line(line, where=where) for line in lines if line]


def parse_line(line: str, *, where: str = "") -> Todo:
    """One item; its mark and the dash before it may be missing."""
    bare = line[2:].lstrip() if line[:2] in ("- ", "* ") else line
    if len(bare) < 3 or bare[0] != "[" or bare[2] != "]":
        return Todo(content=bare.strip())
    if bare[1] not in _MARKS:
        raise InvalidDocument([Fault("", f"{line[:60]!r}: the mark is none of [ ] [>] [x] [-]")], where=where)
    return Todo(content=bare[3:].strip(), status=_MARKS[bare[1]])


def todos_from(data: Any, *, where: str = "") -> list[Todo]:
    """The items of a list in JSON. Raises InvalidDocument when it is none."""
    if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
        raise InvalidDocument([Fault("", "must be a list of tables with content and status")], where=where)
    return [parse(Todo, one, where=where, at=f"[{at}]") for at, one in enumerate(data)]
