"""What a call of a tool means, in the words of no agent: files, commands, lists of what is to be done, answers.

Each agent's folder has a `deeds` module that reads its own tools so: `deed` from a call alone, `outcome` from what
the call gave. Both are plain values, so that what waits for its result can be kept in a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from baton_git.agents.fields import Record, text_at

COMMAND_LENGTH = 60
PATTERN_LENGTH = 40
CONTEXT_LENGTH = 100


class ToolTodo(NamedTuple):
    """One item of a list. `id` is what a list that is kept item by item calls it."""

    content: str
    status: str
    id: str = ""


class TodoChange(NamedTuple):
    """One item that is made or changed. An item that is new gets its id with the result; None says nothing new."""

    id: str | None = None
    content: str | None = None
    status: str | None = None


class Task(NamedTuple):
    """A task of gobby-tasks that was worked on; one that is new gets its id with the result."""

    action: str
    id: str | None = None
    title: str | None = None
    status: str | None = None
    description: str | None = None


class ToolUse(NamedTuple):
    """What a call is for.

    Attributes:
        activity: the call in a few words, on one line.
        files: that it changes if it works, as they are named.
        command: for a shell.
        folder: where that runs, if the call says so.
        todos: the whole list from then on.
        change: of one item of a list.
        task: of gobby-tasks.
        plan: that a person accepts if it works.
    """

    activity: str
    files: tuple[str, ...] = ()
    command: str | None = None
    folder: str | None = None
    todos: tuple[ToolTodo, ...] | None = None
    change: TodoChange | None = None
    task: Task | None = None
    plan: str | None = None


class ToolOutcome(NamedTuple):
    """What a call gave.

    Attributes:
        failed: it did nothing.
        files: that it changed, where the result knows better; None: those of the deed.
        id: of what it made.
        todos: the whole list, where it was asked for.
        answers: of a person, each with its question.
        later: it goes on, and this is not its end.
    """

    failed: bool
    files: tuple[str, ...] | None = None
    id: str | None = None
    todos: tuple[ToolTodo, ...] | None = None
    answers: tuple[str, ...] = ()
    later: bool = False


def shorten_line(text: str, limit: int) -> str:
    """The text on one line, cut after `limit` characters as Gobby does it."""
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
    """A call of any tool: its name, and the argument that says most."""
    known = (text_at(arguments, key) for keys in _SAYS for key in keys)
    others = (value for key, value in arguments.items() if isinstance(value, str) and key not in _SAYS_NOTHING)
    detail = next((text for text in (*known, *others) if text and text.strip()), None)
    name = name or "unknown"
    return f"{name}: {shorten_line(detail, CONTEXT_LENGTH)}" if detail else f"Called {name}"


def name_server_tool(name: str) -> str:
    """`mcp__server__tool` as `server.tool`; any other name as it is."""
    parts = name.split("__", 2)
    return f"{parts[1]}.{parts[2]}" if len(parts) == 3 and parts[0] == "mcp" else name


def read_todos(items: list[Record], content: str) -> tuple[ToolTodo, ...]:
    """The items of a list whose text stands under the key `content`."""
    todos = (ToolTodo(text_at(item, content) or "", text_at(item, "status") or "pending") for item in items)
    return tuple(todo for todo in todos if todo.content)
