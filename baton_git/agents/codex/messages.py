"""What the messages of Codex CLI say: typed prompts, and the calls and results of its tools.

Codex also writes texts of its own as user messages. Newer releases report the files that a patch changed, as
`FilesChanged` events; for older ones the files are read from the patch and from the output of applying it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from baton_git.agents.events import FileChange, ToolCall, ToolResult
from baton_git.agents.json_lines import Record, parse_object, table_at, text_at, texts
from baton_git.agents.transcripts import (
    COMMAND_LENGTH,
    ToolOutcome,
    ToolUse,
    describe_answers,
    describe_command,
    read_other_call,
    read_other_result,
    read_todo_list,
    shorten_line,
)

# --- prompts

_NOT_TYPED = (
    "<user_instructions>", "# AGENTS.md instructions for ", "<INSTRUCTIONS>", "<environment_context>",
    "<permissions instructions>", "<turn_aborted>", "<skill>", "<user_shell_command>", "<hook_prompt",
    "<subagent_notification>", "<goal_context>", "<collaboration_mode>", "<model_switch>", "<recommended_plugins>",
    "Warning: apply_patch was requested via", "Warning: The maximum number of unified exec processes",
    "Another language model started to solve this problem",
)  # fmt: skip
_BEFORE = ("# Context from my IDE setup:", "# Files mentioned by the user:")
_REQUEST = "## My request for Codex:"


def extract_typed_text(text: str) -> str:
    """Return the part of a text that the person typed; empty if there is none."""
    if text.lstrip().startswith(_BEFORE):
        _, separator, request = text.rpartition(_REQUEST)
        return request.strip() if separator else text.strip()
    return "" if text.lstrip().startswith(_NOT_TYPED) else text


def is_marked_typed(payload: Record) -> bool | None:
    """Whether the user typed a message, as Codex marks it (since 0.161); None if the message has no usable mark."""
    kinds = table_at(payload, "internal_chat_message_metadata_passthrough").get("content_item_kinds")
    if not isinstance(kinds, list) or kinds in ([], ["unknown"]):
        return None
    return any(str(kind).startswith("user.") for kind in kinds)


# --- patches: `*** Begin Patch`, then a section for each file

_FILE_LINES = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.*\S)", re.MULTILINE)
_REMOVED = re.compile(r"^\*\*\* (?:Delete File: (.*\S)|Update File: (.*\S)[ \t]*\n\*\*\* Move to: )", re.MULTILINE)
_KEPT = ("+", " ", "@")
"""First characters of lines that are in the file after the patch (`+`, blank) or name a position in it (`@`)."""
WORKED = "Success. Updated the following files:"


def list_patched_files(patch: str) -> tuple[str, ...]:
    """Return the files that a patch names, in its order; for a moved file, the old name and the new one."""
    return tuple(dict.fromkeys(_FILE_LINES.findall(patch)))


def list_removed_files(patch: str) -> tuple[str, ...]:
    """Return the files that a patch deletes, and the old names of those that it moves."""
    return tuple(dict.fromkeys(deleted or moved for deleted, moved in _REMOVED.findall(patch)))


def find_patch_code(patch: str) -> str:
    """Return the code in a patch as it is after the change: the added lines, and the lines around them."""
    return _keep_code(patch.partition("*** Begin Patch")[2].partition("*** End Patch")[0])


def find_replaced_code(patch: str) -> str:
    """Return the lines that a patch removes."""
    body = patch.partition("*** Begin Patch")[2].partition("*** End Patch")[0]
    return "\n".join(line[1:] for line in body.splitlines() if line[:1] == "-")


def split_patch_code(patch: str) -> tuple[str, ...]:
    """Return that code for each file of `list_patched_files`; that of a moved file belongs to its new name."""
    sections = _FILE_LINES.split(patch.partition("*** End Patch")[0])[1:]
    codes = dict.fromkeys(list_patched_files(patch), "")
    for name, body in zip(sections[::2], sections[1::2], strict=True):
        codes[name] += _keep_code(body)
    return tuple(codes.values())


def _keep_code(body: str) -> str:
    kept = (line for line in body.splitlines() if line[:1] in _KEPT)
    return "\n".join(line.removeprefix("@@ ") if line[0] == "@" else line[1:] for line in kept)


def is_patch(text: str) -> bool:
    return "*** Begin Patch" in text


def has_worked(output: str) -> bool:
    """Whether the output of apply_patch, or of a shell that ran it, reports success."""
    return WORKED in output


# --- outputs of calls

_HEAD = re.compile(
    r"(?:(?:Chunk ID|Wall time|Process exited|Process running|Exit code|Original token count|Total output lines"
    r"|Script \w+)\b[^\n]*\n)+Output:\n"
)
_EXIT = re.compile(r"^(?:Exit code: |Process exited with code )(-?[0-9]+)$", re.MULTILINE)
_FAILED = (
    "apply_patch verification failed", "error: ", "execution error", "aborted by user", "Script failed", "Script error",
    "failed to parse function arguments", "unsupported call",
)  # fmt: skip
_WORKED = ("Success. Updated the following files:", "Plan updated", "Script completed")
_STATUS = {"completed": False, "failed": True, "declined": True}


class Output(NamedTuple):
    """The output of a call. `failed` is None if the output does not show whether the call failed."""

    text: str
    failed: bool | None


def parse_output(value: Any) -> Output:
    """Parse an output in the form that the model received.

    This is a text, parts with texts, or, up to Codex 0.6x, JSON in a text.
    """
    text, failed = "\n".join(texts(value)), None
    while (unwrapped := _unwrap_output(text)) is not None:
        text, inner = unwrapped
        failed = inner if failed is None else failed or bool(inner)
    return Output(text, failed if failed is not None else _detect_failure(text))


def _unwrap_output(text: str) -> tuple[str, bool | None] | None:
    """Remove one wrapper; return the inner text and whether the wrapper reports failure, or None without a wrapper."""
    head = _HEAD.match(text)
    if head:
        code = _EXIT.search(head[0])
        return text[head.end() :], int(code[1]) != 0 if code else _detect_failure(head[0])
    wrapped = parse_object(text) if text.startswith('{"output"') else None
    inner = text_at(wrapped or {}, "output")
    if wrapped is None or inner is None:
        return None
    code_number = table_at(wrapped, "metadata").get("exit_code")
    return inner, code_number != 0 if isinstance(code_number, int) else None


def _detect_failure(text: str) -> bool | None:
    if text.startswith(_FAILED):
        return True
    return False if text.startswith(_WORKED) else None


def read_command_output(item: Record) -> Output:
    """Return the output of a command from a CommandExecution item or, in older releases, `exec_command_end` event."""
    text = text_at(item, "aggregated_output")
    if text is None:
        text = (text_at(item, "stdout") or "") + (text_at(item, "stderr") or "")
    code = item.get("exit_code")
    failed = code != 0 if isinstance(code, int) else _STATUS.get(text_at(item, "status") or "")
    return Output(text, failed)


# --- work that is recorded besides messages: commands that ran, changed files, calls of MCP tools


class CompletedWork(NamedTuple):
    """A finished command, patch or MCP tool call.

    `id` is the id of the model's call; work that was started by the model's code (code mode) has an id of its own.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    output: Output
    structured: Record
    files: tuple[FileChange, ...] = ()


