"""Read transcripts of Claude Code 0.2 to 2.1.332 as events.

The messages of subagents are left out; their tool calls are included, with `side` set. The transcripts of resumed and
forked sessions repeat records; each record counts once. The links between records (`parentUuid`) tell which turns the
person left by going back to an earlier point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.agents.claude.messages import (
    CONTINUED,
    INTERRUPTION,
    NO_PROMPT,
    PromptText,
    extract_prompt,
    find_block,
    guess_origin,
    read_call,
    read_result,
)
from baton_git.agents.events import (
    BEGINNING,
    FAILED,
    HARNESS,
    INTERRUPTED,
    SCHEDULE,
    START_OF_FILE,
    Compaction,
    EndReached,
    Event,
    LeftSubagent,
    ModelReply,
    Position,
    Prompt,
    ReportedCommit,
    SessionContext,
    Title,
    ToolCall,
    ToolResult,
    TurnEnd,
)
from baton_git.agents.json_lines import Record, TurnPath, read_path_events, table_at, text_at, texts

__all__ = ["events", "read_call", "read_result", "recognises"]

# --- known formats of records

_CONVERSATION = ("user", "assistant")
_OTHER_TYPES = frozenset(
    ("system", "attachment", "summary", "progress", "file-history-snapshot", "file-history-delta", "queue-operation",
     "last-prompt", "mode", "permission-mode", "ai-title", "custom-title", "pr-link", "bridge-session", "atis-latch",
     "tools-used", "cost-state", "api-request", "api-request-shape", "api-request-blob")
)  # fmt: skip
_KEYS_OF_BLOCKS = {"text": "text", "tool_use": "name", "tool_result": "tool_use_id", "thinking": "thinking"}


def _understands(record: Record) -> bool | None:
    """Return True for a record in a known format, False for a message in an unknown one, None for an unknown type."""
    kind = text_at(record, "type")
    if kind not in _CONVERSATION:
        return True if kind in _OTHER_TYPES else None
    content = table_at(record, "message").get("content")
    if not isinstance(content, list):
        return isinstance(content, str)
    return all(isinstance(block, dict) and _is_known(block) for block in content[:1])


def _is_known(block: Record) -> bool:
    """Whether a block of a message has the key that its type requires; blocks of unknown types pass."""
    kind = text_at(block, "type")
    return kind is not None and (kind not in _KEYS_OF_BLOCKS or _KEYS_OF_BLOCKS[kind] in block)


# --- events

_TITLES = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
_EVENT_TYPES = ("user", "assistant", "system", "attachment")
_ATTACHED = 8
"""Number of queued prompts with a record whose row in the queue may still come."""
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
    return read_path_events(path, since, _Reader)


class _Place(NamedTuple):
    """Where the events of a record belong: to a subagent (`side`), and to a turn unless it is the newest."""

    position: Position
    time: str | None
    side: bool
    turn: str | None


class _Reader:
    """Turns records into events.

    Keeps the current session context, the ids of calls read so far, the turns with the ids of their records, and the
    prompts that wait in the queue, and those that the model took from it at work (`[text, line, offset, time]`).
    """

    understands = staticmethod(_understands)

    def __init__(self, memory: Mapping[str, Any]) -> None:
        self._last = SessionContext(BEGINNING, None, *memory.get("setting", ()))
        self._last_values: object = None
        self._known = set(memory.get("known", ()))
        self._path = TurnPath(memory.get("path", {}))
        self._absorbed: list[list[Any]] = [list(one) for one in memory.get("absorbed", ())]
        self._queue: list[str] = list(memory.get("queue", ()))
        self._attached: list[str] = list(memory.get("attached", ()))
        self.skipped: list[Any] = list(memory.get("skipped", ()))

    def memory(self) -> Mapping[str, Any]:
        return {
            "setting": list(self._last[2:]), "known": list(self._known), "path": self._path.memory(),
            "absorbed": list(self._absorbed), "queue": list(self._queue), "attached": list(self._attached),
            "skipped": self.skipped,
        }  # fmt: skip

    def find_left(self) -> list[Any]:
        return sorted(self._path.left)

    def flush(self) -> Iterator[Event]:
        return iter(self._release_absorbed())

    def events(self, position: Position, record: Record) -> list[Event]:
        """Return the events of a record, as a list for speed: a transcript has tens of thousands of records."""
        get = record.get
        if not self._is_new(get("uuid")):
            return []
        kind = get("type")
        if kind == "queue-operation":
            self._note_absorbed(position, record)
            return []
        if kind not in _EVENT_TYPES:
            return _read_title(position, record, kind)
        side = bool(get("isSidechain"))
        message = table_at(record, "message")
        time, content = text_at(record, "timestamp"), message.get("content")
        prompt, queued = self._read_prompt(kind, record, content)
        events = self._release_absorbed() if kind == "assistant" or (prompt.text and not queued) else []
        turn = self._find_turn(record, prompt)
        if turn in self.skipped:
            agent = text_at(table_at(record, "toolUseResult"), "agentId")
            return [*events, LeftSubagent(position, time, agent)] if agent else events
        model = _read_model(message) if kind == "assistant" else None
        if not side:
            events += self._update_context(position, record, model)
        place = _Place(position, time, side, None if turn == self._path.head else self._path.name(turn))
        if kind == "assistant":
            self._add_assistant_events(events, place, record, message, model)
        elif kind == "user":
            self._add_user_events(events, place, record, content)
        if prompt.text:
            turn_id = self._path.name(self._path.head)
            events.append(Prompt(position, time, prompt.text, prompt.command, prompt.origin, turn_id, queued))
        return events

    # --- turns

    def _read_prompt(self, kind: str, record: Record, content: Any) -> tuple[PromptText, bool]:
        """Return the prompt with which a record begins a turn, and whether the model was at work when it came.

        A message of the program that comes while the model is at work belongs to the turn.
        """
        if record.get("isSidechain"):
            return NO_PROMPT, False
        if kind == "user":
            results = _list_results(content)
            if (results and len(results) == len(content)) or _is_summary(record, content):
                return NO_PROMPT, False
            prompt = extract_prompt(record, content)
            return (prompt if prompt.text.strip() else NO_PROMPT), False
        attachment = table_at(record, "attachment")
        if kind != "attachment" or attachment.get("type") != "queued_command":
            return NO_PROMPT, False
        prompt = _read_queued_prompt(record, attachment)
        self._match_absorbed(prompt.text)
        return (prompt if prompt.text.strip() and prompt.origin not in (HARNESS, SCHEDULE) else NO_PROMPT), True

    def _find_turn(self, record: Record, prompt: PromptText) -> int:
        """Return the number of the turn of a record; a prompt begins a turn."""
        id_, parent = text_at(record, "uuid"), text_at(record, "parentUuid") or text_at(record, "logicalParentUuid")
        return self._path.open(id_, parent) if prompt.text else self._path.place(id_, parent)

    def _note_absorbed(self, position: Position, record: Record) -> None:
        """Keep a prompt that the model took from the queue, until its record comes or the model goes on without one."""
        text = self._read_removed(record)
        if not text:
            return
        if text in self._attached:
            self._attached.remove(text)
        elif guess_origin(text) not in (HARNESS, SCHEDULE):
            self._absorbed.append([text, *position, text_at(record, "timestamp")])

    def _read_removed(self, record: Record) -> str:
        """Return the prompt that the model took from the queue; empty if this row tells of none.

        Claude Code 2.1.37 says neither the text nor the reason, so that the text is known if only one prompt waited. It
        says `popAll` if the person took prompts back.
        """
        operation, text = record.get("operation"), text_at(record, "content") or ""
        if operation == "enqueue":
            self._queue = [*self._queue, text][-_ATTACHED:]
            return ""
        queue, self._queue = self._queue, []
        if operation == "dequeue":
            self._queue = queue[1:]
            return ""
        if operation != "remove":
            return ""
        if "reason" in record or text:
            self._queue = [one for one in queue if one != text]
            return text if record.get("reason") == "absorbed_mid_turn" else ""
        return queue[0] if len(queue) == 1 else ""

    def _match_absorbed(self, text: str) -> None:
        matching = [one for one in self._absorbed if one[0].strip() == text.strip()]
        if matching:
            self._absorbed.remove(matching[0])
        else:
            self._attached = [*self._attached, text][-_ATTACHED:]

    def _release_absorbed(self) -> list[Event]:
        """Return the prompts that stand only in the rows of the queue; each begins a turn."""
        absorbed, self._absorbed, self._attached = self._absorbed, [], []
        events: list[Event] = []
        for text, line, offset, time in absorbed:
            turn = self._path.open(None, None)
            origin, name, position = guess_origin(text), self._path.name(turn), Position(line, offset)
            events.append(Prompt(position, time, text, None, origin, name, queued=True))
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
        self, events: list[Event], place: _Place, record: Record, message: Record, model: str | None
    ) -> None:
        position, time, side, turn = place
        content, is_error = message.get("content"), bool(record.get("isApiErrorMessage"))
        # `<synthetic>` messages and error messages come from the program, not the model.
        is_spoken = not side and (model or "model" not in message) and not is_error
        reason = text_at(message, "stop_reason")
        final = None if reason is None else reason not in ("tool_use", "pause_turn")
        for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "tool_use":
                call = block.get("id")
                if self._is_new(call):
                    given, tool = block.get("input"), text_at(block, "name") or ""
                    arguments = given if isinstance(given, dict) else {"input": given}
                    call = call if isinstance(call, str) else ""
                    events.append(ToolCall(position, time, call, tool, arguments, side, turn=turn))
            elif kind == "text" and is_spoken:
                text = text_at(block, "text")
                if text and not text.isspace():
                    events.append(ModelReply(position, time, text, model, turn, final))
        if is_error and not side:
            events.append(TurnEnd(position, time, FAILED, "\n".join(texts(content, "text")).strip(), turn))

    def _add_user_events(self, events: list[Event], place: _Place, record: Record, content: Any) -> None:
        position, time, side, turn = place
        results = _list_results(content)
        # `toolUseResult` is a field of the record. In a record with several results (0.2), it is unknown which of them
        # the field belongs to.
        structured = record.get("toolUseResult") if len(results) == 1 else None
        for block in results:
            call = block.get("tool_use_id")
            if isinstance(call, str) and self._is_new(f"result of {call}"):
                events += _list_result_events(place, block, call, structured if isinstance(structured, dict) else None)
        if side or (results and len(results) == len(content)):
            return
        if _is_summary(record, content):
            events.append(Compaction(position, time, "\n".join(texts(content, "text"))))
        elif any(text.lstrip().startswith(INTERRUPTION) for text in texts(content, "text")):
            events.append(TurnEnd(position, time, INTERRUPTED, turn=turn))
        elif blocked := find_block(record, content):
            events.append(TurnEnd(position, time, FAILED, blocked, turn))


def _is_summary(record: Record, content: Any) -> bool:
    return bool(record.get("isCompactSummary")) or "\n".join(texts(content, "text")).startswith(CONTINUED)


def _read_title(position: Position, record: Record, kind: Any) -> list[Event]:
    title = text_at(record, _TITLES[kind]) if isinstance(kind, str) and kind in _TITLES else None
    return [Title(position, text_at(record, "timestamp"), title)] if title else []


def _list_result_events(place: _Place, block: Record, call: str, structured: Record | None) -> Iterator[Event]:
    position, time, side, _ = place
    content = block.get("content")
    failed = bool(block.get("is_error")) or (structured is not None and structured.get("interrupted") is True)
    text = content if isinstance(content, str) else "\n".join(texts(content))
    yield ToolResult(position, time, call, text, failed, structured, side)
    commit = table_at(table_at(structured or {}, "gitOperation"), "commit")
    if sha := text_at(commit, "sha"):
        yield ReportedCommit(position, time, call, sha, text_at(commit, "kind"), text_at(commit, "branch"), side)


def _read_queued_prompt(record: Record, attachment: Record) -> PromptText:
    """Return the prompt of a record that stores what was typed while Claude was working."""
    if attachment.get("commandMode") not in (None, "prompt"):
        return NO_PROMPT
    origin = {"origin": attachment["origin"]} if "origin" in attachment else {}
    return extract_prompt({**record, **origin}, attachment.get("prompt"))


def _read_model(message: Record) -> str | None:
    model = text_at(message, "model")
    return None if model == "<synthetic>" else model


def _list_results(content: Any) -> list[Record]:
    """Return the tool results among the blocks of a message."""
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict) and block.get("type") == "tool_result"]
