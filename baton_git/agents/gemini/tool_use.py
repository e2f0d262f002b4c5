"""What Gemini CLI's tools do."""

from __future__ import annotations

from baton_git.agents.events import Call, Result
from baton_git.agents.fields import table_at, tables, text_at
from baton_git.agents.gobby_tasks import gateway_deed, made_id
from baton_git.agents.json_lines import object_in
from baton_git.agents.tool_use import Deed, Outcome, about, on_path, ran, server_tool, todos_in

_WRITING = ("write_file", "replace", "edit")


def deed(call: Call) -> Deed:
    """What a call is for."""
    given = call.arguments
    if call.name == "run_shell_command" and (command := text_at(given, "command")):
        folder = text_at(given, "dir_path") or text_at(given, "directory") or None
        return Deed(ran(command), command=command, folder=folder)
    if call.name == "write_todos":
        todos = todos_in(tables(given.get("todos")), "description")
        listed = isinstance(given.get("todos"), list)
        return Deed(f"write_todos: {len(todos)} items", todos=todos if listed else None)
    path = text_at(given, "file_path") or text_at(given, "absolute_path")
    if call.name in _WRITING or path:
        return Deed(on_path(call.name, path), files=(path,) if path and call.name in _WRITING else ())
    return gateway_deed(call.name, given) or Deed(about(server_tool(call.name), given))


def outcome(name: str, result: Result) -> Outcome:
    """What a call of a tool gave."""
    failed = bool(result.failed)
    if name in _WRITING:
        path = text_at(result.structured or {}, "filePath")
        # Older releases name the file without its folder; only an absolute path says more than the call.
        return Outcome(failed, files=(path,) if path and path.startswith("/") else None)
    if name == "ask_user":
        answers = table_at(object_in(result.text) or {}, "answers")
        given = (f"{question} → {answer}" for question, answer in answers.items() if isinstance(answer, str))
        return Outcome(failed, answers=tuple(given))
    return Outcome(failed, id=made_id(result.text) if name.endswith("call_tool") else None)
