"""Read the work that Codex CLI records besides messages: commands that ran, changed files, calls of MCP tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from baton_git.agents.codex.outputs import Output, read_command_output
from baton_git.agents.events import FileChange
from baton_git.agents.fields import Record, table_at, text_at, texts


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
