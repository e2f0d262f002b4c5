"""Events of a session, independent of the agent CLI: the reader of each CLI turns a transcript into these events.

Texts contain no lone surrogates. A time is ISO text from the transcript, or None if the record has none. The contents
of `structured` and `arguments`, and the names of tools, are specific to the agent CLI.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Position(NamedTuple):
    """The position of a record in a transcript. All records on one line have the same position.

    Attributes:
        line: the number of the line, from 1; in a file that is one object (Gemini's older form), that of the message.
        offset: the number of bytes before the line; 0 in a file that is one object.
    """

    line: int = 1
    offset: int = 0


BEGINNING = Position()
NOTHING: Mapping[str, Any] = MappingProxyType({})


class SessionContext(NamedTuple):
    """The session and its environment. This event comes once they are known, and again when a value changes.

    Attributes:
        branch: the current git branch.
        commit: the commit of HEAD when the session started.
        version: the version of the agent CLI.
        parent: the session that this one was forked from or works for.
        subagent: whether another session started this one, not a person.
    """

    position: Position
    time: str | None
    session: str | None = None
    cwd: str | None = None
    branch: str | None = None
    commit: str | None = None
    version: str | None = None
    model: str | None = None
    parent: str | None = None
    subagent: bool = False


class Prompt(NamedTuple):
    """A prompt typed by a person. With `command` (`/review`) the text is their own command with its arguments."""

    position: Position
    time: str | None
    text: str
    command: str | None = None


class ModelReply(NamedTuple):
    """A reply of the model to the person."""

    position: Position
    time: str | None
    text: str
    model: str | None = None


class ToolCall(NamedTuple):
    """A call of a tool.

    Attributes:
        arguments: the arguments as a table; those that are plain text are under the key `input`.
        side: whether a subagent made the call.
        within: the id of the call whose code made this call (Codex's code mode).
    """

    position: Position
    time: str | None
    id: str
    name: str
    arguments: Mapping[str, Any]
    side: bool = False
    within: str | None = None


class ToolResult(NamedTuple):
    """The result of a call. A call that is still running has no result yet.

    Attributes:
        text: the output, without the text that the agent CLI adds around it.
        failed: whether the call failed; None when unknown.
        structured: the agent CLI's own data about the result, if any.
    """

    position: Position
    time: str | None
    id: str
    text: str
    failed: bool | None = None
    structured: Mapping[str, Any] | None = None
    side: bool = False


class FileChange(NamedTuple):
    """A changed file. `kind` is `add`, `update` or `delete`; `moved_to` is the new path of a renamed file."""

    path: str
    kind: str
    moved_to: str | None = None


class FilesChanged(NamedTuple):
    """Files that the agent CLI reports as changed by the call `id`, if the call succeeded."""

    position: Position
    time: str | None
    id: str
    files: tuple[FileChange, ...]
    side: bool = False


class ReportedCommit(NamedTuple):
    """A commit that the agent CLI reports for the call `id`; `kind` is `committed`, `amended`, …"""

    position: Position
    time: str | None
    id: str
    sha: str
    kind: str | None = None
    branch: str | None = None
    side: bool = False


class Goal(NamedTuple):
    """The goal of the session, as the agent CLI stores it."""

    position: Position
    time: str | None
    text: str
    status: str | None = None


class Compaction(NamedTuple):
    """A compaction: the agent CLI replaced the model's context with a summary."""

    position: Position
    time: str | None
    summary: str


class Title(NamedTuple):
    """The title of the session from here on."""

    position: Position
    time: str | None
    text: str


class Restart(NamedTuple):
    """All earlier events are invalid; the events from the beginning of the transcript follow."""

    position: Position = BEGINNING


class Tally(NamedTuple):
    """How much of a transcript was understood.

    Attributes:
        records: number of objects read.
        understood: number of objects in a known format.
        misshaped: number of messages and calls that lack a required key.
    """

    records: int = 0
    understood: int = 0
    misshaped: int = 0


class ResumePoint(NamedTuple):
    """The events before this one are final; later ones may change, so the next reading resumes here.

    This event comes before an unfinished line, before an event that waits for the other half of its pair, and at the
    beginning of a file that is always read as a whole.
    """

    position: Position
    unread: int = 0
    memory: Mapping[str, Any] = NOTHING
    tally: Tally = Tally()


class EndReached(NamedTuple):
    """The last event of a reading. Pass it to `events` to continue the reading later.

    Attributes:
        position: where the next reading begins; an unfinished line is read again.
        unread: number of lines of the file so far that could not be read completely.
        memory: the reader's state at `position`, as plain data.
        tally: how much of the file so far was understood.
    """

    position: Position
    unread: int = 0
    memory: Mapping[str, Any] = NOTHING
    tally: Tally = Tally()


START_OF_FILE = EndReached(BEGINNING)

Event = (
    SessionContext
    | Prompt
    | ModelReply
    | ToolCall
    | ToolResult
    | FilesChanged
    | ReportedCommit
    | Goal
    | Compaction
    | Title
    | Restart
    | ResumePoint
    | EndReached
)
