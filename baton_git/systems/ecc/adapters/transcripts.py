"""The ECC adapter for transcripts: build a snapshot of a coding agent's session from the events of its transcript.

A session is `active` while its last event is at most five minutes old, else `recorded`. Its health is `unknown` if no
event has a time, `stale` if the last event is a prompt or tool call more than five minutes old, else `healthy`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from baton_git.agents.events import (
    EndReached,
    Event,
    Goal,
    ModelReply,
    Prompt,
    Restart,
    ResumePoint,
    SessionContext,
    Title,
    ToolCall,
    ToolResult,
)
from baton_git.agents.extraction.extracting import detect_agent
from baton_git.agents.registry import AGENTS, AgentCLI
from baton_git.agents.transcripts import Transcript
from baton_git.core.errors import BatonError, Fault, InvalidDocument, NotFound, StoreError
from baton_git.core.output import one_line
from baton_git.core.state import complete_id
from baton_git.core.times import parse_time_or_none
from baton_git.git.files.atomic_files import show_path
from baton_git.systems.ecc.adapters.adapter import (
    Listed,
    Surroundings,
    Target,
    choose_text,
    drop_empty,
    find_modified_time,
    is_file,
    is_fresh,
    outputs,
    runtime,
    session,
    snapshot,
)

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")
_MAX_OBJECTIVE = 200
"""Maximum number of characters of an objective."""
_MAX_SUMMARY_LINE = 600
"""Maximum number of characters of a line of a summary."""
_MAX_SUMMARY_LINES = 5
"""Maximum number of lines of a summary."""
_MAX_LISTED_EVENTS = 200
"""Maximum number of events that are read from the start of a transcript when sessions are listed."""


@dataclass
class _TranscriptSummary:
    """The content of a transcript that a snapshot needs, collected while the transcript is read once."""

    setting: dict[str, Any] = field(default_factory=dict)
    title: str = ""
    prompt: str = ""
    reply: str = ""
    last: Event | None = None
    time: str | None = None
    unread: int = 0

    def add_event(self, event: Event) -> None:
        if isinstance(event, EndReached):
            self.unread = event.unread
        if isinstance(event, Restart):  # the turns so far may have been left, and the others follow again
            self.title = self.prompt = self.reply = ""
            self.last = None
        if isinstance(event, Restart | ResumePoint | EndReached):
            return
        if event.time and parse_time_or_none(event.time) is not None:
            self.time = event.time
        self._add_content(event)

    def _add_content(self, event: Event) -> None:
        match event:
            case SessionContext():
                self.setting |= {name: value for name, value in event._asdict().items() if value is not None}
            case Title() | Goal():
                self.title = event.text
            case Prompt():
                self.prompt = self.prompt or _find_request(event)
                self.last = event
            case ModelReply():
                self.reply = event.text
                self.last = event
            case ToolCall() | ToolResult():
                self.last = event

    @property
    def awaits_answer(self) -> bool:
        """Whether the transcript ends with a prompt or tool call that waits for an answer."""
        return isinstance(self.last, Prompt | ToolCall)


def _find_request(prompt: Prompt) -> str:
    """Return the text of a prompt; empty for a command without text, such as `/clear`."""
    return "" if prompt.command and prompt.text.strip() == prompt.command else prompt.text.strip()


class Transcripts:
    """The adapter for the transcripts of one agent CLI.

    A target is `<prefix>:latest`, `<prefix>:<id>` with an id or a unique beginning of one, or the path of a transcript.
    """

    def __init__(self, cli: AgentCLI) -> None:
        self.agent = cli.name
        self.ID, self.prefix, self.runtime = cli.source
        self.DESCRIPTION = f"Transcripts of {cli.title}"
        self.TARGET_TYPES: tuple[str, ...] = (self.ID, "transcript")

    def can_open(self, target: Target, around: Surroundings) -> bool:
        if target.type == self.ID or target.value.startswith(f"{self.prefix}:"):
            return True
        return target.type in ("", "transcript") and self._is_ours(around.cwd / target.value)

    def _is_ours(self, path: Path) -> bool:
        return path.suffix in (".json", ".jsonl") and is_file(path) and self._find_fault(path) is None

    def _find_fault(self, path: Path) -> BatonError | None:
        """Return why a file is not a transcript of this agent, or None if it is one. Reads only its first lines."""
        try:
            owner = detect_agent(path)
        except BatonError as error:
            return error
        return (
            None
            if owner == self.agent
            else InvalidDocument([Fault("", f"is a transcript of {owner}")], where=show_path(path))
        )

    def _list_transcripts(self, around: Surroundings) -> Iterator[Transcript]:
        return AGENTS[self.agent].find_sessions(around.home, around.environment, around.warn)

    def open_session(self, target: Target, around: Surroundings) -> dict[str, Any]:
        value = target.value.removeprefix(f"{self.prefix}:").strip()
        path = around.cwd / value
        if value and is_file(path):
            return self._make_snapshot(
                Transcript(path.resolve(), None, None), ("transcript", str(path.resolve())), around
            )
        return self._make_snapshot(self._find_transcript(value, around), (self.ID, value), around)

    def _find_transcript(self, wanted: str, around: Surroundings) -> Transcript:
        """Return a session's transcript by the id of the session or a unique beginning of the id.

        `latest` is the newest readable transcript. An id is compared with the ids from paths first, then with the ids
        in the transcripts, then with the UUIDs at the end of file names.

        Raises:
            NotFound: no session has this id.
            Ambiguous: several ids begin with `wanted`.
        """
        if wanted == "latest":
            return self._find_latest(around)
        every = list(self._list_transcripts(around))
        for find_id in (_find_id, self._find_inner_id, _parse_id_in_name):
            known: dict[str, Transcript] = {}
            for transcript in every:
                known.setdefault(find_id(transcript), transcript)
            id_ = wanted if wanted in known else complete_id(known, wanted, f"{self.agent} session")
            if id_ is not None:
                return known[id_]
        raise self._make_not_found(wanted)

    def _make_not_found(self, wanted: str) -> NotFound:
        hint = f"to list the sessions: baton session list --adapter {self.ID}"
        return NotFound(f"{self.agent} session", wanted, hint=hint)

    def _find_latest(self, around: Surroundings) -> Transcript:
        """Return the newest readable transcript, and warn about newer ones that cannot be read.

        Raises:
            BatonError: no transcript can be read; the error is that of the newest one.
            NotFound: there are no transcripts.
        """
        first_fault: BatonError | None = None
        for transcript in self._list_transcripts(around):
            fault = self._find_fault(transcript.path)
            if fault is None:
                return transcript
            around.warn(f"skipped {fault}")
            first_fault = first_fault or fault
        raise first_fault or self._make_not_found("latest")

    def _find_inner_id(self, transcript: Transcript) -> str:
        """Return the session id in the first events of a transcript; empty if there is none."""
        try:
            return str(self._summarize_beginning(transcript.path).setting.get("session") or "")
        except BatonError:
            return ""

    def _summarize_beginning(self, path: Path) -> _TranscriptSummary:
        return _summarize(islice(AGENTS[self.agent].transcript.events(path), _MAX_LISTED_EVENTS))

    def sessions(self, around: Surroundings) -> Iterator[Listed]:
        for transcript in self._list_transcripts(around):
            fault = self._find_fault(transcript.path)
            if isinstance(fault, StoreError):
                around.warn(str(fault))
            if fault is None:
                id_, summary = _find_id(transcript), self._summarize_beginning(transcript.path)
                own = summary.setting.get("session") or id_
                yield Listed(
                    f"{self.prefix}:{id_}", own, _find_objective(summary, own), find_modified_time(transcript.path)
                )

    def _make_snapshot(self, transcript: Transcript, source: tuple[str, str], around: Surroundings) -> dict[str, Any]:
        fault = self._find_fault(transcript.path)
        if fault is not None:
            raise fault
        summary = _summarize(AGENTS[self.agent].transcript.events(transcript.path))
        setting = summary.setting
        id_ = setting.get("session") or transcript.session or transcript.path.stem
        cwd = setting.get("cwd") or transcript.cwd
        is_active = is_fresh(summary.time, around.now)
        state = "active" if is_active else "recorded"
        artifacts = {
            "transcriptFile": str(transcript.path), "model": setting.get("model"), "version": setting.get("version"),
            "commit": setting.get("commit"), "parent": setting.get("parent"), "lastEvent": summary.time,
        }  # fmt: skip
        worker = {
            "id": id_,
            "label": one_line(summary.title, _MAX_OBJECTIVE) or id_,
            "state": state,
            "health": _judge_health(summary, is_active=is_active),
            "branch": setting.get("branch"),
            "worktree": cwd,
            "runtime": runtime(self.runtime, self.agent, active=is_active, dead=False),
            "intent": {"objective": _find_objective(summary, id_), "seedPaths": []},
            "outputs": outputs(_take_first_lines(summary.reply)),
            "artifacts": drop_empty(artifacts) | ({"unreadLines": summary.unread} if summary.unread else {}),
        }
        return snapshot(self.ID, session(id_, "transcript", state, cwd, source), [worker])


def _find_id(transcript: Transcript) -> str:
    return transcript.session or transcript.path.stem


def _parse_id_in_name(transcript: Transcript) -> str:
    """Return the UUID at the end of a file name, or the whole name if it has none."""
    named = _UUID.search(transcript.path.stem)
    return named[0] if named else transcript.path.stem


def _summarize(events: Iterable[Event]) -> _TranscriptSummary:
    summary = _TranscriptSummary()
    for event in events:
        summary.add_event(event)
    return summary


def _find_objective(summary: _TranscriptSummary, id_: str) -> str:
    return one_line(choose_text((summary.prompt, summary.title), f"Session {id_}"), _MAX_OBJECTIVE) or f"Session {id_}"


def _judge_health(summary: _TranscriptSummary, *, is_active: bool) -> str:
    if summary.time is None:
        return "unknown"
    return "stale" if summary.awaits_answer and not is_active else "healthy"


def _take_first_lines(reply: str) -> list[str]:
    """Return the first lines of a reply that are not blank."""
    lines = (one_line(line, _MAX_SUMMARY_LINE) for line in reply.split("\n"))
    return list(islice((line for line in lines if line), _MAX_SUMMARY_LINES))
