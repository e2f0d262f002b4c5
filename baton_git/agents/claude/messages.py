"""What the messages of Claude Code say: prompts and whose they are, and the calls and results of its tools.

Claude Code also writes texts of its own as user messages. Their markers come from 650 real transcripts (2.0.64 to
2.1.237) and from runs of 34 releases (0.2 to 2.1.329).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from baton_git.agents.events import AGENT, HARNESS, PERSON, SCHEDULE, UNKNOWN, ToolCall, ToolResult
from baton_git.agents.json_lines import Record, table_at, tables, text_at, texts
from baton_git.agents.transcripts import (
    PATTERN_LENGTH,
    TodoChange,
    ToolOutcome,
    ToolTodo,
    ToolUse,
    describe_answers,
    describe_call,
    describe_command,
    describe_file_use,
    read_other_call,
    read_other_result,
    read_todo_list,
    shorten_line,
)

# --- prompts

CONTINUED = "This session is being continued from a previous conversation"
"""Beginning of a compaction summary; old versions have no other mark for it."""

INTERRUPTION = "[Request interrupted by user"
"""Beginning of the message that Claude Code writes when somebody stops a turn."""

BLOCKED = ("Operation stopped by hook: ", "UserPromptSubmit operation blocked by hook")
"""Beginnings of the message after a prompt that a hook blocked."""

_NOT_TYPED = (
    "Base directory for this skill", "Caveat: The messages below", INTERRUPTION, "[Image: ", "<local-command-",
    "<command-name>", "<command-args>", "<bash-", "<user-prompt-submit-hook", "<tool_use_error>", CONTINUED,
)  # fmt: skip
_ENVELOPE = re.compile(r"\s*<([A-Za-z][\w.:-]*)(?:\s[^<>]*)?>.*</\1>\s*\Z", re.DOTALL)
_ENVELOPES = {
    "task-notification": HARNESS, "ci-monitor-event": HARNESS, "monitor-event": HARNESS,
    "scheduled-task": SCHEDULE, "tick": SCHEDULE,
    "teammate-message": AGENT, "agent-message": AGENT, "cross-session-message": AGENT,
}  # fmt: skip
_KINDS = {
    "human": PERSON, "person": PERSON, "composer": PERSON, "voice-call": PERSON,
    "peer": AGENT, "coordinator": AGENT, "teammate": AGENT, "agent": AGENT,
    "task-notification": HARNESS, "auto-continuation": HARNESS, "observer-activity": HARNESS, "plugin": HARNESS,
    "suggestion": HARNESS, "scheduled-task": SCHEDULE, "schedule": SCHEDULE,
}  # fmt: skip
"""The origin of a message by the kind that Claude Code states; other kinds are of unknown origin."""
_INSERTED = re.compile(r"\s*<(ide_[a-z_]+|system-reminder)>.*?</\1>\s*", re.DOTALL)
_COMMAND = re.compile(r"\s*<command-message>.*?</command-message>\s*<command-name>(.*?)</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_MARKS = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly")
_BUILT_IN = frozenset(
    {
        "add-dir", "agents", "bashes", "bug", "clear", "compact", "config", "context", "copy", "cost", "doctor",
        "effort", "exit", "export", "extra-usage", "fast", "feedback", "help", "hooks", "ide", "install-github-app",
        "keybindings", "login", "logout", "mcp", "memory", "mobile", "model", "output-style", "passes", "permissions",
        "plan", "plugin", "privacy-settings", "quit", "rate-limit-options", "release-notes", "reload-plugins",
        "remote-control", "remote-env", "rename", "resume", "rewind", "sandbox", "settings", "skills", "stats",
        "status", "statusline", "stickers", "tag", "tasks", "terminal-setup", "theme", "think-back", "todos",
        "upgrade", "usage", "vim", "voice",
    }
)  # fmt: skip


class PromptText(NamedTuple):
    """The text of a prompt, the custom command in it or None, and whose prompt it is."""

    text: str
    command: str | None = None
    origin: str = PERSON


NO_PROMPT = PromptText("")


def extract_prompt(record: Record, content: Any) -> PromptText:
    """Return the prompt in a message; an empty text if it is none, as nobody sent it to the model as one."""
    if any(record.get(mark) for mark in _MARKS) or find_block(record, content):
        return NO_PROMPT
    origin = read_stated_origin(record)
    text = "\n".join(part for part in map(_strip_inserted_text, texts(content, "text")) if part)
    command = _COMMAND.match(text)
    if command:
        return PromptText(*_read_custom_command(command[1], text), origin or PERSON)
    if text.lstrip().startswith("<command-message>"):
        return NO_PROMPT
    return PromptText(text, None, origin or guess_origin(text))


def find_block(record: Record, content: Any) -> str:
    """Return the message of a hook that blocked the prompt before it, which is written like a prompt; else empty."""
    text = next((text for text in texts(content, "text") if text.startswith(BLOCKED)), "")
    return text if read_stated_origin(record) is None else ""


def read_stated_origin(record: Record) -> str | None:
    """Return the origin that a record states; None if it states none."""
    kind = text_at(table_at(record, "origin"), "kind")
    if kind is not None:
        return _KINDS.get(kind, UNKNOWN)
    return PERSON if record.get("promptSource") == "typed" else None


def guess_origin(text: str) -> str:
    """Return the origin of a message without a stated one.

    What is wrapped as a whole in one element is not what a person types, and new releases bring new elements, so an
    element that is not in the list is of unknown origin.
    """
    envelope = _ENVELOPE.match(text)
    if envelope is None:
        # a notification may be cut, or have text after it
        return next((origin for tag, origin in _ENVELOPES.items() if re.match(rf"\s*<{tag}[\s>]", text)), PERSON)
    return _ENVELOPES.get(envelope[1], UNKNOWN)


def _strip_inserted_text(text: str) -> str:
    """Return a text without the tags that Claude Code puts before it; empty if Claude Code wrote the whole text."""
    at = 0
    while match := _INSERTED.match(text, at):
        at = match.end()
    text = text[at:]
    return "" if text.lstrip().startswith(_NOT_TYPED) else text


def _read_custom_command(name: str, text: str) -> tuple[str, str | None]:
    """Return the text and name of a custom command; for a built-in one, which is not about the work, an empty text."""
    name = "/" + name.strip().lstrip("/")
    if name[1:] in _BUILT_IN:
        return "", None
    arguments = _ARGUMENTS.search(text)
    return f"{name} {arguments[1].strip() if arguments else ''}".rstrip(), name


# --- tools

_CREATED = re.compile(r"Task #(\S+) created")
_LISTED = re.compile(r"^#(\S+) \[(\w+)\] (.*)$", re.MULTILINE)
_ANSWERED = re.compile(r'"([^"\n]+)"="([^"]*)"')
_WRITTEN = ("content", "new_string", "new_source")
_REFUSED = (
    "The user doesn't want to proceed", "The user doesn't want to take this action", "The tool use was rejected",
    "Permission to use ", INTERRUPTION,
)  # fmt: skip
_BACKGROUND = ("Command running in background with ID", "Command was manually backgrounded")


def read_call(call: ToolCall) -> ToolUse:
    """Return the meaning of a call."""
    return _READERS.get(call.name, read_other_call)(call.name, call.arguments)


def read_result(name: str, result: ToolResult) -> ToolOutcome:
    """Return the meaning of the result of a call of the tool `name`."""
    failed, structured = bool(result.failed), result.structured or {}
    if failed and result.text.startswith(_REFUSED):
        return ToolOutcome(failed, refused=True)
    if name == "TaskUpdate":
        return ToolOutcome(failed or structured.get("success") is False)
    if name == "TaskCreate":
        match = _CREATED.search(result.text)
        return ToolOutcome(failed, id=text_at(table_at(structured, "task"), "id") or (match[1] if match else None))
    if name == "TaskList":
        return ToolOutcome(failed, todos=None if failed else _read_task_list(result))
    if name == "AskUserQuestion":
        given = describe_answers(table_at(structured, "answers").items())
        return ToolOutcome(failed, answers=() if failed else given or describe_answers(_ANSWERED.findall(result.text)))
    if name == "Bash":
        later = result.text.startswith(_BACKGROUND) or isinstance(structured.get("backgroundTaskId"), str)
        return ToolOutcome(failed, later=later)
    return read_other_result(name, result)


def _read_bash(name: str, arguments: Mapping[str, Any]) -> ToolUse:
    command = text_at(arguments, "command") or ""
    return ToolUse(describe_command(command), command=command) if command else ToolUse(f"Called {name}")


def _read_file_use(name: str, arguments: Mapping[str, Any]) -> ToolUse:
    path = text_at(arguments, "file_path") or text_at(arguments, "notebook_path")
    paths = (path,) if path else ()
    if name == "Read":
        return ToolUse(describe_file_use(name, path), reads=paths)
    pieces = [arguments, *tables(arguments.get("edits"))]
    written = "\n".join(text for piece in pieces for key in _WRITTEN if (text := text_at(piece, key)))
    replaced = "\n".join(text for piece in pieces if (text := text_at(piece, "old_string")))
    return ToolUse(describe_file_use(name, path), files=paths, written=written, replaced=replaced)


def _read_search(name: str, arguments: Mapping[str, Any]) -> ToolUse:
    pattern = text_at(arguments, "pattern")
    activity = f"{name}: {shorten_line(pattern, PATTERN_LENGTH)}" if pattern else f"Called {name}"
    return ToolUse(activity, searches=name != "Glob")


def _read_agent_call(name: str, arguments: Mapping[str, Any]) -> ToolUse:
    kind, description = text_at(arguments, "subagent_type"), text_at(arguments, "description")
    label = f"{name} ({kind})" if kind else name
    return ToolUse(f"{label}: {shorten_line(description, PATTERN_LENGTH)}" if description else f"Called {name}")


def _read_todo_write(name: str, arguments: Mapping[str, Any]) -> ToolUse:
    return read_todo_list(name, arguments.get("todos"), "content")


def _read_task_create(name: str, arguments: Mapping[str, Any]) -> ToolUse:
    return ToolUse(describe_call(name, arguments), change=TodoChange(None, text_at(arguments, "subject"), "pending"))


def _read_task_update(name: str, arguments: Mapping[str, Any]) -> ToolUse:
    task_id, status = arguments.get("taskId"), text_at(arguments, "status")
    if not isinstance(task_id, str | int):
        return ToolUse(f"Called {name}")
    words = " ".join(word for word in (str(task_id), status) if word)
    return ToolUse(f"{name}: {words}", change=TodoChange(str(task_id), text_at(arguments, "subject"), status))


def _read_plan(name: str, arguments: Mapping[str, Any]) -> ToolUse:
    return ToolUse(f"Called {name}", plan=text_at(arguments, "plan") or "")


def _read_question(name: str, arguments: Mapping[str, Any]) -> ToolUse:
    return ToolUse(describe_call(name, (tables(arguments.get("questions")) or [{}])[0]))


_READERS: dict[str, Callable[[str, Mapping[str, Any]], ToolUse]] = {
    "Bash": _read_bash, "Read": _read_file_use, "Edit": _read_file_use, "Write": _read_file_use,
    "MultiEdit": _read_file_use, "NotebookEdit": _read_file_use, "Glob": _read_search, "Grep": _read_search,
    "Task": _read_agent_call, "Agent": _read_agent_call, "TodoWrite": _read_todo_write,
    "TaskCreate": _read_task_create, "TaskUpdate": _read_task_update, "ExitPlanMode": _read_plan,
    "exit_plan_mode": _read_plan, "AskUserQuestion": _read_question,
}  # fmt: skip


def _read_task_list(result: ToolResult) -> tuple[ToolTodo, ...] | None:
    """Return the whole list that TaskList printed; None if it cannot be parsed."""
    structured = (result.structured or {}).get("tasks")
    if isinstance(structured, list):
        return tuple(
            ToolTodo(subject, text_at(task, "status") or "pending", str(task.get("id", "")))
            for task in tables(structured)
            if (subject := text_at(task, "subject"))
        )
    todos = tuple(
        ToolTodo(_strip_suffixes(text), status, task_id) for task_id, status, text in _LISTED.findall(result.text)
    )
    return todos if todos or "No tasks" in result.text else None


def _strip_suffixes(text: str) -> str:
    """Return the title of a task, without the suffixes for its owner, `(…)`, and its blockers, `[blocked by …]`."""
    cuts = [len(text)]
    if text.endswith(")"):
        cuts.append(text.find(" ("))
    if text.endswith("]"):
        cuts.append(text.find(" [blocked by "))
        cuts.append(text.find(" (", 0, text.rfind(") [blocked by ") + 1))
    return text[: min(cut for cut in cuts if cut >= 0)]
