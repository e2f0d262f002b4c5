"""The meaning of a tool call, independent of the agent CLI: files, commands, todo lists, answers.

Each agent's folder has a `tool_use` module for its own tools: `read_call` interprets a call, `read_result` its result.
Both return plain values, so that calls without a result can be kept in a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from baton_git.agents.fields import Record, text_at

COMMAND_LENGTH = 60
PATTERN_LENGTH = 40
CONTEXT_LENGTH = 100


class ToolTodo(NamedTuple):
    """One item of a todo list. `id` is set in lists that are changed item by item."""

    content: str
    status: str
    id: str = ""


class TodoChange(NamedTuple):
    """A created or changed item. A new item gets its id with the result; None means unchanged."""

    id: str | None = None
    content: str | None = None
    status: str | None = None


class Task(NamedTuple):
    """A task of gobby-tasks in a call; a new task gets its id with the result."""

    action: str
    id: str | None = None
    title: str | None = None
    status: str | None = None
    description: str | None = None


class ToolUse(NamedTuple):
    """The meaning of a call.

    Attributes:
        activity: the call in a few words, on one line.
        files: that it changes if it works, as they are named.
        command: for a shell.
        folder: where that runs, if the call says so.
        reads: files that it looks into.
        written: what it puts into its files.
        searches: its result names files.
        todos: the whole list from then on.
        change: of one item of a list.
        task: of gobby-tasks.
        plan: that a person accepts if it works.
    """

    activity: str
    files: tuple[str, ...] = ()
    command: str | None = None
    folder: str | None = None
    reads: tuple[str, ...] = ()
    written: str = ""
    searches: bool = False
    todos: tuple[ToolTodo, ...] | None = None
    change: TodoChange | None = None
    task: Task | None = None
    plan: str | None = None


class ToolOutcome(NamedTuple):
    """The meaning of a call's result.

    Attributes:
        failed: it did nothing.
        files: that it changed, where the result knows better; None: those of the deed.
        id: of what it made.
        todos: the whole list, where it was asked for.
        answers: of a person, each with its question.
        later: it goes on, and this is not its end.
        refused: a person did not let it run.
    """

    failed: bool
    files: tuple[str, ...] | None = None
    id: str | None = None
    todos: tuple[ToolTodo, ...] | None = None
    answers: tuple[str, ...] = ()
    later: bool = False
    refused: bool = False


def shorten_line(text: str, limit: int) -> str:
    """Return the text on one line, cut after `limit` characters as Gobby does it."""
    # A command may be a document; nothing after the cut needs to be looked at.
    line = " ".join(text[: limit * 8].split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def describe_command(command: str) -> str:
    return f"Ran: {shorten_line(command, COMMAND_LENGTH)}"


def describe_file_use(name: str, path: str | None) -> str:
    return f"{name}: {path}" if path else f"Called {name}"


_SAYS = (
    ("query", "search", "pattern", "topic"),
    ("title", "name", "subject", "task_id", "id", "ref"),
    ("path", "file_path", "uri", "url", "file"),
    ("description", "reason", "message", "content", "prompt"),
)
_SAYS_NOTHING = ("session_id", "server_name")


def describe_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Describe a call of any tool: its name, and its most telling argument."""
    known = (text_at(arguments, key) for keys in _SAYS for key in keys)
    others = (value for key, value in arguments.items() if isinstance(value, str) and key not in _SAYS_NOTHING)
    detail = next((text for text in (*known, *others) if text and text.strip()), None)
    name = name or "unknown"
    return f"{name}: {shorten_line(detail, CONTEXT_LENGTH)}" if detail else f"Called {name}"


def name_server_tool(name: str) -> str:
    """Return `mcp__server__tool` as `server.tool`; any other name unchanged."""
    parts = name.split("__", 2)
    return f"{parts[1]}.{parts[2]}" if len(parts) == 3 and parts[0] == "mcp" else name


def read_todos(items: list[Record], content: str) -> tuple[ToolTodo, ...]:
    """Return the items of a todo list; `content` is the key of their text."""
    todos = (ToolTodo(text_at(item, content) or "", text_at(item, "status") or "pending") for item in items)
    return tuple(todo for todo in todos if todo.content)
