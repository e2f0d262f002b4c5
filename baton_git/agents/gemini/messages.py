"""Read the messages of a Gemini CLI session.

Up to 0.36, a transcript is one object with all messages. Since then it is JSON lines: a message is written again when
it changes, `$rewindTo` removes messages, and `$set.messages` lists the messages that the model receives from then on.
After a resume or a compression, such a list may lack earlier messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.agents.events import Position
from baton_git.agents.fields import Record, table_at, tables, text_at
from baton_git.agents.json_lines import JsonLines, read_object
from baton_git.agents.transcripts import HEAD_LINES


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


def list_messages(position: Position, listing: Record) -> Iterator[Message]:
    """Yield the messages in `listing` that have an id."""
    messages = (Message(position, record) for record in tables(listing.get("messages")))
    return (message for message in messages if message.name)


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

    def add(self, position: Position, record: Record) -> None:
        """Update messages and head with the next record."""
        if "$rewindTo" in record:
            self._rewind(record["$rewindTo"])
        elif "$set" in record or "projectHash" in record:
            data = table_at(record, "$set") if "$set" in record else record
            self.head = merge_head(self.head, data)
            for message in list_messages(position, data):
                before = self.messages.get(message.name)
                self.messages[message.name] = before.merge_shown(message) if before else message
        elif (message := Message(position, record)).name:
            before = self.messages.get(message.name)
            self.messages[message.name] = before.merge_rewrite(message) if before else message

    def _rewind(self, target: Any) -> None:
        names = list(self.messages)
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
