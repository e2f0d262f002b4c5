"""What happens in a session, in the words of no agent: the one stream that all transcripts are read as.

Texts hold no half surrogate pairs, so they can be written anywhere. A time is ISO text as the transcript has it,
or None when it has none. `structured`, `arguments` and names of tools are the agent's own: only who knows the agent
can read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Position(NamedTuple):
    """Where a record stands. What shares a line shares its place.

    Attributes:
        line: from 1; in a file that is one object (Gemini's older form) the number of the message.
        offset: bytes before the line; 0 in a file that is one object.
    """

    line: int = 1
    offset: int = 0


BEGINNING = Position()
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Setting(NamedTuple):
    """Which session this is, where and with what it runs: comes first, and again when something of it is new.

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
    """What a person asked. With `command` (`/review`) the text is that command of theirs with its arguments."""

    place: Position
    time: str | None
    text: str
    command: str | None = None


class ModelReply(NamedTuple):
    """What the model said to the person."""

    place: Position
    time: str | None
    text: str
    model: str | None = None


class ToolCall(NamedTuple):
    """A tool was called.

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
    """What a call gave; a call may have none yet.

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
    """Files that the agent itself says it changed, by the call `id`; only those where it worked."""

    place: Position
    time: str | None
    id: str
    files: tuple[FileChange, ...]
    side: bool = False


class ReportedCommit(NamedTuple):
    """A commit that the agent itself says was made by the call `id`; `kind` is `committed`, `amended`, …"""

    place: Position
    time: str | None
    id: str
    sha: str
    kind: str | None = None
    branch: str | None = None
    side: bool = False


class Goal(NamedTuple):
    """What the agent keeps as the aim of the session."""

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
    """What the session is called from here on."""

    place: Position
    time: str | None
    text: str


class Restart(NamedTuple):
    """What an earlier reading told does not hold any more: the transcript follows from its beginning."""

    place: Position = BEGINNING


class ResumePoint(NamedTuple):
    """What was told up to here stays so; what follows may become something else, and reading on begins here.

    Comes where a line is not finished yet, where something waits for the other half of its pair, and before
    everything of a file that is only ever read whole.
    """

    place: Position
    unread: int = 0
    memory: Mapping[str, Any] = NOTHING


class EndReached(NamedTuple):
    """Always the last one: nothing more could be read. Given to `events`, it is where that goes on.

    Attributes:
        place: where to begin next time; a line that is not finished yet is left for then.
        unread: lines that could not be read, or not to their end, from the beginning of the file on.
        memory: what the reader must know to go on, as plain data; without `Settled` before it.
    """

    place: Position
    unread: int = 0
    memory: Mapping[str, Any] = NOTHING


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
