"""Transcripts: find them by their file names, tell who wrote one, and what a tool call in it means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple, Protocol

from baton_git.agents.events import EndReached, Event, ToolCall, ToolResult
from baton_git.agents.json_lines import (
    JsonLines,
    Record,
    open_transcript,
    parse_object,
    table_at,
    tables,
    text_at,
)
from baton_git.core.errors import BatonError
from baton_git.git.files.atomic_files import show_path

Warn = Callable[[str], None]
"""Receives a one-line message about something that could not be read."""

HEAD_LINES = 20
HEAD_BYTES = 65536


class Transcript(NamedTuple):
    """The transcript of a session; `session` and `cwd` are None when neither its path nor its first lines name them.

    Attributes:
        cwd_digest: the SHA-256 of `cwd`, if only this is known.
    """

    path: Path
    session: str | None
    cwd: str | None
    cwd_digest: str | None = None


class TranscriptFormat(Protocol):
    """The interface of the module `transcript` in an agent's folder."""

    def events(self, path: Path, since: EndReached = ...) -> Iterator[Event]:
        """Yield the events after the end of an earlier reading; several readings yield the same events as one."""

    def read_call(self, call: ToolCall) -> ToolUse:
        """Return the meaning of a tool call."""

    def read_result(self, name: str, result: ToolResult) -> ToolOutcome:
        """Return the meaning of the result of a call of the tool `name`."""

    def recognises(self, record: Record) -> bool:
        """Whether this is a record of a transcript of this agent, and of no other."""


def ignore_warning(_: str) -> None:
    """Ignore a warning."""


def find_files(folder: Path, *parts: str, warn: Warn = ignore_warning) -> Iterator[Path]:
    """Yield the paths below a folder that match a glob pattern, given as its parts; `**` matches any depth of folders.

    A folder that exists but cannot be listed causes a warning.
    """
    first, *rest = parts
    if first == "**":
        yield from find_files(folder, *rest, warn=warn)
    for path in _list_folder(folder, warn):
        if first == "**":
            if not path.is_symlink() and _is_folder(path):
                yield from find_files(path, *parts, warn=warn)
        elif fnmatchcase(path.name, first):
            if not rest:
                yield path
            elif _is_folder(path):
                yield from find_files(path, *rest, warn=warn)


def _list_folder(folder: Path, warn: Warn) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        warn(f"cannot list {show_path(folder)}: {error.strerror}")
        return []


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def sort_newest_first(paths: Iterable[Path], warn: Warn = ignore_warning) -> list[Path]:
    """Return the regular files among `paths`, last modified first; those that no longer exist are left out."""
    changed = {}
    for path in paths:
        try:
            stat = path.stat()
            if S_ISREG(stat.st_mode):  # opening a pipe could block forever
                changed[path] = stat.st_mtime_ns
        except FileNotFoundError:
            continue
        except OSError as error:
            warn(f"cannot look at {show_path(path)}: {error.strerror}")
    return sorted(changed, key=lambda path: (changed[path], str(path)), reverse=True)


def read_first_records(path: Path) -> Iterator[Record]:
    """Yield the records in the first `HEAD_LINES` lines; nothing when the file cannot be read."""
    try:
        for _, record in JsonLines(path, most=HEAD_LINES):
            yield record
    except BatonError:
        return


def read_head(path: Path) -> str:
    """Return the first `HEAD_BYTES` bytes as text; an empty text when the file cannot be read."""
    try:
        with open_transcript(path) as file:
            return file.read(HEAD_BYTES).decode(errors="replace")
    except BatonError:
        return ""


# --- the meaning of a tool call, independent of the agent CLI: files, commands, todo lists, answers
# In each agent's module `transcript`, `read_call` interprets a call, and `read_result` its result. Both return plain
# values, so that calls without a result can be stored in a file.

COMMAND_LENGTH = 60
PATTERN_LENGTH = 40
CONTEXT_LENGTH = 100


class ToolTodo(NamedTuple):
    """One item of a todo list. `id` is set in lists that are changed item by item."""

    content: str
    status: str
    id: str = ""


class TodoChange(NamedTuple):
    """A created or changed item; None means unchanged. The id of a new item is in the result of the call."""

    id: str | None = None
    content: str | None = None
    status: str | None = None


class Task(NamedTuple):
    """A task of gobby-tasks in a call. The id of a new task is in the result of the call."""

    action: str
    id: str | None = None
    title: str | None = None
    status: str | None = None
    description: str | None = None


