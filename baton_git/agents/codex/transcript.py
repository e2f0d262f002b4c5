"""Read transcripts of Codex CLI 0.20 to 0.171 as events.

Since 0.4x, most messages are written twice in a row: as the model sent or received them (`response_item`), and as the
screen showed them (`event_msg`). In such transcripts, a prompt counts only if the screen showed it, because Codex adds
other user messages for the model; a reply counts once. In code mode, only the `event_msg` records name the commands
that ran. A rollback (`thread_rolled_back`) removes the last prompts, with all that followed them. Since 0.171, a rewind
begins another file instead, which names what it goes on from; the reader reads that first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from baton_git.agents.codex.launch import find_base, read_session_start
from baton_git.agents.codex.messages import (
    CompletedWork,
    Output,
    extract_typed_text,
    is_marked_typed,
    parse_output,
    read_call,
    read_result,
    read_work,
)
from baton_git.agents.events import (
    ANSWERED,
    BEGINNING,
    FAILED,
    INTERRUPTED,
    START_OF_FILE,
    Compaction,
    EndReached,
    Event,
    FileChange,
    FilesChanged,
    Goal,
    ModelReply,
    Position,
    Prompt,
    SessionContext,
    Title,
    ToolCall,
    ToolResult,
    TurnEnd,
)
from baton_git.agents.json_lines import Record, parse_object, read_path_events, table_at, tables, text_at, texts

__all__ = ["events", "read_call", "read_result", "recognises"]

# --- the context of a session

_CWD = re.compile(r"<cwd>((?:(?!<cwd>).)*?)</cwd>|^Current working directory: (.*)$", re.MULTILINE)


def apply_environment_message(last: SessionContext, text: str) -> SessionContext:
    """Return the context with the folder that a message to the model names; old formats name it nowhere else."""
    match = _CWD.search(text) if last.cwd is None and "<environment_context>" in text else None
    return last._replace(cwd=match[1] or match[2]) if match else last


# --- known formats of records

_WRAPPING_TYPES = ("response_item", "event_msg")
_OTHER_TYPES = ("session_meta", "turn_context", "compacted", "world_state", "token_usage_record")
_REQUIRED_KEYS = {
    "function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action",
    "function_call_output": "output", "custom_tool_call_output": "output", "user_message": "message",
    "agent_message": "message", "item_completed": "item", "patch_apply_end": "changes", "exec_command_end": "exit_code",
}  # fmt: skip
_KEYLESS_TYPES = frozenset(
    ("reasoning", "agent_reasoning", "token_count", "task_started", "task_complete", "turn_aborted")
)


def _understands(record: Record) -> bool | None:
    """Return True for a record in a known format, False for a known type in another one, None for an unknown type."""
    kind = text_at(record, "type")
    if kind in _OTHER_TYPES:
        return isinstance(record.get("payload"), dict)
    if kind is None:  # the first releases
        return True if "record_type" in record or {"id", "timestamp"} <= record.keys() else None
    item = table_at(record, "payload") if kind in _WRAPPING_TYPES else record
    kind = text_at(item, "type")
    if kind == "message" or (kind == "agent_message" and "content" in item):
        return _is_message(item)
    if kind in _REQUIRED_KEYS:
        return _REQUIRED_KEYS[kind] in item
    return True if kind in _KEYLESS_TYPES else (None if kind is not None else False)


def _is_message(item: Record) -> bool:
    content = item.get("content")
    parts = [content] if isinstance(content, str) else tables(content)[:1]
    is_known = all(isinstance(part, str) or "text" in part or part.get("type") == "input_image" for part in parts)
    return ("role" in item or item.get("type") != "message") and content is not None and is_known


# --- events

_ENVELOPES = ("response_item", "event_msg", "turn_context", "compacted", "world_state")
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
_TURN_EVENTS = (
    "task_started", "turn_started", "task_complete", "turn_complete", "turn_aborted", "error", "thread_rolled_back",
)  # fmt: skip
_Kind = TypeVar("_Kind", SessionContext, Prompt, ModelReply)
_BARE = ("message", "reasoning", *_CALLS, *_OUTPUTS)
"""The types of records that older versions wrote without an envelope."""


def recognises(record: Record) -> bool:
    """Whether a record is from Codex CLI."""
    if record.get("type") in ("session_meta", *_ENVELOPES):
        return isinstance(record.get("payload"), dict)
    return "type" not in record and ({"id", "timestamp", "instructions"} <= record.keys() or "record_type" in record)


def events(path: Path, since: EndReached = START_OF_FILE) -> Iterator[Event]:
    """Yield the events since an earlier reading ended.

    Raises:
        NotFound, InvalidArgument, StoreError: the file cannot be read.
    """
    return read_path_events(path, since, partial(_Reader, path))


class _Reader:
    """Turns records into events.

    Keeps the session context, messages that wait for their other half, call ids, and the numbers of the prompts that
    are on the path.
    """

    understands = staticmethod(_understands)

    def __init__(self, path: Path, memory: Mapping[str, Any]) -> None:
        self._path = path
        self._setting = _restore_event(SessionContext, memory.get("setting"))
        self._confirms: bool = memory.get("confirms", False)
        self._prompt = _restore_event(Prompt, memory.get("prompt"))
        self._reply = _restore_event(ModelReply, memory.get("reply"))
        self._last: Sequence[str] = tuple(memory.get("last", ("", "")))
        self._calls: dict[str, None] = dict.fromkeys(memory.get("calls", ()))
        self._open: str | None = memory.get("open")
        self._work = {name: _restore_work(work) for name, work in memory.get("work", {}).items()}
        self._task, self._prompts_of_task = memory.get("task", ("", 0))
        self._has_tasks: bool = memory.get("has_tasks", False)
        self._count: int = memory.get("count", 0)
        self._on_path: list[int] = list(memory.get("on_path", ()))
        self._is_left: bool = memory.get("is_left", False)
        self.skipped: list[Any] = list(memory.get("skipped", ()))

    def memory(self) -> Mapping[str, Any]:
        return {
            "setting": self._setting, "confirms": self._confirms, "prompt": self._prompt, "reply": self._reply,
            "last": self._last, "calls": list(self._calls), "open": self._open, "work": dict(self._work),
            "task": [self._task, self._prompts_of_task], "has_tasks": self._has_tasks, "count": self._count,
            "on_path": list(self._on_path), "is_left": self._is_left, "skipped": self.skipped,
        }  # fmt: skip

    def find_left(self) -> list[Any]:
        return sorted(set(range(1, self._count + 1)).difference(self._on_path))

    def events(self, position: Position, record: Record) -> Iterator[Event]:
        return self._follow_path(self._read_record(position, record))

    def flush(self) -> Iterator[Event]:
        """Yield the messages that wait for the other half of their pair."""
        return self._follow_path(self._release())

    def _follow_path(self, events: Iterator[Event]) -> Iterator[Event]:
        """Yield the events without those of prompts that were rolled back. What is set for the session stays."""
        for event in events:
            if isinstance(event, Prompt):
                self._count += 1
                self._on_path.append(self._count)
                self._is_left = self._count in self.skipped
            if not self._is_left or isinstance(event, SessionContext | Title):
                yield event

    def _read_record(self, position: Position, record: Record) -> Iterator[Event]:
        kind, payload, time = record.get("type"), table_at(record, "payload"), text_at(record, "timestamp")
        if kind == "response_item" or kind in _BARE:
            yield from self._read_item(position, time, payload if payload else record, table_at(record, "metadata"))
        elif kind == "event_msg":
            yield from self._read_screen_event(position, time, payload)
        elif kind == "turn_context":
            last = self._setting or SessionContext(position, time)
            cwd, model = text_at(payload, "cwd") or last.cwd, text_at(payload, "model") or last.model
            yield from self._update_context(position, time, last._replace(cwd=cwd, model=model, home=cwd))
        elif kind == "compacted":
            yield Compaction(position, time, text_at(payload, "message") or "")
        elif start := read_session_start(position, record):
            yield from self._handle_beginning(position, time, record, start)

    def _handle_beginning(
        self, position: Position, time: str | None, record: Record, start: SessionContext
    ) -> Iterator[Event]:
        """Handle the first record, and what the transcript goes on from. A subagent's work begins with itself."""
        base = find_base(self._path, record) if position == BEGINNING and not start.subagent else []
        if not any(part.session == start.session for part in base):  # a fork is a session of its own
            yield from self._handle_start(position, time, start)
        for earlier in chain.from_iterable(part.read() for part in base):
            if first := read_session_start(BEGINNING, earlier):
                yield from self._handle_start(BEGINNING, text_at(earlier, "timestamp"), first)
            else:
                yield from self._read_record(BEGINNING, earlier)
        yield from self._release()
        yield from self._handle_start(position, time, start)

    def _release(self) -> Iterator[Event]:
        prompt, reply = self._prompt, self._reply
        self._prompt = self._reply = None
        if prompt and not self._confirms:
            yield from self._yield_message(prompt)
        if reply:
            yield from self._yield_message(reply)

    def _handle_start(self, position: Position, time: str | None, start: SessionContext) -> Iterator[Event]:
        """Handle the first record of the session or of a resume; ignore that of the parent, which a fork repeats."""
        last = self._setting
        if last is None or last.session in (None, start.session):
            yield from self._update_context(position, time, start._replace(model=last.model if last else None))

    def _update_context(self, position: Position, time: str | None, setting: SessionContext) -> Iterator[Event]:
        last = self._setting
        if last is None or setting != last._replace(position=setting.position, time=setting.time):
            self._setting = setting._replace(position=position, time=time)
            yield self._setting

    def _yield_message(self, text_event: Prompt | ModelReply) -> Iterator[Event]:
        """Yield a message unless the other half of its pair was already yielded."""
        now = (type(text_event).__name__, text_event.text)
        if text_event.text.strip() and now != self._last:
            self._last = now
            yield self._add_turn(text_event) if isinstance(text_event, Prompt) else text_event

    def _add_turn(self, prompt: Prompt) -> Prompt:
        """Return the prompt with its turn. A later prompt of the same task came while the model was at work."""
        is_first = self._prompts_of_task == 0
        self._prompts_of_task += 1
        return prompt._replace(turn=self._task) if is_first else prompt._replace(queued=bool(self._task))

    def _read_item(self, position: Position, time: str | None, item: Record, metadata: Record) -> Iterator[Event]:
        """Yield the events of a message or call that was sent to the model or by it."""
        kind, call = item.get("type"), text_at(item, "call_id") or text_at(item, "id") or ""
        if kind == "message" and not metadata.get("compaction_output"):
            yield from self._read_message(position, time, item)
        elif kind in _CALLS:
            yield from self._release()
            self._calls[call] = None
            self._last = ("", "")
            self._open = call
            yield _make_call(position, time, call, item)
        elif kind in _OUTPUTS:
            self._open = None
            output, work = parse_output(item.get("output")), self._work.pop(call, None)
            failed = work.output.failed if work and work.output.failed is not None else output.failed
            yield ToolResult(position, time, call, output.text, failed, work.structured if work else None)

    def _read_message(self, position: Position, time: str | None, item: Record) -> Iterator[Event]:
        parts = texts(item.get("content"))
        if item.get("role") == "assistant":
            reply = self._make_reply(position, time, "\n".join(parts))
            if self._reply and self._reply.text == reply.text:
                self._reply = None
            yield from self._release()
            yield from self._yield_message(reply)
        elif item.get("role") == "user":
            if self._setting:
                yield from self._update_context(
                    position, time, apply_environment_message(self._setting, "\n".join(parts))
                )
            text = "\n".join(own for own in map(extract_typed_text, parts) if own)
            if text.strip() and is_marked_typed(item) is not False:
                yield from self._release()
                self._prompt = Prompt(position, time, text)

    def _read_screen_event(self, position: Position, time: str | None, payload: Record) -> Iterator[Event]:
        """Yield the events of a record of the screen (`event_msg`)."""
        kind, item = payload.get("type"), table_at(payload, "item")
        shown = item.get("type") if kind == "item_completed" else kind
        content = "\n".join(texts(item.get("content") if item else payload.get("message")))
        if shown in ("user_message", "UserMessage"):
            self._confirms, self._prompt = True, None
            yield from self._release()
            yield from self._yield_message(Prompt(position, time, extract_typed_text(content)))
        elif shown in ("agent_message", "AgentMessage"):
            yield from self._release()
            self._reply = self._make_reply(position, time, content)
        elif kind in _TURN_EVENTS:
            yield from self._release()
            yield from self._read_turn_event(position, time, kind, payload)
        elif work := read_work(payload):
            yield from self._handle_work(position, time, work)
        elif kind == "thread_name_updated" and (name := text_at(payload, "thread_name")):
            yield Title(position, time, name)
        elif kind == "thread_goal_updated":
            goal = table_at(payload, "goal")
            yield Goal(position, time, text_at(goal, "objective") or "", text_at(goal, "status"))

    def _make_reply(self, position: Position, time: str | None, text: str) -> ModelReply:
        # A message does not end the turn before the task ends; there are releases that record no tasks.
        final = False if self._has_tasks else None
        return ModelReply(position, time, text, self._setting.model if self._setting else None, final=final)

    def _read_turn_event(self, position: Position, time: str | None, kind: str, payload: Record) -> Iterator[Event]:
        """Yield how a turn ended; note the beginning of one, and a rollback."""
        if kind in ("task_started", "turn_started"):
            self._has_tasks, self._task, self._prompts_of_task = True, text_at(payload, "turn_id") or "", 0
        elif kind == "thread_rolled_back":
            number = payload.get("num_turns")
            if isinstance(number, int) and number > 0:
                del self._on_path[-number:]
                self._is_left = False
        elif kind == "error":
            yield TurnEnd(position, time, FAILED, text_at(payload, "message") or "")
        elif kind == "turn_aborted":
            reason = text_at(payload, "reason") or ""
            yield TurnEnd(position, time, INTERRUPTED, "" if reason == "interrupted" else reason.replace("_", " "))
        elif error := table_at(payload, "error"):  # since 0.171, instead of an event of its own
            yield TurnEnd(position, time, FAILED, text_at(error, "message") or "")
        elif text_at(payload, "last_agent_message"):
            yield TurnEnd(position, time, ANSWERED)

    def _handle_work(self, position: Position, time: str | None, work: CompletedWork) -> Iterator[Event]:
        """Keep finished work until the result of its call comes; for work of code mode, yield a call and its result."""
        yield from self._release()
        if work.id in self._calls:
            self._work[work.id] = work
        else:
            self._calls[work.id] = None
            yield ToolCall(position, time, work.id, work.name, work.arguments, within=self._open)
            yield ToolResult(position, time, work.id, *work.output, work.structured)
        if work.files:
            yield FilesChanged(position, time, work.id, work.files)


def _make_call(position: Position, time: str | None, call: str, item: Record) -> ToolCall:
    """Return a call with its arguments as a table. The record has them as JSON text, as plain text, or as an action."""
    text = text_at(item, "arguments") or text_at(item, "input") or ""
    if item.get("type") == "local_shell_call":
        return ToolCall(position, time, call, "local_shell", table_at(item, "action"))
    arguments = parse_object(text) if text.lstrip().startswith("{") else None
    return ToolCall(
        position, time, call, text_at(item, "name") or "", arguments if arguments is not None else {"input": text}
    )


def _restore_event(kind: type[_Kind], memory: Any) -> _Kind | None:
    """Restore an event from the list in which JSON stored it."""
    return None if memory is None else kind(Position(*memory[0]), *memory[1:])


def _restore_work(memory: Any) -> CompletedWork:
    name, tool, arguments, output, structured, files = memory
    return CompletedWork(name, tool, arguments, Output(*output), structured, tuple(FileChange(*file) for file in files))
