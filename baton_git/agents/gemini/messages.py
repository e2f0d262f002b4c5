"""Read the messages of a Gemini CLI session.

Up to 0.36, a transcript is one object with all messages. Since then it is JSON lines: a message is written again when
it changes, `$rewindTo` removes messages, and `$set.messages` lists the messages that the model receives from then on.
After a resume or a compression, such a list may lack earlier messages.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.agents.events import Position, ToolCall, ToolResult
from baton_git.agents.json_lines import JsonLines, Record, parse_object, read_object, table_at, tables, text_at, texts
from baton_git.agents.transcripts import (
    HEAD_LINES,
    ToolOutcome,
    ToolUse,
    describe_answers,
    describe_call,
    describe_command,
    describe_file_use,
    read_other_call,
    read_other_result,
    read_todo_list,
)

# --- messages


class Message(NamedTuple):
    """A message, and the position of its newest version."""

    position: Position
    record: Record

    @property
    def name(self) -> str:
        """The message's id, which is the same in all its versions; empty if it has none."""
        return text_at(self.record, "id") or ""

    def merge_rewrite(self, newer: Message) -> Message:
        """Return the message with the values of a newer version, which replace the older ones."""
        return Message(newer.position, {**self.record, **newer.record})

    def merge_shown(self, newer: Message) -> Message:
        """Return the message after `$set.messages` repeated it: only its tool calls are replaced, and keys added."""
        calls = newer.record.get("toolCalls")
        return Message(newer.position, {**newer.record, **self.record, **({"toolCalls": calls} if calls else {})})


def read_whole_session(path: Path) -> Record | None:
    """Return the session if the file is one object; None if it is JSON lines.

    Raises:
        NotFound, InvalidArgument, StoreError: the file cannot be read.
        LimitExceeded: the file may be one object, and is too large.
    """
    for _, record in JsonLines(path, most=HEAD_LINES):
        if "projectHash" in record:
            return record if "messages" in record else None
    return read_object(path)


def list_messages(
    position: Position, listing: Record, names: Container[str], known: Mapping[str, str]
) -> tuple[list[Message], dict[str, str]]:
    """Return the messages in `listing` that have an id, and those that a compression repeated: original id by new id.

    A compression (seen in 0.61) lists its summary, an answer of its own to it, and the newest messages once more with
    new ids. The summary is returned as a message of the type `SUMMARY`.

    Args:
        names: the ids of the messages so far.
        known: the id of the newest message with a text, by `digest_text`.
    """
    messages: list[Message] = []
    copies: dict[str, str] = {}
    records = tables(listing.get("messages"))
    answers = [read_text(record) for record in records]
    summary = answers.index(_ACKNOWLEDGED) - 1 if _ACKNOWLEDGED in answers else len(records)
    for number, record in enumerate(records):
        message = Message(position, {**record, "type": SUMMARY} if number == summary else record)
        is_new = number > summary and message.name not in names
        original = known.get(digest_text(answers[number])) if is_new else None
        if original is not None:
            copies[message.name] = original
        elif message.name and not (is_new and answers[number] in _ADDED_ANSWERS):
            messages.append(message)
    return messages, copies


def merge_head(head: Mapping[str, Any], record: Record) -> dict[str, Any]:
    """Return the head of the session (its id, start time, title ...) updated with a record."""
    # A resume records its own start time; the session's start time is that of the first record.
    first = {"startTime": head["startTime"]} if "startTime" in head else {}
    return {**head, **{key: value for key, value in record.items() if key != "messages"}, **first}


class MessageLog:
    """The current messages, in order of their first appearance, and the session's head."""

    def __init__(self) -> None:
        self.head: dict[str, Any] = {}
        self.messages: dict[str, Message] = {}
        self._copies: dict[str, str] = {}

    def add(self, position: Position, record: Record) -> None:
        """Update messages and head with the next record."""
        if "$rewindTo" in record:
            self._rewind(record["$rewindTo"])
        elif "$set" in record or "projectHash" in record:
            data = table_at(record, "$set") if "$set" in record else record
            self.head = merge_head(self.head, data)
            if "messages" in data:
                self._add_listed(position, data)
        elif (message := Message(position, record)).name:
            before = self.messages.get(message.name)
            self.messages[message.name] = before.merge_rewrite(message) if before else message

    def _add_listed(self, position: Position, data: Record) -> None:
        known = {digest_text(read_text(message.record)): name for name, message in self.messages.items()}
        messages, copies = list_messages(position, data, self.messages, known)
        self._copies |= copies
        for message in messages:
            before = self.messages.get(message.name)
            self.messages[message.name] = before.merge_shown(message) if before else message

    def _rewind(self, target: Any) -> None:
        names = list(self.messages)
        target = self._copies.get(target, target)
        if target in names:
            for name in names[names.index(target) :]:
                del self.messages[name]


def replay_messages(path: Path, position: Position, number: int) -> MessageLog:
    """Return the messages and the head after record `number` (from 1) of the line at `position`."""
    log, count = MessageLog(), 0
    for at, record in JsonLines(path):
        log.add(at, record)
        count += at == position
        if count == number:
            break
    return log


