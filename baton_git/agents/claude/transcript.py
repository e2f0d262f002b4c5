"""Claude Code's transcripts, 0.2 to 2.1.329, as events.

Subagents' own talk is left out; what they did to files and in shells is there, marked `side`. Resumed and forked
files repeat records, which count once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from baton_git.agents.claude.prompts import CONTINUED, typed
from baton_git.agents.events import (
    BEGINNING,
    Call,
    Commit,
    Compacted,
    Ended,
    Event,
    Place,
    Prompt,
    Reply,
    Result,
    Setting,
    Title,
)
from baton_git.agents.fields import Record, table_at, tables, text_at, texts
from baton_git.agents.json_lines import JsonLines

_TITLES = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
_TELLING = ("user", "assistant", "system", "attachment")
_TOLD = ("sessionId", "cwd", "gitBranch", "version")
_OWN_MARKS = {"user": "message", "assistant": "message", "summary": "leafUuid", "file-history-snapshot": "snapshot"}


def recognises(record: Record) -> bool:
    """Is this a record of Claude Code?"""
    kind = record.get("type")
    if not isinstance(kind, str) or "payload" in record:
        return False
    return isinstance(record.get("sessionId"), str) or _OWN_MARKS.get(kind, "type " + kind) in record


def events(path: Path, start: Place = BEGINNING) -> Iterator[Event]:
    """What happened, from `start` on.

    Raises:
        NotFound, InvalidArgument, StoreError: the file cannot be read.
    """
    lines = JsonLines(path, start)
    reader = _Reader()
    for place, record in lines:
        if reader.is_new(record):
            yield from reader.setting(place, record)
            yield from reader.events(place, record)
    yield Ended(lines.end, lines.unread)


class _Reader:
    """What must be remembered from one record to the next."""

    def __init__(self) -> None:
        self._last = Setting(BEGINNING, None)
        self._told: object = None
        self._known: set[str] = set()

    def is_new(self, record: Record) -> bool:
        return self._first(record.get("uuid"))

    def _first(self, name: Any) -> bool:
        """Is this id seen for the first time? What has none is always new."""
        if not isinstance(name, str):
            return True
        before = len(self._known)
        self._known.add(name)
        return len(self._known) > before

    def setting(self, place: Place, record: Record) -> Iterator[Setting]:
        """The session as this record has it, if that is new; a subagent may work elsewhere with another model."""
        if record.get("isSidechain") or record.get("type") not in _TELLING:
            return
        last = self._last
        model = _model(record) or last.model
        told = (*map(record.get, _TOLD), model)
        if told == self._told:
            return
        self._told = told
        now = last._replace(
            session=text_at(record, "sessionId") or last.session,
            cwd=text_at(record, "cwd") or last.cwd,
            branch=text_at(record, "gitBranch") or last.branch,
            version=text_at(record, "version") or last.version,
            model=model,
        )
        if now != last:
            self._last = now
            yield now._replace(place=place, time=text_at(record, "timestamp"))

    def events(self, place: Place, record: Record) -> Iterator[Event]:
        kind = text_at(record, "type")
        if kind == "assistant":
            yield from self._assistant(place, record)
        elif kind == "user":
            yield from self._user(place, record)
        elif kind == "attachment":
            yield from _queued(place, record)
        elif kind in _TITLES and (title := text_at(record, _TITLES[kind])):
            yield Title(place, text_at(record, "timestamp"), title)

    def _assistant(self, place: Place, record: Record) -> Iterator[Event]:
        side, time, content = bool(record.get("isSidechain")), text_at(record, "timestamp"), _content(record)
        model = _model(record)
        # `<synthetic>` messages and those of errors are the program's, not the model's.
        if not side and not record.get("isApiErrorMessage") and (model or "model" not in table_at(record, "message")):
            for text in texts(content, "text"):
                if text.strip():
                    yield Reply(place, time, text, model)
        for block in _blocks(content, "tool_use"):
            if self._first(block.get("id")):
                given = block.get("input")
                arguments = given if isinstance(given, dict) else {"input": given}
                yield Call(place, time, text_at(block, "id") or "", text_at(block, "name") or "", arguments, side)

    def _user(self, place: Place, record: Record) -> Iterator[Event]:
        time, content = text_at(record, "timestamp"), _content(record)
        results = _blocks(content, "tool_result")
        for block in results:
            if isinstance(block.get("tool_use_id"), str) and self._first("result of " + block["tool_use_id"]):
                yield from _result(place, time, record, block, alone=len(results) == 1)
        summary = "\n".join(texts(content, "text"))
        if record.get("isSidechain"):
            return
        if record.get("isCompactSummary") or summary.startswith(CONTINUED):
            yield Compacted(place, time, summary)
            return
        text, command = typed(record, content)
        if text.strip():
            yield Prompt(place, time, text, command)


def _result(place: Place, time: str | None, record: Record, block: Record, *, alone: bool) -> Iterator[Event]:
    side, call = bool(record.get("isSidechain")), block["tool_use_id"]
    # `toolUseResult` belongs to the record: with several results in one (0.2) it says nothing of any.
    noted = record.get("toolUseResult") if alone else None
    structured = noted if isinstance(noted, dict) else None
    failed = bool(block.get("is_error")) or (structured is not None and structured.get("interrupted") is True)
    yield Result(place, time, call, "\n".join(texts(block.get("content"))), failed, structured, side)
    commit = table_at(table_at(structured or {}, "gitOperation"), "commit")
    if sha := text_at(commit, "sha"):
        yield Commit(place, time, call, sha, text_at(commit, "kind"), text_at(commit, "branch"), side)


def _queued(place: Place, record: Record) -> Iterator[Event]:
    """What was typed while Claude worked, and reached it in between."""
    attachment = table_at(record, "attachment")
    if attachment.get("type") == "queued_command" and attachment.get("commandMode") in (None, "prompt"):
        origin = {"origin": attachment["origin"]} if "origin" in attachment else {}
        text, command = typed({**record, **origin}, attachment.get("prompt"))
        if text.strip():
            yield Prompt(place, text_at(record, "timestamp"), text, command)


def _content(record: Record) -> Any:
    return table_at(record, "message").get("content")


def _model(record: Record) -> str | None:
    model = text_at(table_at(record, "message"), "model") if record.get("type") == "assistant" else None
    return None if model == "<synthetic>" else model


def _blocks(content: Any, kind: str) -> list[Record]:
    return [block for block in tables(content) if block.get("type") == kind]
