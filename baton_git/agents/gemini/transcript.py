"""Read transcripts of Gemini CLI 0.10 to 0.61 as events.

When a message is written again, its newest version counts. Events that were already yielded are repeated only
after a `Restart`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from baton_git.agents.events import (
    BEGINNING,
    FAILED,
    INTERRUPTED,
    START_OF_FILE,
    Compaction,
    EndReached,
    Event,
    ModelReply,
    Position,
    Prompt,
    Restart,
    ResumePoint,
    SessionContext,
    Title,
    ToolCall,
    ToolResult,
    TurnEnd,
)
from baton_git.agents.gemini.launch import find_session_folder
from baton_git.agents.gemini.messages import (
    SNAPSHOT,
    SUMMARY,
    Message,
    MessageLog,
    digest_text,
    extract_typed_text,
    is_reason_of_hook,
    list_messages,
    merge_head,
    read_call,
    read_result,
    read_text,
    read_whole_session,
    replay_messages,
)
from baton_git.agents.json_lines import Record, RecordCount, get_size, read_events, table_at, tables, text_at, texts

__all__ = ["events", "read_call", "read_result", "recognises"]

# --- known formats of records

_CONVERSATION = ("user", "gemini")
_OTHER_TYPES = ("info", "error", "warning")
_HEAD = ("$set", "$rewindTo", "projectHash")
_PARTS = frozenset(("text", "thought", "functionCall", "functionResponse", "inlineData", "fileData"))


def _understands(record: Record) -> bool | None:
    """Return True for a record in a known format, False for one of a known type in an unknown format, else None."""
    if any(name in record for name in _HEAD):
        return not any(name != "messages" and tables(value) for name, value in record.items())
    kind = text_at(record, "type")
    if kind not in _CONVERSATION:
        return True if kind in _OTHER_TYPES else None
    content = record.get("content")
    if not isinstance(content, list):
        return isinstance(content, str | dict) or "toolCalls" in record
    return all(isinstance(part, dict) and not _PARTS.isdisjoint(part) for part in content[:1])


# --- events

_SHELL = "run_shell_command"
_EXIT = re.compile(r"^(?:Exit Code|Command exited with code): (-?[0-9]+)", re.MULTILINE)
_WRAPPING = re.compile(
    r"\A(?:<untrusted_context>\n)?(?:Command: .*\n(?:Directory: .*\n)?)?(?:(?:Output|Stdout): (?:\(empty\)$\n?)?)?",
    re.MULTILINE,
)
_TRAILER = re.compile(
    r"(?:^(?:Background PIDs|Process Group PGID): [^\n]*\n?|^</untrusted_context>\n?)+\Z", re.MULTILINE
)
_CANCELLED = ("Request cancelled.", "Operation cancelled.")
_FAILED = {"success": False, "error": True, "cancelled": True}


def recognises(record: Record) -> bool:
    """Whether a record is a whole session of Gemini CLI, or the first record of one."""
    return "type" not in record and isinstance(record.get("sessionId"), str) and "projectHash" in record


def events(path: Path, since: EndReached = START_OF_FILE) -> Iterator[Event]:
    """Yield the events since an earlier reading ended.

    If events that were yielded before are no longer valid, a `Restart` comes, and then all events from the beginning.

    Raises:
        NotFound, InvalidArgument, StoreError: the file cannot be read.
        LimitExceeded: the file is one object, and too large.
    """
    whole = read_whole_session(path) if not since.memory.get("head") else None
    if whole is None:
        events_ = read_events(path, since, partial(_Reader, path))
        yield from _skip_undone_events(events_) if since == START_OF_FILE else events_
        return
    if since != START_OF_FILE:
        yield Restart()
    yield ResumePoint(BEGINNING)
    yield from _read_object_events(path, whole)
    count = RecordCount()
    count.add(isinstance(whole.get("messages"), list))
    for message in tables(whole.get("messages")):
        count.add(_understands(message))
    yield EndReached(Position(1, get_size(path)), tally=count.tally())


def _read_object_events(path: Path, whole: Record) -> Iterator[Event]:
    """Yield the events of a file that is one object. Gemini rewrites the file as a whole, so it is read as a whole."""
    messages = [Message(Position(number, 0), record) for number, record in enumerate(tables(whole.get("messages")), 1)]
    models = (text_at(message.record, "model") for message in messages)
    yield from _yield_context(
        BEGINNING, whole, find_session_folder(path), next((model for model in models if model), None)
    )
    yield from _yield_title(BEGINNING, whole)
    for message in messages:
        yield from _yield_message_events(message)


def _skip_undone_events(events: Iterator[Event]) -> Iterator[Event]:
    """Yield the events of a first reading without those that a `Restart` invalidates."""
    kept: list[Event] = []
    for event in events:
        if isinstance(event, Restart):
            kept.clear()
        else:
            kept.append(event)
        if isinstance(event, ResumePoint):
            break
    yield from kept
    yield from events


class _Reader:
    """Turns records into events.

    Keeps the session's head, digests of the yielded events, the newest message, the newest prompt, and the ids under
    which a compression repeated messages.

    The newest message is held back until the next one comes, because every message with a call is written twice. When
    an older message is written again, only its new events are yielded. Only `$rewindTo` invalidates events that were
    already yielded; then a `Restart` and the events of all remaining messages follow.
    """

    understands = staticmethod(_understands)

    def __init__(self, path: Path, memory: Mapping[str, Any]) -> None:
        self._path = path
        self._head: dict[str, Any] = dict(memory.get("head", {}))
        self._model: str | None = memory.get("model")
        self._yielded: dict[str, str] = dict(memory.get("told", {}))
        line, offset, record = memory.get("held") or (1, 0, None)
        self._held = Message(Position(line, offset), record) if record is not None else None
        self._prompt: str = memory.get("prompt", "")
        self._copies: dict[str, str] = dict(memory.get("copies", {}))
        self._log: MessageLog | None = None
        self._at, self._number = BEGINNING, 0

    def memory(self) -> Mapping[str, Any]:
        held = [*self._held.position, self._held.record] if self._held is not None else None
        return {
            "head": self._head, "model": self._model, "told": dict(self._yielded), "held": held,
            "copies": dict(self._copies), "prompt": self._prompt,
        }  # fmt: skip

    def flush(self) -> Iterator[Event]:
        return iter(self._release_message())

    def events(self, position: Position, record: Record) -> list[Event]:
        self._at, self._number = position, self._number + 1 if position == self._at else 1
        if self._log is not None:
            self._log.add(position, record)
        if "$rewindTo" in record:
            return self._rewind(record["$rewindTo"])
        if "$set" in record:
            return self._update_head(position, table_at(record, "$set"))
        if "projectHash" in record:
            return self._update_head(position, record)
        message = Message(position, record)
        return self._add_message(message) if message.name else []

    def _add_message(self, message: Message) -> list[Event]:
        if self._held is not None and self._held.name == message.name:
            self._held = self._held.merge_rewrite(message)
            return []
        events = self._release_message()
        if message.name in self._yielded:
            return events + self._list_new_events(message)
        self._held = message
        return events

    def _release_message(self) -> list[Event]:
        """Return the events of the message that was held back, if there is one."""
        message, self._held = self._held, None
        return self._list_new_events(message) if message is not None else []

    def _list_new_events(self, message: Message, *, of_calls: bool = False) -> list[Event]:
        """Return the events of a message that were not yielded yet; with `of_calls`, only calls and results."""
        events: list[Event] = []
        self._yielded.setdefault(message.name, "")
        model = text_at(message.record, "model")
        if model and model != self._model:
            self._model = model
            events += _yield_context(message.position, self._head, None, model)
        for key, digest, event in _yield_keyed_events(message):
            if isinstance(event, Prompt):
                if is_reason_of_hook(message.record, self._prompt):
                    continue
                self._prompt = event.text
            if self._yielded.get(key, "") != digest and not (
                of_calls and isinstance(event, Prompt | ModelReply | Compaction)
            ):
                self._yielded[key] = digest
                events.append(event)
        return events

    def _update_head(self, position: Position, data: Record) -> list[Event]:
        before, self._head = self._head, merge_head(self._head, data)
        events: list[Event] = []
        if any(before.get(name) != self._head.get(name) for name in ("sessionId", "kind")):
            events += _yield_context(position, self._head, find_session_folder(self._path), self._model)
        if before.get("summary") != self._head.get("summary"):
            events += _yield_title(position, self._head)
        return events + self._add_listed(position, data) if "messages" in data else events

    def _add_listed(self, position: Position, data: Record) -> list[Event]:
        """Return the events of the messages that the model receives from now on, if they are new."""
        known = {digest: name for name, digest in self._yielded.items() if " " not in name}
        if self._held is not None:
            known[digest_text(read_text(self._held.record))] = self._held.name
        messages, copies = list_messages(position, data, {*self._yielded, *known.values()}, known)
        self._copies |= copies
        events: list[Event] = []
        for message in messages:
            if self._held is not None and self._held.name == message.name:
                self._held = self._held.merge_shown(message)
            elif message.name in self._yielded:
                events += self._list_new_events(message, of_calls=True)
            else:
                events += self._add_message(message)
        return events

    def _rewind(self, target: Any) -> list[Event]:
        if self._held is not None and self._held.name == target:
            self._held = None
        elif isinstance(target, str) and self._copies.get(target, target) in self._yielded:
            self._log = self._log or replay_messages(self._path, self._at, self._number)
            return [Restart(), *self._replay(self._log)]
        return []

    def _replay(self, log: MessageLog) -> Iterator[Event]:
        self._head, self._model, self._yielded, self._held, self._prompt = log.head, None, {}, None, ""
        yield from _yield_context(BEGINNING, self._head, find_session_folder(self._path), None)
        yield from _yield_title(BEGINNING, self._head)
        for message in log.messages.values():
            yield from self._list_new_events(message)


def _yield_keyed_events(message: Message) -> Iterator[tuple[str, str, Event]]:
    """Yield key, digest and event for each event of a message. The key stays the same when the message is rewritten."""
    number = 0
    for event in _yield_message_events(message):
        if isinstance(event, ToolCall):
            number += 1
        if isinstance(event, ToolCall | ToolResult):
            yield f"{message.name} {type(event).__name__} {event.id or number}", "told", event
        elif isinstance(event, TurnEnd):
            yield f"{message.name} end", f"{event.status} {event.reason}", event
        elif isinstance(event, Prompt | ModelReply | Compaction):
            text = event.summary if isinstance(event, Compaction) else event.text
            yield message.name, digest_text(text), event


def _yield_context(position: Position, head: Record, folder: str | None, model: str | None) -> Iterator[Event]:
    if head:
        time, session = text_at(head, "startTime"), text_at(head, "sessionId")
        yield SessionContext(position, time, session, folder, model=model, subagent=head.get("kind") == "subagent")


def _yield_title(position: Position, head: Record) -> Iterator[Event]:
    if title := text_at(head, "summary"):
        yield Title(position, text_at(head, "startTime"), title)


def _yield_message_events(message: Message) -> Iterator[Event]:
    position, record = message
    time, kind = text_at(record, "timestamp"), record.get("type")
    if kind == "user":
        text = "\n".join(texts(record.get("content")))
        if text.lstrip().startswith(SNAPSHOT):
            yield Compaction(position, time, text)
        elif typed := extract_typed_text(record):
            yield Prompt(position, time, typed, turn=message.name)
    elif kind == SUMMARY:
        yield Compaction(position, time, "\n".join(texts(record.get("content"))))
    elif kind == "gemini":
        yield from _yield_reply_events(position, time, record)
    elif kind == "error":
        yield TurnEnd(position, time, FAILED, "\n".join(texts(record.get("content"))).strip())
    elif kind == "info" and "\n".join(texts(record.get("content"))).strip() in _CANCELLED:
        yield TurnEnd(position, time, INTERRUPTED)


def _yield_reply_events(position: Position, time: str | None, record: Record) -> Iterator[Event]:
    """Yield a reply with its calls, and whether the person cancelled them."""
    text, calls = read_text(record), list(tables(record.get("toolCalls")))
    if text.strip():
        yield ModelReply(position, time, text, text_at(record, "model"))
    for call in calls:
        yield from _yield_call_events(position, time, call)
    if calls and all(call.get("status") == "cancelled" for call in calls):
        yield TurnEnd(position, time, INTERRUPTED)  # the message about it comes before that of the calls


def _yield_call_events(position: Position, time: str | None, call: Record) -> Iterator[Event]:
    """Yield a call, and its result if it has ended."""
    name, identity = text_at(call, "name") or "", text_at(call, "id") or ""
    yield ToolCall(position, time, identity, name, table_at(call, "args"))
    failed = _FAILED.get(text_at(call, "status") or "")
    if failed is None:
        return
    text, display = _read_response(call), call.get("resultDisplay")
    if name == _SHELL:
        # The status of a command is `success` with every exit code.
        code = _EXIT.search(text) or _EXIT.search(display if isinstance(display, str) else "")
        failed = failed or (code is not None and int(code[1]) != 0)
        text = _TRAILER.sub("", _WRAPPING.sub("", text))
    structured = display if isinstance(display, dict) else None
    yield ToolResult(position, text_at(call, "timestamp") or time, identity, text, failed, structured)


def _read_response(call: Record) -> str:
    """Return the output of a call as the model received it."""
    responses = [table_at(table_at(part, "functionResponse"), "response") for part in tables(call.get("result"))]
    outputs = [text_at(response, "output") or text_at(response, "error") or "" for response in responses]
    return "\n".join(text for text in outputs if text) or text_at(call, "resultDisplay") or ""