def read_work(payload: Record) -> CompletedWork | None:
    """Return the work that an event records; None for other events.

    Since 0.151 it is an item in an `item_completed` event; older releases have an event type for each kind of work.
    """
    item = table_at(payload, "item")
    kind = text_at(payload, "type") or ""
    if kind == "item_completed":
        kind, payload = text_at(item, "type") or "", item
    name = text_at(payload, "call_id") or text_at(payload, "id") or ""
    if kind in ("CommandExecution", "exec_command_end"):
        folder = (text_at(payload, "cwd") or "").removeprefix("file://")
        return CompletedWork(
            name, "shell", {"command": payload.get("command"), "workdir": folder}, read_command_output(payload), payload
        )
    if kind in ("FileChange", "patch_apply_end"):
        return _read_patch(name, payload)
    return _read_mcp_call(name, payload) if kind in ("McpToolCall", "mcp_tool_call_end") else None


def _read_patch(name: str, payload: Record) -> CompletedWork:
    succeeded = payload.get("success") is True or payload.get("status") == "completed"
    changes = table_at(payload, "changes")
    text = (text_at(payload, "stdout") or "") + (text_at(payload, "stderr") or "")
    files = tuple(_read_change(path, changes) for path in changes) if succeeded else ()
    return CompletedWork(name, "apply_patch", {"changes": changes}, Output(text, not succeeded), payload, files)


