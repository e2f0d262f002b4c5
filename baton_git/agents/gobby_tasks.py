"""Interpret calls of the MCP server gobby-tasks, with which agents that work with Gobby manage their tasks.

The calls go through a tool of Gobby's own server, `call_tool`, with the arguments `server_name`, `tool_name` and
`arguments`. The name of the tool is `mcp__gobby__call_tool` in Claude Code, `mcp_gobby_call_tool` in Gemini CLI, and
`mcp_call_tool` in Gobby's documents.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from baton_git.agents.fields import Record, table_at, text_at
from baton_git.agents.json_lines import parse_object
from baton_git.agents.tool_use import PATTERN_LENGTH, Task, ToolUse, describe_call, shorten_line

_GATEWAY = re.compile(r"(?:mcp_{1,2}(?:[A-Za-z0-9-]+_{1,2})?)?call_tool")
SERVER = "gobby-tasks"
_STATUS = {
    "claim_task": "in_progress", "create_task": "open", "close_task": "closed", "reopen_task": "open",
    "delete_task": "deleted", "start_task": "in_progress", "mark_task_for_review": "needs_review",
}  # fmt: skip
CLOSED_STATUSES = ("closed", "deleted", "completed", "done", "cancelled")


def read_gateway_call(name: str, arguments: Mapping[str, Any]) -> ToolUse | None:
    """Return the meaning of a call through Gobby's server; None for other calls."""
    if not _GATEWAY.fullmatch(name):
        return None
    server, tool = text_at(arguments, "server_name") or "", text_at(arguments, "tool_name") or "unknown"
    nested = arguments.get("arguments")
    inner: Record = (parse_object(nested) or {}) if isinstance(nested, str) else table_at(arguments, "arguments")
    if server != SERVER:
        return ToolUse(describe_call(f"{server or 'gobby'}.{tool}", inner))
    task = _read_task(tool, inner)
    return ToolUse(_describe_task_call(tool, inner, task), task=task if task.id or task.title else None)


def _read_task(tool: str, arguments: Record) -> Task:
    number = next((arguments[key] for key in ("task_id", "id") if isinstance(arguments.get(key), str | int)), None)
    return Task(
        tool,
        None if number is None else str(number),
        text_at(arguments, "title"),
        text_at(arguments, "status") or _STATUS.get(tool),
        text_at(arguments, "description"),
    )


def _describe_task_call(tool: str, arguments: Record, task: Task) -> str:
    name = task.id or "unknown"
    if tool == "create_task":
        parent = text_at(arguments, "parent_task_id") or text_at(arguments, "parent")
        return f"Created task: {task.title or 'unknown'}{f' (parent: {parent})' if parent else ''}"
    if tool == "update_task":
        return f"Updated task {name}{f': status → {task.status}' if task.status else ''}"
    if tool == "close_task":
        reason = text_at(arguments, "reason")
        return f"Closed task {name}{f': {shorten_line(reason, PATTERN_LENGTH)}' if reason else ''}"
    words = {"claim_task": "Claimed task", "get_task": "Fetched task"}
    return f"{words[tool]} {name}" if tool in words else describe_call(f"{SERVER}.{tool}", arguments)


def read_created_id(text: str) -> str | None:
    """Return the id of the created task from the result of a call; None if the result names none."""
    result = parse_object(text) or {}
    for table in (
        result,
        table_at(result, "result"),
        table_at(result, "task"),
        table_at(table_at(result, "result"), "task"),
    ):
        for key in ("task_id", "id", "ref"):
            if isinstance(table.get(key), str | int):
                return str(table[key])
    return None