# --- prompts

SUMMARY = "summary"
"""The type of a message that is the summary of a compressed session."""
_ACKNOWLEDGED = "Got it. Thanks for the additional context!"
_ADDED_ANSWERS = (_ACKNOWLEDGED, "[The previous response was interrupted before it completed.]")
"""Answers that Gemini CLI writes itself at a compression."""
SNAPSHOT = "<state_snapshot>"
"""Beginning of the summary that the model is asked for."""

_ADDED, _END = "<hook_context>", "</hook_context>"
_NOT_TYPED = ("<session_context>", "/", "?", SNAPSHOT)
_WRITTEN = ("This is the Gemini CLI. We are setting up the context for our chat.", "System: Please continue.")


def extract_typed_text(message: Record) -> str:
    """Return the text that a person typed; empty if nobody typed it, or if it is a command (`/…` or `?`).

    The text shown on the screen is preferred.
    """
    shown = texts(message.get("displayContent")) or texts(message.get("content"))
    text = "\n".join(own for part in shown if (own := _remove_hook_context(part)))
    return "" if text.startswith(_NOT_TYPED + _WRITTEN) else text


def is_reason_of_hook(message: Record, prompt: str) -> bool:
    """Whether a message is the reason for which a hook made the agent go on after a prompt.

    Gemini CLI (0.61) writes that reason as the content of a user's message that shows the prompt once more. The content
    of a prompt that the person sent again begins like the prompt, although what it refers to (`@file`) is replaced.
    """
    if not prompt or not message.get("displayContent") or extract_typed_text(message) != prompt:
        return False
    content = _remove_hook_context("\n".join(texts(message.get("content"))))
    return not content.startswith(prompt.split(maxsplit=1)[0])


def read_text(message: Record) -> str:
    """Return the text of a prompt or of a reply, without the model's thoughts; empty for other messages."""
    if message.get("type") != "gemini":
        return extract_typed_text(message) if message.get("type") == "user" else ""
    content = message.get("content")
    parts = content if isinstance(content, str) else [part for part in tables(content) if not part.get("thought")]
    return "\n".join(texts(parts))


def digest_text(text: str) -> str:
    """Return a short digest by which equal texts are found."""
    return sha256(text.encode()).hexdigest()[:16]


def _remove_hook_context(text: str) -> str:
    """Return the text without the context that hooks added and the whitespace around that context."""
    pieces, at = [], 0
    while (start := text.find(_ADDED, at)) >= 0 and (end := text.find(_END, start)) >= 0:
        pieces.append(text[at:start].strip() if at else text[at:start].rstrip())
        at = end + len(_END)
    return "".join([*pieces, text[at:].lstrip() if at else text]).strip()


# --- tools

_WRITING_TOOLS = ("write_file", "replace", "edit")
_SEARCHING_TOOLS = ("search_file_content", "grep_search", "ripgrep")
_REFUSED = re.compile(
    r"User (?:did not allow|cancell?ed|denied|rejected)|\[Operation Cancelled\] Reason: User|cancelled by the user",
    re.IGNORECASE,
)


def read_call(call: ToolCall) -> ToolUse:
    """Return the meaning of a call."""
    arguments = call.arguments
    if call.name == "run_shell_command" and (command := text_at(arguments, "command")):
        folder = text_at(arguments, "dir_path") or text_at(arguments, "directory") or None
        return ToolUse(describe_command(command), command=command, folder=folder)
    if call.name == "write_todos":
        return read_todo_list(call.name, arguments.get("todos"), "description")
    path = text_at(arguments, "file_path") or text_at(arguments, "absolute_path")
    paths = (path,) if path else ()
    if call.name in _WRITING_TOOLS:
        written = text_at(arguments, "content") or text_at(arguments, "new_string") or ""
        replaced = text_at(arguments, "old_string") or ""
        return ToolUse(describe_file_use(call.name, path), files=paths, written=written, replaced=replaced)
    if path:
        return ToolUse(describe_file_use(call.name, path), reads=paths)
    if call.name in _SEARCHING_TOOLS:
        return ToolUse(describe_call(call.name, arguments), searches=True)
    return read_other_call(call.name, arguments)


def read_result(name: str, result: ToolResult) -> ToolOutcome:
    """Return the meaning of the result of a call of the tool `name`."""
    failed = bool(result.failed)
    if failed and _REFUSED.search(result.text[:1000]):
        return ToolOutcome(failed, refused=True)
    if name in _WRITING_TOOLS:
        path = text_at(result.structured or {}, "filePath")
        # Older releases name the file without its folder. Only an absolute path is better than the path in the call.
        return ToolOutcome(failed, files=(path,) if path and path.startswith("/") else None)
    if name == "ask_user":
        answers = table_at(parse_object(result.text) or {}, "answers")
        return ToolOutcome(failed, answers=describe_answers(answers.items()))
    return read_other_result(name, result)