def _read_change(path: str, changes: Record) -> FileChange:
    change = table_at(changes, path)
    # In older releases the kind is the only key.
    kind = text_at(change, "type") or next(iter(change), "update")
    details = change if "type" in change else table_at(change, kind)
    return FileChange(path, kind, text_at(details, "move_path"))


def _read_mcp_call(name: str, payload: Record) -> CompletedWork:
    invocation = table_at(payload, "invocation") or payload
    result = payload.get("result")
    answer = table_at(result, "Ok") or result if isinstance(result, dict) else {}
    failed = bool(answer.get("is_error") or answer.get("isError")) or bool(payload.get("error")) or "Err" in answer
    tool = f"mcp__{text_at(invocation, 'server')}__{text_at(invocation, 'tool')}"
    return CompletedWork(
        name, tool, table_at(invocation, "arguments"), Output("\n".join(texts(answer.get("content"))), failed), payload
    )


# --- tools

_REFUSED = re.compile(r"(?:(?:exec command|patch) )?(?:was )?rejected by (?:the )?user\b(?! approval)", re.IGNORECASE)
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
        return read_todo_list(call.name, arguments.get("plan"), "step")
    if call.name == "exec" and (code := text_at(arguments, "input")):
        return ToolUse(f"exec: {shorten_line(code, COMMAND_LENGTH)}")
    # tools of other servers than Gobby's may have the same name; which server it is stands in the arguments
    return read_other_call("call_tool" if call.name.endswith("__call_tool") else call.name, arguments)


def read_result(name: str, result: ToolResult) -> ToolOutcome:
    """Return the meaning of the result of a call of the tool `name`."""
    failed = bool(result.failed)
    if _REFUSED.match(result.text):
        return ToolOutcome(failed=True, files=(), refused=True)
    if name in _SHELLS or name == "apply_patch":
        # If the output does not report success, only a `FilesChanged` event can name changed files.
        return ToolOutcome(failed, files=None if not failed and has_worked(result.text) else ())
    if name == "request_user_input":
        answers = table_at(parse_object(result.text) or {}, "answers")
        given = ((question, table_at(answers, question).get("answers")) for question in answers)
        return ToolOutcome(failed, answers=describe_answers(given))
    return read_other_result(name, result)


def _read_shell_call(name: str, arguments: Mapping[str, Any]) -> ToolUse:
    command = _join_command(arguments)
    folder = text_at(arguments, "workdir") or text_at(arguments, "working_directory")
    if not command:
        return ToolUse(f"Called {name}")
    if is_patch(command):
        files = list_patched_files(command)
        return ToolUse(
            f"apply_patch: {shorten_line(', '.join(files), 200)}", files=files, command=command, folder=folder or None,
            written=find_patch_code(command), removes=list_removed_files(command),
            sections=split_patch_code(command),
            replaced=find_replaced_code(command),
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
        files=list_patched_files(text), written=find_patch_code(text), removes=list_removed_files(text),
        sections=split_patch_code(text),
        replaced=find_replaced_code(text),
    )  # fmt: skip
