"""Parse the outputs of Codex CLI's calls: the text without the lines that Codex adds, and whether the call failed."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from baton_git.agents.fields import Record, table_at, text_at, texts
from baton_git.agents.json_lines import parse_object

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
