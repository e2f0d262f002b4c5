"""Read transcripts of Claude Code 0.2 to 2.1.329 as events.

Messages of subagents are left out, but their tool calls are included, marked `side`. Resumed and forked transcripts
repeat records; each record counts once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from baton_git.agents.claude.prompts import CONTINUED, extract_typed_text
from baton_git.agents.claude.shapes import understands
from baton_git.agents.events import (
    BEGINNING,
    START_OF_FILE,
    Compaction,
    EndReached,
    Event,
    ModelReply,
    Position,
    Prompt,
    ReportedCommit,
    SessionContext,
    Title,
    ToolCall,
    ToolResult,
)
from baton_git.agents.fields import Record, table_at, text_at, texts
from baton_git.agents.resumable_reader import read_events

_TITLES = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
_TELLING = ("user", "assistant", "system", "attachment")
_OWN_MARKS = {"user": "message", "assistant": "message", "summary": "leafUuid", "file-history-snapshot": "snapshot"}


def recognises(record: Record) -> bool:
    """Whether a record is from Claude Code."""
    kind = record.get("type")
    if not isinstance(kind, str) or "payload" in record:
        return False
    return isinstance(record.get("sessionId"), str) or _OWN_MARKS.get(kind, "type " + kind) in record


def events(path: Path, since: EndReached = START_OF_FILE) -> Iterator[Event]:
    """Yield the events since an earlier reading ended.

    Raises:
        NotFound, InvalidArgument, StoreError: the file cannot be read.
    """
    return read_events(path, since, _Reader)


class _Reader:
    """Turn records into events. Keeps the current setting, and the ids of the records and calls read so far."""

    def __init__(self, memory: Mapping[str, Any]) -> None:
        self._last = SessionContext(BEGINNING, None, *memory.get("setting", ()))
        self._last_values: object = None
        self._known = set(memory.get("known", ()))

    def understands(self, record: Record) -> bool | None:
        return understands(record)

    def memory(self) -> Mapping[str, Any]:
        return {"setting": list(self._last[2:]), "known": list(self._known)}

    def flush(self) -> Iterator[Event]:
        return iter(())

    def events(self, place: Position, record: Record) -> list[Event]:
        """Return the events of a record, as a list for speed: a transcript has tens of thousands of records."""
        get = record.get
        if not self._first(get("uuid")):
            return []
        kind = get("type")
        if kind not in _TELLING:
            return _title(place, record, kind)
        message = table_at(record, "message")
        model = _model(message) if kind == "assistant" else None
        side = bool(get("isSidechain"))
        events = [] if side else self._setting(place, record, model)
        time, content = text_at(record, "timestamp"), message.get("content")
        if kind == "assistant":
            # `<synthetic>` messages and error messages come from the program, not the model.
            spoken = not side and (model or "model" not in message) and not get("isApiErrorMessage")
            self._assistant(events, place, time, content, side, spoken_by=model, is_spoken=bool(spoken))
        elif kind == "user":
            self._user(events, place, time, record, content, side)
        elif kind == "attachment":
            events += _read_queued_prompt(place, record)
        return events

    def _first(self, name: Any) -> bool:
        """Whether this id is seen for the first time; a record without an id is always new."""
        if not isinstance(name, str):
            return True
        if name in self._known:
            return False
        self._known.add(name)
        return True

    def _setting(self, place: Position, record: Record, model: str | None) -> list[Event]:
        """Return the session and its environment if they differ from those of the previous record.

        Not called for records of subagents, which may have another folder and model.
        """
        last, get = self._last, record.get
        model = model or last.model
        values = (get("sessionId"), get("cwd"), get("gitBranch"), get("version"), model)
        if values == self._last_values:
            return []
        self._last_values = values
        now = last._replace(
            session=text_at(record, "sessionId") or last.session,
            cwd=text_at(record, "cwd") or last.cwd,
            branch=text_at(record, "gitBranch") or last.branch,
            version=text_at(record, "version") or last.version,
            model=model,
        )
        if now == last:
            return []
        self._last = now
        return [now._replace(place=place, time=text_at(record, "timestamp"))]

    def _assistant(
        self, events: list[Event], place: Position, time: str | None, content: Any, side: bool, spoken_by: str | None,
        *, is_spoken: bool,
    ) -> None:  # fmt: skip
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for block in blocks:
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "tool_use":
                name = block.get("id")
                if self._first(name):
                    given = block.get("input")
                    arguments = given if isinstance(given, dict) else {"input": given}
                    identity = name if isinstance(name, str) else ""
                    events.append(ToolCall(place, time, identity, text_at(block, "name") or "", arguments, side))
            elif kind == "text" and is_spoken:
                text = text_at(block, "text")
                if text and not text.isspace():
                    events.append(ModelReply(place, time, text, spoken_by))

    def _user(
        self, events: list[Event], place: Position, time: str | None, record: Record, content: Any, side: bool
    ) -> None:
        results = _results(content)
        # `toolUseResult` is a field of the record: if that has several results (0.2), it is unknown whose it is.
        noted = record.get("toolUseResult") if len(results) == 1 else None
        for block in results:
            name = block.get("tool_use_id")
            if isinstance(name, str) and self._first(f"result of {name}"):
                _result(events, place, time, block, name, side, noted)
        if side or (results and len(results) == len(content)):
            return
        summary = "\n".join(texts(content, "text"))
        if record.get("isCompactSummary") or summary.startswith(CONTINUED):
            events.append(Compaction(place, time, summary))
            return
        text, command = extract_typed_text(record, content)
        if text.strip():
            events.append(Prompt(place, time, text, command))


def _title(place: Position, record: Record, kind: Any) -> list[Event]:
    title = text_at(record, _TITLES[kind]) if isinstance(kind, str) and kind in _TITLES else None
    return [Title(place, text_at(record, "timestamp"), title)] if title else []


def _result(
    events: list[Event], place: Position, time: str | None, block: Record, call: str, side: bool, noted: Any
) -> None:
    content = block.get("content")
    structured = noted if isinstance(noted, dict) else None
    failed = bool(block.get("is_error")) or (structured is not None and structured.get("interrupted") is True)
    text = content if isinstance(content, str) else "\n".join(texts(content))
    events.append(ToolResult(place, time, call, text, failed, structured, side))
    if structured is not None and "gitOperation" in structured:
        commit = table_at(table_at(structured, "gitOperation"), "commit")
        if sha := text_at(commit, "sha"):
            events.append(
                ReportedCommit(place, time, call, sha, text_at(commit, "kind"), text_at(commit, "branch"), side)
            )


def _read_queued_prompt(place: Position, record: Record) -> Iterator[Event]:
    """Yield a prompt that was typed while Claude was working and was queued."""
    attachment = table_at(record, "attachment")
    if attachment.get("type") == "queued_command" and attachment.get("commandMode") in (None, "prompt"):
        origin = {"origin": attachment["origin"]} if "origin" in attachment else {}
        text, command = extract_typed_text({**record, **origin}, attachment.get("prompt"))
        if text.strip():
            yield Prompt(place, text_at(record, "timestamp"), text, command)


def _model(message: Record) -> str | None:
    model = text_at(message, "model")
    return None if model == "<synthetic>" else model


def _results(content: Any) -> list[Record]:
    """Return the tool results among the blocks of a message."""
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict) and block.get("type") == "tool_result"]
