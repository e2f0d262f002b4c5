"""What Claude Code's tools do."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from baton_git.agents.events import Call, Result
from baton_git.agents.fields import Record, table_at, tables, text_at
from baton_git.agents.gobby_tasks import gateway_deed, made_id
from baton_git.agents.tool_use import (
    PATTERN_LENGTH,
    Deed,
    Outcome,
    Todo,
    TodoChange,
    about,
    flat,
    on_path,
    ran,
    server_tool,
    todos_in,
)

_CREATED = re.compile(r"Task #(\S+) created")
_LISTED = re.compile(r"^#(\S+) \[(\w+)\] (.*)$", re.MULTILINE)
_ANSWERED = re.compile(r'"([^"\n]+)"="([^"]*)"')
_BACKGROUND = ("Command running in background with ID", "Command was manually backgrounded")


def deed(call: Call) -> Deed:
    """What a call is for."""
    given = call.arguments
    reading = _READINGS.get(call.name)
    if reading is not None:
        return reading(call.name, given)
    return gateway_deed(call.name, given) or Deed(about(server_tool(call.name), given))


def outcome(name: str, result: Result) -> Outcome:
    """What a call of a tool gave."""
    failed, noted = bool(result.failed), result.structured or {}
    if name == "TaskUpdate":
        return Outcome(failed or noted.get("success") is False)
    if name == "TaskCreate":
        found = _CREATED.search(result.text)
        return Outcome(failed, id=text_at(table_at(noted, "task"), "id") or (found[1] if found else None))
    if name == "TaskList":
        return Outcome(failed, todos=None if failed else _listed(result))
    if name == "AskUserQuestion":
        return Outcome(failed, answers=() if failed else _answers(result))
    if name == "Bash":
        later = result.text.startswith(_BACKGROUND) or isinstance(noted.get("backgroundTaskId"), str)
        return Outcome(failed, later=later)
    return Outcome(failed, id=made_id(result.text) if name.endswith("call_tool") else None)


def _bash(name: str, given: Mapping[str, Any]) -> Deed:
    command = text_at(given, "command") or ""
    return Deed(ran(command), command=command) if command else Deed(f"Called {name}")


def _file(name: str, given: Mapping[str, Any]) -> Deed:
    path = text_at(given, "file_path") or text_at(given, "notebook_path")
    return Deed(on_path(name, path), files=(path,) if path and name not in ("Read", "NotebookRead", "LS") else ())


def _search(name: str, given: Mapping[str, Any]) -> Deed:
    pattern = text_at(given, "pattern")
    return Deed(f"{name}: {flat(pattern, PATTERN_LENGTH)}" if pattern else f"Called {name}")


def _agent(name: str, given: Mapping[str, Any]) -> Deed:
    kind, about_it = text_at(given, "subagent_type"), text_at(given, "description")
    label = f"{name} ({kind})" if kind else name
    return Deed(f"{label}: {flat(about_it, PATTERN_LENGTH)}" if about_it else f"Called {name}")


def _todo_write(name: str, given: Mapping[str, Any]) -> Deed:
    todos = todos_in(tables(given.get("todos")), "content")
    return Deed(f"{name}: {len(todos)} items", todos=todos if isinstance(given.get("todos"), list) else None)


def _create(name: str, given: Mapping[str, Any]) -> Deed:
    return Deed(about(name, given), change=TodoChange(None, text_at(given, "subject"), "pending"))


def _update(name: str, given: Mapping[str, Any]) -> Deed:
    number, status = given.get("taskId"), text_at(given, "status")
    if not isinstance(number, str | int):
        return Deed(f"Called {name}")
    words = " ".join(word for word in (str(number), status) if word)
    return Deed(f"{name}: {words}", change=TodoChange(str(number), text_at(given, "subject"), status))


def _plan(name: str, given: Mapping[str, Any]) -> Deed:
    return Deed(f"Called {name}", plan=text_at(given, "plan") or "")


def _question(name: str, given: Mapping[str, Any]) -> Deed:
    return Deed(about(name, (tables(given.get("questions")) or [{}])[0]))


_READINGS: dict[str, Callable[[str, Mapping[str, Any]], Deed]] = {
    "Bash": _bash, "Read": _file, "Edit": _file, "Write": _file, "MultiEdit": _file, "NotebookEdit": _file,
    "Glob": _search, "Grep": _search, "Task": _agent, "Agent": _agent, "TodoWrite": _todo_write, "TaskCreate": _create,
    "TaskUpdate": _update, "ExitPlanMode": _plan, "exit_plan_mode": _plan, "AskUserQuestion": _question,
}  # fmt: skip


def _listed(result: Result) -> tuple[Todo, ...] | None:
    """The whole list as TaskList gives it; None when nothing of it can be told."""
    noted = (result.structured or {}).get("tasks")
    if isinstance(noted, list):
        return tuple(_task(one) for one in tables(noted) if text_at(one, "subject"))
    found = tuple(Todo(_title(text), status, number) for number, status, text in _LISTED.findall(result.text))
    return found if found or "No tasks" in result.text else None


def _title(text: str) -> str:
    """What a task is called, without its owner, `(…)`, and without what blocks it, `[blocked by …]`, behind it."""
    cuts = [len(text)]
    if text.endswith(")"):
        cuts.append(text.find(" ("))
    if text.endswith("]"):
        cuts.append(text.find(" [blocked by "))
        cuts.append(text.find(" (", 0, text.rfind(") [blocked by ") + 1))
    return text[: min(cut for cut in cuts if cut >= 0)]


def _task(one: Record) -> Todo:
    return Todo(text_at(one, "subject") or "", text_at(one, "status") or "pending", str(one.get("id", "")))


def _answers(result: Result) -> tuple[str, ...]:
    noted = table_at(result.structured or {}, "answers")
    pairs = [(question, answer) for question, answer in noted.items() if isinstance(answer, str)]
    return tuple(f"{question} → {answer}" for question, answer in pairs or _ANSWERED.findall(result.text))
