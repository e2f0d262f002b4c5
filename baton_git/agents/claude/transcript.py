"""Read transcripts of Claude Code 0.2 to 2.1.329 as events.

The messages of subagents are left out; their tool calls are included, with `side` set. The transcripts of resumed and
forked sessions repeat records; each record counts once.
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
_EVENT_TYPES = ("user", "assistant", "system", "attachment")
_REQUIRED_KEYS = {"user": "message", "assistant": "message", "summary": "leafUuid", "file-history-snapshot": "snapshot"}


def recognises(record: Record) -> bool:
    """Whether a record is from Claude Code."""
    kind = record.get("type")
    if not isinstance(kind, str) or "payload" in record:
        return False
    return isinstance(record.get("sessionId"), str) or _REQUIRED_KEYS.get(kind, "type " + kind) in record


def events(path: Path, since: EndReached = START_OF_FILE) -> Iterator[Event]:
    """Yield the events since an earlier reading ended.

    Raises:
        NotFound, InvalidArgument, StoreError: the file cannot be read.
    """
    return read_events(path, since, _Reader)


class _Reader:
    """Turns records into events. Keeps the current session context, and the ids of records and calls read so far."""

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

    def events(self, position: Position, record: Record) -> list[Event]:
        """Return the events of a record, as a list for speed: a transcript has tens of thousands of records."""
        get = record.get
        if not self._is_new(get("uuid")):
            return []
        kind = get("type")
        if kind not in _EVENT_TYPES:
            return _read_title(position, record, kind)
        message = table_at(record, "message")
        model = _read_model(message) if kind == "assistant" else None
        side = bool(get("isSidechain"))
        events = [] if side else self._update_context(position, record, model)
        time, content = text_at(record, "timestamp"), message.get("content")
        if kind == "assistant":
            # `<synthetic>` messages and error messages come from the program, not the model.
            spoken = not side and (model or "model" not in message) and not get("isApiErrorMessage")
            self._add_assistant_events(events, position, time, content, side, spoken_by=model, is_spoken=bool(spoken))
        elif kind == "user":
            self._add_user_events(events, position, time, record, content, side)
        elif kind == "attachment":
            events += _read_queued_prompt(position, record)
        return events

    def _is_new(self, name: Any) -> bool:
        """Whether this id is read for the first time; a record without an id is always new."""
        if not isinstance(name, str):
            return True
        if name in self._known:
            return False
        self._known.add(name)
        return True

    def _update_context(self, position: Position, record: Record, model: str | None) -> list[Event]:
        """Return the session context as an event if it differs from that of the previous record; else no event.

        This is not called for records of subagents, which may have another folder and model.
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
        return [now._replace(position=position, time=text_at(record, "timestamp"))]

    def _add_assistant_events(
        self,
        events: list[Event],
        position: Position,
        time: str | None,
        content: Any,
        side: bool,
        spoken_by: str | None,
        *,
        is_spoken: bool,
    ) -> None:
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for block in blocks:
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "tool_use":
                name = block.get("id")
                if self._is_new(name):
                    tool_input = block.get("input")
                    arguments = tool_input if isinstance(tool_input, dict) else {"input": tool_input}
                    identity = name if isinstance(name, str) else ""
                    events.append(ToolCall(position, time, identity, text_at(block, "name") or "", arguments, side))
            elif kind == "text" and is_spoken:
                text = text_at(block, "text")
                if text and not text.isspace():
                    events.append(ModelReply(position, time, text, spoken_by))

    def _add_user_events(
        self, events: list[Event], position: Position, time: str | None, record: Record, content: Any, side: bool
    ) -> None:
        results = _list_results(content)
        # `toolUseResult` is a field of the record. In a record with several results (0.2), it is unknown which of them
        # the field belongs to.
        tool_use_result = record.get("toolUseResult") if len(results) == 1 else None
        for block in results:
            name = block.get("tool_use_id")
            if isinstance(name, str) and self._is_new(f"result of {name}"):
                _add_result(events, position, time, block, name, side, tool_use_result)
        if side or (results and len(results) == len(content)):
            return
        summary = "\n".join(texts(content, "text"))
        if record.get("isCompactSummary") or summary.startswith(CONTINUED):
            events.append(Compaction(position, time, summary))
            return
        text, command = extract_typed_text(record, content)
        if text.strip():
            events.append(Prompt(position, time, text, command))


def _read_title(position: Position, record: Record, kind: Any) -> list[Event]:
    title = text_at(record, _TITLES[kind]) if isinstance(kind, str) and kind in _TITLES else None
    return [Title(position, text_at(record, "timestamp"), title)] if title else []


def _add_result(
    events: list[Event],
    position: Position,
    time: str | None,
    block: Record,
    call: str,
    side: bool,
    tool_use_result: Any,
) -> None:
    content = block.get("content")
    structured = tool_use_result if isinstance(tool_use_result, dict) else None
    failed = bool(block.get("is_error")) or (structured is not None and structured.get("interrupted") is True)
    text = content if isinstance(content, str) else "\n".join(texts(content))
    events.append(ToolResult(position, time, call, text, failed, structured, side))
    if structured is not None and "gitOperation" in structured:
        commit = table_at(table_at(structured, "gitOperation"), "commit")
        if sha := text_at(commit, "sha"):
            events.append(
                ReportedCommit(position, time, call, sha, text_at(commit, "kind"), text_at(commit, "branch"), side)
            )


def _read_queued_prompt(position: Position, record: Record) -> Iterator[Event]:
    """Yield the prompt of a record that stores a prompt typed while Claude was working; nothing for other records."""
    attachment = table_at(record, "attachment")
    if attachment.get("type") == "queued_command" and attachment.get("commandMode") in (None, "prompt"):
        origin = {"origin": attachment["origin"]} if "origin" in attachment else {}
        text, command = extract_typed_text({**record, **origin}, attachment.get("prompt"))
        if text.strip():
            yield Prompt(position, text_at(record, "timestamp"), text, command)


def _read_model(message: Record) -> str | None:
    model = text_at(message, "model")
    return None if model == "<synthetic>" else model


def _list_results(content: Any) -> list[Record]:
    """Return the tool results among the blocks of a message."""
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict) and block.get("type") == "tool_result"]
