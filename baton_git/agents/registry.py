"""The one list of agents: a new one is a folder with the five functions of `Agent` and its `ACTING`, named here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Protocol

from baton_git.agents import claude, codex, gemini
from baton_git.agents.claude.detection import ACTING as CLAUDE
from baton_git.agents.codex.detection import ACTING as CODEX
from baton_git.agents.detection import AgentMarkers
from baton_git.agents.events import START_OF_FILE, EndReached, Event, ToolCall, ToolResult
from baton_git.agents.fields import Record
from baton_git.agents.gemini.detection import ACTING as GEMINI
from baton_git.agents.json_lines import MAX_BYTES, JsonLines, whole_object
from baton_git.agents.tool_use import ToolOutcome, ToolUse
from baton_git.agents.transcripts import Transcript, Warn, ignore_warning
from baton_git.core.errors import Fault, InvalidDocument
from baton_git.git.files.atomic_files import shown

_RECORDS = 50
_LINES = 200
"""What is looked at of a file before it counts as unknown: readable records, and lines of any sort."""


class Agent(Protocol):
    """What one agent's folder gives."""

    def events(self, path: Path, since: EndReached = START_OF_FILE) -> Iterator[Event]:
        """What happened in a session since an earlier reading `Ended`; the pieces tell the same as the whole."""

    def read_call(self, call: ToolCall) -> ToolUse:
        """What a call of one of the agent's tools is for."""

    def read_result(self, name: str, result: ToolResult) -> ToolOutcome:
        """What a call of the tool `name` gave."""

    def sessions(self, home: Path, environment: Mapping[str, str], warn: Warn = ignore_warning) -> Iterator[Transcript]:
        """The transcripts of sessions that no other session started, newest first."""

    def recognises(self, record: Record) -> bool:
        """Can this be the record of a transcript of this agent, and of no other?"""


AGENTS: dict[str, Agent] = {"gemini": gemini, "codex": codex, "claude": claude}
"""By name. Those whose records tell more of themselves come first."""

ACTING: dict[str, AgentMarkers] = {"claude": CLAUDE, "codex": CODEX, "gemini": GEMINI}
"""By name, how a process can tell that the agent's CLI started it."""


def detect(path: Path) -> str:
    """The name of the agent that wrote a transcript.

    Raises:
        InvalidDocument: it is empty, or of no agent that is known here.
        NotFound, InvalidArgument, StoreError: it cannot be read.
    """
    for record in _first_objects(path):
        for name, agent in AGENTS.items():
            if agent.recognises(record):
                return name
    why = "no transcript of " + " or ".join(sorted(AGENTS))
    raise InvalidDocument([Fault("", "is empty" if path.stat().st_size == 0 else why)], where=shown(path))


def _first_objects(path: Path) -> Iterator[Record]:
    lines = JsonLines(path, most=_LINES)
    yield from (record for _, record in islice(lines, _RECORDS))
    if lines.unread and path.stat().st_size <= MAX_BYTES and (whole := whole_object(path)):
        yield whole
