"""Events of a session, independent of the agent CLI: the reader of each CLI turns a transcript into these events.

Texts contain no lone surrogates. A time is ISO text from the transcript, or None if the record has none. The contents
of `structured` and `arguments`, and the names of tools, are specific to the agent CLI.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

PERSON, AGENT, HARNESS, SCHEDULE, UNKNOWN = "person", "agent", "harness", "schedule", "unknown"
"""Origins: whose prompt a turn began with: a person's, another agent's, the agent CLI's, a schedule's, or unknown."""

ANSWERED, RUNNING, CONTINUED = "answered", "running", "continued"
INTERRUPTED, FAILED, ENDED = "interrupted", "failed", "ended"
"""Statuses: whether a turn has an answer, or why not: the agent is at work; the next prompt came while it was at work,
and the answer is in that turn; somebody interrupted it; a model or program failed; the session ended. `UNKNOWN` is the
status of turns that an older baton stored."""


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
        home: the folder in which the session started or was resumed last, if that is known to be `cwd`.
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
    home: str | None = None


class Prompt(NamedTuple):
    """A prompt, with which a turn begins. With `command` (`/review`) the text is a custom command with its arguments.

    Attributes:
        origin: whose prompt it is; see `PERSON`.
        turn: the id of its turn in the transcript; empty if the agent CLI does not give it one.
        queued: whether it came while the agent was still at work on the turn before.
    """

    position: Position
    time: str | None
    text: str
    command: str | None = None
    origin: str = PERSON
    turn: str = ""
    queued: bool = False


class LeftSubagent(NamedTuple):
    """The id of a subagent whose work belongs to a turn that is no longer on the path of the conversation.

    No other event of such a turn is yielded.
    """

    position: Position
    time: str | None
    id: str


class ModelReply(NamedTuple):
    """A reply of the model.

    Attributes:
        turn: the id of the turn that it belongs to; None: the newest one.
        final: whether the model ended its turn with it; None when unknown.
    """

    position: Position
    time: str | None
    text: str
    model: str | None = None
    turn: str | None = None
    final: bool | None = None


class TurnEnd(NamedTuple):
    """The end of a turn without an answer, or after it.

    Attributes:
        status: how it ended: `ANSWERED`, `INTERRUPTED` or `FAILED`.
        reason: the message of the agent CLI, if there is one.
        turn: as in `ModelReply`.
    """

    position: Position
    time: str | None
    status: str
    reason: str = ""
    turn: str | None = None


class ToolCall(NamedTuple):
    """A call of a tool.

    Attributes:
        arguments: the arguments as a table; those that are plain text are under the key `input`.
        side: whether a subagent made the call.
        within: the id of the call whose code made this call (Codex's code mode).
        turn: as in `ModelReply`.
    """

    position: Position
    time: str | None
    id: str
    name: str
    arguments: Mapping[str, Any]
    side: bool = False
    within: str | None = None
    turn: str | None = None


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
    """All earlier events are invalid; the events from the beginning of the transcript follow.

    Attributes:
        rereads: whether the file is read again from its beginning, so that earlier resume points are invalid, too.
    """

    position: Position = BEGINNING
    rereads: bool = False


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
    | LeftSubagent
    | ModelReply
    | TurnEnd
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