class ToolUse(NamedTuple):
    """The meaning of a call.

    Attributes:
        activity: a description of the call on one line.
        files: the files that it changes if it succeeds, as named in the call.
        command: the shell command.
        folder: the working directory of the command, if the call names one.
        reads: the files that it reads.
        written: the text that it writes into files.
        replaced: the text that it removes from files.
        sections: the part of that text for each of `files`, if there are several.
        searches: whether its result names files.
        removes: those of `files` that it removes or renames.
        todos: the new todo list as a whole.
        change: a change of one todo item.
        task: a task of gobby-tasks.
        plan: the plan that a person accepts if the call succeeds.
    """

    activity: str
    files: tuple[str, ...] = ()
    command: str | None = None
    folder: str | None = None
    reads: tuple[str, ...] = ()
    written: str = ""
    replaced: str = ""
    sections: tuple[str, ...] = ()
    searches: bool = False
    removes: tuple[str, ...] = ()
    todos: tuple[ToolTodo, ...] | None = None
    change: TodoChange | None = None
    task: Task | None = None
    plan: str | None = None


class ToolOutcome(NamedTuple):
    """The meaning of a call's result.

    Attributes:
        failed: whether the call failed.
        files: the files that it changed, if the result names them; None: those that the call names.
        id: the id of the item that it created.
        todos: the whole todo list, if the result contains it.
        answers: a person's answers, each with its question.
        later: whether the call continues in the background, so that this is not its final result.
        refused: whether a person refused the call.
    """

    failed: bool
    files: tuple[str, ...] | None = None
    id: str | None = None
    todos: tuple[ToolTodo, ...] | None = None
    answers: tuple[str, ...] = ()
    later: bool = False
    refused: bool = False


def shorten_line(text: str, limit: int) -> str:
    """Return the text on one line of at most `limit` characters; like Gobby, end a shortened text with `...`."""
    # Only the beginning is split into words, because a command may contain a whole document.
    line = " ".join(text[: limit * 8].split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def describe_command(command: str) -> str:
    return f"Ran: {shorten_line(command, COMMAND_LENGTH)}"


def describe_file_use(name: str, path: str | None) -> str:
    return f"{name}: {path}" if path else f"Called {name}"


_INFORMATIVE_KEYS = (
    ("query", "search", "pattern", "topic"),
    ("title", "name", "subject", "task_id", "id", "ref"),
    ("path", "file_path", "uri", "url", "file"),
    ("description", "reason", "message", "content", "prompt"),
)
_UNINFORMATIVE_KEYS = ("session_id", "server_name")


def describe_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Describe a call of any tool: its name and its most informative argument."""
    known = (text_at(arguments, key) for keys in _INFORMATIVE_KEYS for key in keys)
    others = (value for key, value in arguments.items() if isinstance(value, str) and key not in _UNINFORMATIVE_KEYS)
    detail = next((text for text in (*known, *others) if text and text.strip()), None)
    name = name or "unknown"
    return f"{name}: {shorten_line(detail, CONTEXT_LENGTH)}" if detail else f"Called {name}"


def name_server_tool(name: str) -> str:
    """Return `mcp__server__tool` as `server.tool`; any other name unchanged."""
    parts = name.split("__", 2)
    return f"{parts[1]}.{parts[2]}" if len(parts) == 3 and parts[0] == "mcp" else name


def read_todo_list(name: str, items: Any, content: str) -> ToolUse:
    """Return the meaning of a call that writes a whole todo list; `content` is the key of the items' text."""
    known = (ToolTodo(text_at(item, content) or "", text_at(item, "status") or "pending") for item in tables(items))
    todos = tuple(todo for todo in known if todo.content)
    return ToolUse(f"{name}: {len(todos)} items", todos=todos if isinstance(items, list) else None)


def describe_answers(answers: Iterable[tuple[str, Any]]) -> tuple[str, ...]:
    """Return a person's answers, each a text or a list of texts, with their questions."""
    lists = ((question, [answer] if isinstance(answer, str) else answer) for question, answer in answers)
    return tuple(
        f"{question} → {', '.join(text for text in given if isinstance(text, str))}"
        for question, given in lists
        if isinstance(given, list) and given
    )


def read_other_call(name: str, arguments: Mapping[str, Any]) -> ToolUse:
    """Return the meaning of a call of a tool that no agent's folder knows: one of an MCP server, or a new one."""
    return read_gateway_call(name, arguments) or ToolUse(describe_call(name_server_tool(name), arguments))


def read_other_result(name: str, result: ToolResult) -> ToolOutcome:
    """Return the meaning of the result of such a call."""
    return ToolOutcome(bool(result.failed), id=read_created_id(result.text) if name.endswith("call_tool") else None)


# --- gobby-tasks, the MCP server with which agents that work with Gobby manage their tasks

# Calls go through a tool of Gobby's own server, `call_tool`, with the arguments `server_name`, `tool_name` and
# `arguments`. The name of the tool is `mcp__gobby__call_tool` in Claude Code, `mcp_gobby_call_tool` in Gemini CLI, and
# `mcp_call_tool` in Gobby's documents.
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
