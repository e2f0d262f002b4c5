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


class Setting(NamedTuple):
    """The session and its environment: the first event, repeated when something changes.

    Attributes:
        branch: of git.
        commit: what HEAD was when the session began.
        version: of the agent's program.
        parent: the session that this one was forked from or works for.
        subagent: it was started by another session, not by a person.
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
        arguments: a text that is no table stands under the key `input`.
        side: a subagent called it.
        within: the call of code that made this one (Codex's code mode).
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
        text: the output alone, without the agent's words around it where those are known.
        failed: None when the transcript does not tell.
        structured: what the agent notes for itself; None when there is nothing.
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
        records: objects that were read.
        understood: those of a form that is known here.
        misshaped: messages and calls that lack what they must have.
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
        place: where to begin next time; a line that is not finished yet is left for then.
        unread: lines that could not be read, or not to their end, from the beginning of the file on.
        memory: what the reader must know to go on, as plain data; without `Settled` before it.
        tally: how much was understood, from the beginning of the file on.
    """

    place: Position
    unread: int = 0
    memory: Mapping[str, Any] = NOTHING
    tally: Tally = Tally()


START_OF_FILE = EndReached(BEGINNING)

Event = (
    Setting
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
