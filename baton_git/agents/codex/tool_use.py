"""Interpret the calls and results of Codex CLI's tools.

Newer releases report the files that a patch changed, as `FilesChanged` events; for older ones the files are read from
the patch and from the output of applying it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton_git.agents.codex.patches import find_patch_code, has_worked, is_patch, list_patched_files
from baton_git.agents.events import ToolCall, ToolResult
from baton_git.agents.fields import table_at, tables, text_at
from baton_git.agents.gobby_tasks import read_created_id, read_gateway_call
from baton_git.agents.json_lines import parse_object
from baton_git.agents.tool_use import (
    COMMAND_LENGTH,
    ToolOutcome,
    ToolUse,
    describe_call,
    describe_command,
    name_server_tool,
    read_todos,
    shorten_line,
)

_SHELLS = ("shell", "local_shell", "shell_command", "exec_command", "container.exec", "bash")
_SHELL_PROGRAMS = ("sh", "bash", "zsh", "dash")


def read_call(call: ToolCall) -> ToolUse:
    """Return the meaning of a call."""
    arguments = call.arguments
    if call.name in _SHELLS:
        return _read_shell_call(call.name, arguments)
    if call.name == "apply_patch":
        return _read_patch_call(arguments)
    if call.name == "update_plan":
        todos = read_todos(tables(arguments.get("plan")), "step")
        listed = isinstance(arguments.get("plan"), list)
        return ToolUse(f"update_plan: {len(todos)} items", todos=todos if listed else None)
    if call.name == "exec" and (code := text_at(arguments, "input")):
        return ToolUse(f"exec: {shorten_line(code, COMMAND_LENGTH)}")
    return (
        read_gateway_call(call.name, arguments)
        or _read_server_call(call.name, arguments)
        or ToolUse(describe_call(name_server_tool(call.name), arguments))
    )


def _read_server_call(name: str, arguments: Mapping[str, Any]) -> ToolUse | None:
    """Return the meaning of a call of Gobby's server, whose name ends with `__call_tool`; None for other calls."""
    return read_gateway_call("call_tool", arguments) if name.endswith("__call_tool") else None


def read_result(name: str, result: ToolResult) -> ToolOutcome:
    """Return the meaning of the result of a call of the tool `name`."""
    failed = bool(result.failed)
    if name in _SHELLS or name == "apply_patch":
        # If the output does not report success, only a `FilesChanged` event can name changed files.
        return ToolOutcome(failed, files=None if not failed and has_worked(result.text) else ())
    if name == "request_user_input":
        return ToolOutcome(failed, answers=_read_answers(result.text))
    return ToolOutcome(failed, id=read_created_id(result.text) if name.endswith("call_tool") else None)


def _read_shell_call(name: str, arguments: Mapping[str, Any]) -> ToolUse:
    command = _join_command(arguments)
    folder = text_at(arguments, "workdir") or text_at(arguments, "working_directory")
    if not command:
        return ToolUse(f"Called {name}")
    if is_patch(command):
        files = list_patched_files(command)
        return ToolUse(
            f"apply_patch: {shorten_line(', '.join(files), 200)}", files=files, command=command, folder=folder or None,
            written=find_patch_code(command),
        )  # fmt: skip
    return ToolUse(describe_command(command), command=command, folder=folder or None)


def _join_command(arguments: Mapping[str, Any]) -> str:
    """Return the command as one text: the script passed to a shell, or the joined words of an argument list."""
    command = arguments.get("command", arguments.get("cmd"))
    if isinstance(command, str):
        return command
    words = [word for word in command if isinstance(word, str)] if isinstance(command, list) else []
    if len(words) > 2 and words[0].rpartition("/")[2] in _SHELL_PROGRAMS and words[1].startswith("-"):
        return words[2]
    if words[:1] == ["apply_patch"]:
        return "\n".join(words)
    return " ".join(_quote_word(word) for word in words)


def _quote_word(word: str) -> str:
    plain = word and all(c.isalnum() or c in "_@%+=:,./-" for c in word)
    return word if plain else "'" + word.replace("'", "'\\''") + "'"


def _read_patch_call(arguments: Mapping[str, Any]) -> ToolUse:
    text = text_at(arguments, "input") or text_at(arguments, "patch") or ""
    files = list_patched_files(text) or tuple(table_at(arguments, "changes"))
    return ToolUse(
        f"apply_patch: {shorten_line(', '.join(files), 200)}" if files else "Called apply_patch",
        files=list_patched_files(text), written=find_patch_code(text),
    )  # fmt: skip


def _read_answers(text: str) -> tuple[str, ...]:
    answers = table_at(parse_object(text) or {}, "answers")
    answers_by_name = {name: table_at(answers, name).get("answers") for name in answers}
    return tuple(
        f"{name} → {', '.join(answer for answer in given_answers if isinstance(answer, str))}"
        for name, given_answers in answers_by_name.items()
        if isinstance(given_answers, list) and given_answers
    )
