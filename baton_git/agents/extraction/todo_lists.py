"""Follow a session's todo list and tasks, which its calls replace as a whole or change item by item."""

from __future__ import annotations

from typing import Any

from baton_git.agents.extraction.findings import Findings, Mark, Table
from baton_git.agents.tool_use import CLOSED_STATUSES, TodoChange, ToolOutcome, ToolTodo


def update_lists(known: Findings, waiting: Table, outcome: ToolOutcome) -> None:
    """Apply the todo list, todo change or task of a call (as kept in `waiting`), or the list in its result."""
    if outcome.todos is not None:
        _replace_todos(known, outcome.todos, waiting["mark"])
    elif "todos" in waiting:
        _replace_todos(known, [ToolTodo(*todo) for todo in waiting["todos"]], waiting["mark"])
    elif "change" in waiting:
        change = TodoChange(*waiting["change"])
        _change_todo(known, change._replace(id=change.id or outcome.id), waiting, is_new=change.id is None)
    elif "task" in waiting:
        action, number, title, status, description = waiting["task"]
        number = number or outcome.id or title
        before = known.tasks.pop(number, {})
        fields = {"title": title, "status": status, "description": description}
        new = {name: text for name, text in fields.items() if text is not None}
        known.tasks[number] = {**before, **new, "action": action, "mark": waiting["mark"]}


def _replace_todos(known: Findings, todos: Any, mark: Mark) -> None:
    """Replace the whole todo list. Unchanged items keep their marks."""
    marks = {(todo["id"], todo["content"], todo["status"]): todo["mark"] for todo in known.todos}
    known.todos = [{**todo._asdict(), "mark": marks.get((todo.id, todo.content, todo.status), mark)} for todo in todos]
    known.todos_at = list(mark)


def _change_todo(known: Findings, change: TodoChange, waiting: Table, *, is_new: bool) -> None:
    number, order = change.id or "", waiting["mark"][0]
    item = next((todo for todo in known.todos if todo["id"] == number), None) if number else None
    if item is None and is_new:
        item = {"id": number, "content": "", "status": "pending", "mark": []}
        known.todos.append(item)
    if item is None:
        # The change came before the result of the call that created the item.
        known.early[number] = {"content": change.content, "status": change.status, "mark": waiting["mark"]}
        return
    _set_todo(known, item, change.content, change.status, waiting["mark"])
    early = known.early.pop(number, None)
    if early:
        _set_todo(known, item, early["content"], early["status"], early["mark"])
    if is_new:
        item["order"] = order
        item["made"] = waiting["mark"]
    known.todos.sort(key=_get_todo_order)
    known.todos_at = max(known.todos_at, list(waiting["mark"]), key=lambda mark: mark[:1])


def _set_todo(known: Findings, item: Table, content: str | None, status: str | None, mark: Mark) -> None:
    item["content"] = content or item["content"]
    item["status"] = status or item["status"]
    item["mark"] = list(mark)
    if item["status"] == "deleted":
        known.todos.remove(item)


def _get_todo_order(item: Table) -> tuple[int, float]:
    """Return the sort key of a todo item: its numeric id, or else the turn in which it was created."""
    number = item["id"]
    return (0, int(number)) if number.isdecimal() and len(number) < 10 else (1, item.get("order", 0))


def is_closed(task: Table) -> bool:
    return task.get("status") in CLOSED_STATUSES
