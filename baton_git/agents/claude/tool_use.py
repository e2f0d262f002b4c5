"""Interpret the calls and results of Claude Code's tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from baton_git.agents.events import ToolCall, ToolResult
from baton_git.agents.fields import Record, table_at, tables, text_at
from baton_git.agents.gobby_tasks import read_created_id, read_gateway_call
from baton_git.agents.tool_use import (
    PATTERN_LENGTH,
    TodoChange,
    ToolOutcome,
    ToolTodo,
    ToolUse,
    describe_call,
    describe_command,
    describe_file_use,
    name_server_tool,
    read_todos,
    shorten_line,
)

_CREATED = re.compile(r"Task #(\S+) created")
_LISTED = re.compile(r"^#(\S+) \[(\w+)\] (.*)$", re.MULTILINE)
_ANSWERED = re.compile(r'"([^"\n]+)"="([^"]*)"')
_WRITTEN = ("content", "new_string", "new_source")
_REFUSED = ("The user doesn't want to proceed", "The user doesn't want to take this action", "Permission to use ")
_BACKGROUND = ("Command running in background with ID", "Command was manually backgrounded")


def read_call(call: ToolCall) -> ToolUse:
    """Return what a call does."""
    given = call.arguments
    reading = _READINGS.get(call.name)
    if reading is not None:
        return reading(call.name, given)
    return read_gateway_call(call.name, given) or ToolUse(describe_call(name_server_tool(call.name), given))


def read_result(name: str, result: ToolResult) -> ToolOutcome:
    """Return the outcome of a call of the tool `name`."""
    failed, noted = bool(result.failed), result.structured or {}
    if failed and result.text.startswith(_REFUSED):
        return ToolOutcome(failed, refused=True)
    if name == "TaskUpdate":
        return ToolOutcome(failed or noted.get("success") is False)
    if name == "TaskCreate":
        match = _CREATED.search(result.text)
        return ToolOutcome(failed, id=text_at(table_at(noted, "task"), "id") or (match[1] if match else None))
    if name == "TaskList":
        return ToolOutcome(failed, todos=None if failed else _read_task_list(result))
    if name == "AskUserQuestion":
        return ToolOutcome(failed, answers=() if failed else _answers(result))
    if name == "Bash":
        later = result.text.startswith(_BACKGROUND) or isinstance(noted.get("backgroundTaskId"), str)
        return ToolOutcome(failed, later=later)
    return ToolOutcome(failed, id=read_created_id(result.text) if name.endswith("call_tool") else None)


def _bash(name: str, given: Mapping[str, Any]) -> ToolUse:
    command = text_at(given, "command") or ""
    return ToolUse(describe_command(command), command=command) if command else ToolUse(f"Called {name}")


def _file(name: str, given: Mapping[str, Any]) -> ToolUse:
    path = text_at(given, "file_path") or text_at(given, "notebook_path")
    paths, is_read = (path,) if path else (), name in ("Read", "NotebookRead", "LS")
    if is_read:
        return ToolUse(describe_file_use(name, path), reads=paths)
    return ToolUse(describe_file_use(name, path), files=paths, written=_written(given))


def _written(given: Mapping[str, Any]) -> str:
    """Return the text that an edit writes to its file."""
    pieces = [given, *tables(given.get("edits"))]
    return "\n".join(text for piece in pieces for key in _WRITTEN if (text := text_at(piece, key)))


def _search(name: str, given: Mapping[str, Any]) -> ToolUse:
    pattern = text_at(given, "pattern")
    activity = f"{name}: {shorten_line(pattern, PATTERN_LENGTH)}" if pattern else f"Called {name}"
    return ToolUse(activity, searches=True)


def _agent(name: str, given: Mapping[str, Any]) -> ToolUse:
    kind, about_it = text_at(given, "subagent_type"), text_at(given, "description")
    label = f"{name} ({kind})" if kind else name
    return ToolUse(f"{label}: {shorten_line(about_it, PATTERN_LENGTH)}" if about_it else f"Called {name}")


def _todo_write(name: str, given: Mapping[str, Any]) -> ToolUse:
    todos = read_todos(tables(given.get("todos")), "content")
    return ToolUse(f"{name}: {len(todos)} items", todos=todos if isinstance(given.get("todos"), list) else None)


def _create(name: str, given: Mapping[str, Any]) -> ToolUse:
    return ToolUse(describe_call(name, given), change=TodoChange(None, text_at(given, "subject"), "pending"))


def _update(name: str, given: Mapping[str, Any]) -> ToolUse:
    number, status = given.get("taskId"), text_at(given, "status")
    if not isinstance(number, str | int):
        return ToolUse(f"Called {name}")
    words = " ".join(word for word in (str(number), status) if word)
    return ToolUse(f"{name}: {words}", change=TodoChange(str(number), text_at(given, "subject"), status))


def _plan(name: str, given: Mapping[str, Any]) -> ToolUse:
    return ToolUse(f"Called {name}", plan=text_at(given, "plan") or "")


def _question(name: str, given: Mapping[str, Any]) -> ToolUse:
    return ToolUse(describe_call(name, (tables(given.get("questions")) or [{}])[0]))


_READINGS: dict[str, Callable[[str, Mapping[str, Any]], ToolUse]] = {
    "Bash": _bash, "Read": _file, "Edit": _file, "Write": _file, "MultiEdit": _file, "NotebookEdit": _file,
    "Glob": _search, "Grep": _search, "Task": _agent, "Agent": _agent, "TodoWrite": _todo_write, "TaskCreate": _create,
    "TaskUpdate": _update, "ExitPlanMode": _plan, "exit_plan_mode": _plan, "AskUserQuestion": _question,
}  # fmt: skip


def _read_task_list(result: ToolResult) -> tuple[ToolTodo, ...] | None:
    """Return the whole list that TaskList printed; None if it cannot be parsed."""
    noted = (result.structured or {}).get("tasks")
    if isinstance(noted, list):
        return tuple(_task(task) for task in tables(noted) if text_at(task, "subject"))
    todos = tuple(ToolTodo(_title(text), status, number) for number, status, text in _LISTED.findall(result.text))
    return todos if todos or "No tasks" in result.text else None


def _title(text: str) -> str:
    """Return the title of a task, without the suffixes for its owner, `(…)`, and its blockers, `[blocked by …]`."""
    cuts = [len(text)]
    if text.endswith(")"):
        cuts.append(text.find(" ("))
    if text.endswith("]"):
        cuts.append(text.find(" [blocked by "))
        cuts.append(text.find(" (", 0, text.rfind(") [blocked by ") + 1))
    return text[: min(cut for cut in cuts if cut >= 0)]


def _task(task: Record) -> ToolTodo:
    return ToolTodo(text_at(task, "subject") or "", text_at(task, "status") or "pending", str(task.get("id", "")))


def _answers(result: ToolResult) -> tuple[str, ...]:
    noted = table_at(result.structured or {}, "answers")
    pairs = [(question, answer) for question, answer in noted.items() if isinstance(answer, str)]
    return tuple(f"{question} → {answer}" for question, answer in pairs or _ANSWERED.findall(result.text))
