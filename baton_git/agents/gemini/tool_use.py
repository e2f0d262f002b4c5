"""Interpret the calls and results of Gemini CLI's tools."""

from __future__ import annotations

from baton_git.agents.events import ToolCall, ToolResult
from baton_git.agents.fields import table_at, tables, text_at
from baton_git.agents.gobby_tasks import read_created_id, read_gateway_call
from baton_git.agents.json_lines import parse_object
from baton_git.agents.tool_use import (
    ToolOutcome,
    ToolUse,
    describe_call,
    describe_command,
    describe_file_use,
    name_server_tool,
    read_todos,
)

_WRITING_TOOLS = ("write_file", "replace", "edit")
_SEARCHING_TOOLS = ("glob", "search_file_content", "grep_search", "list_directory", "ripgrep")


def read_call(call: ToolCall) -> ToolUse:
    """Return the meaning of a call."""
    arguments = call.arguments
    if call.name == "run_shell_command" and (command := text_at(arguments, "command")):
        folder = text_at(arguments, "dir_path") or text_at(arguments, "directory") or None
        return ToolUse(describe_command(command), command=command, folder=folder)
    if call.name == "write_todos":
        todos = read_todos(tables(arguments.get("todos")), "description")
        listed = isinstance(arguments.get("todos"), list)
        return ToolUse(f"write_todos: {len(todos)} items", todos=todos if listed else None)
    path = text_at(arguments, "file_path") or text_at(arguments, "absolute_path")
    paths = (path,) if path else ()
    if call.name in _WRITING_TOOLS:
        written = text_at(arguments, "content") or text_at(arguments, "new_string") or ""
        return ToolUse(describe_file_use(call.name, path), files=paths, written=written)
    if path:
        return ToolUse(describe_file_use(call.name, path), reads=paths)
    if call.name in _SEARCHING_TOOLS:
        return ToolUse(describe_call(call.name, arguments), searches=True)
    return read_gateway_call(call.name, arguments) or ToolUse(describe_call(name_server_tool(call.name), arguments))


def read_result(name: str, result: ToolResult) -> ToolOutcome:
    """Return the meaning of the result of a call of the tool `name`."""
    failed = bool(result.failed)
    if name in _WRITING_TOOLS:
        path = text_at(result.structured or {}, "filePath")
        # Older releases name the file without its folder. Only an absolute path is better than the path in the call.
        return ToolOutcome(failed, files=(path,) if path and path.startswith("/") else None)
    if name == "ask_user":
        answers = table_at(parse_object(result.text) or {}, "answers")
        lines = (f"{question} → {answer}" for question, answer in answers.items() if isinstance(answer, str))
        return ToolOutcome(failed, answers=tuple(lines))
    return ToolOutcome(failed, id=read_created_id(result.text) if name.endswith("call_tool") else None)
