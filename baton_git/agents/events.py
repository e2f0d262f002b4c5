"""Events of a session, independent of the agent CLI: every transcript is read as this stream.

Texts contain no lone surrogates. A time is ISO text as in the transcript, or None. `structured`, `arguments` and tool
names are specific to the agent CLI.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Position(NamedTuple):
    """The position of a record in a transcript. Records on one line share it.

    Attributes:
        line: from 1; in a file that is one object (Gemini's older form) the number of the message.
        offset: bytes before the line; 0 in a file that is one object.
    """

    line: int = 1
    offset: int = 0


BEGINNING = Position()
NOTHING: Mapping[str, Any] = MappingProxyType({})


class SessionContext(NamedTuple):
    """The session and its environment: the first event, repeated when something changes.

    Attributes:
        branch: the current git branch.
        commit: the commit of HEAD when the session started.
        version: the version of the agent CLI.
        parent: the session that this one was forked from or works for.
        subagent: whether another session started it, rather than a person.
    """

    place: Position
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

    place: Position
    time: str | None
    text: str
    command: str | None = None


class ModelReply(NamedTuple):
    """A reply of the model to the person."""

    place: Position
    time: str | None
    text: str
    model: str | None = None


class ToolCall(NamedTuple):
    """A call of a tool.

    Attributes:
        arguments: arguments that are plain text rather than a table are under the key `input`.
        side: whether a subagent made the call.
        within: the code-running call that made this one (Codex's code mode).
    """

    place: Position
    time: str | None
    id: str
    name: str
    arguments: Mapping[str, Any]
    side: bool = False
    within: str | None = None


class ToolResult(NamedTuple):
    """The result of a call; a call may have none yet.

    Attributes:
        text: the output, without the text that the agent CLI is known to add around it.
        failed: None when unknown.
        structured: the agent CLI's own structured notes on the result, if any.
    """

    place: Position
    time: str | None
    id: str
    text: str
    failed: bool | None = None
    structured: Mapping[str, Any] | None = None
    side: bool = False


class FileChange(NamedTuple):
    """`kind` is `add`, `update` or `delete`; `moved_to` the new path of an update that also renamed."""

    path: str
    kind: str
    moved_to: str | None = None


class FilesChanged(NamedTuple):
    """Files that the agent CLI reports as changed by the call `id`, if the call succeeded."""

    place: Position
    time: str | None
    id: str
    files: tuple[FileChange, ...]
    side: bool = False


class ReportedCommit(NamedTuple):
    """A commit that the agent CLI reports for the call `id`; `kind` is `committed`, `amended`, …"""

    place: Position
    time: str | None
    id: str
    sha: str
    kind: str | None = None
    branch: str | None = None
    side: bool = False


class Goal(NamedTuple):
    """The goal of the session, as the agent CLI keeps it."""

    place: Position
    time: str | None
    text: str
    status: str | None = None


class Compaction(NamedTuple):
    """The context was replaced by a summary."""

    place: Position
    time: str | None
    summary: str


class Title(NamedTuple):
    """The title of the session from here on."""

    place: Position
    time: str | None
    text: str


class Restart(NamedTuple):
    """Earlier events are invalid: the transcript follows again from its beginning."""

    place: Position = BEGINNING


class Tally(NamedTuple):
    """How much of a transcript was understood.

    Attributes:
        records: number of objects read.
        understood: number of objects in a known format.
        misshaped: number of messages and calls that lack a required part.
    """

    records: int = 0
    understood: int = 0
    misshaped: int = 0


class ResumePoint(NamedTuple):
    """The events so far are final; later ones may change, so the next reading resumes here.

    Comes before an unfinished line, before an event that waits for the other half of its pair, and at the beginning of
    a file that is always read as a whole.
    """

    place: Position
    unread: int = 0
    memory: Mapping[str, Any] = NOTHING
    tally: Tally = Tally()


class EndReached(NamedTuple):
    """The last event: nothing more could be read. Passed to `events`, reading resumes there.

    Attributes:
        place: where the next reading begins; an unfinished line is left for it.
        unread: number of lines of the file so far that could not be read completely.
        memory: the reader's state at `place`, as plain data.
        tally: how much of the file so far was understood.
    """

    place: Position
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
