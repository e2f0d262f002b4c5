"""The messages of a Gemini CLI session.

Up to 0.36 a transcript is one object with all of them. Since then it is JSON lines, where a message is written again
when it changes, `$rewindTo` takes messages back, and `$set.messages` says what the model is shown from then on: after
a resume or a compression, with less than was written before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.agents.events import Position
from baton_git.agents.fields import Record, table_at, tables, text_at
from baton_git.agents.json_lines import JsonLines, whole_object
from baton_git.agents.transcripts import HEAD_LINES


class Message(NamedTuple):
    """`place` is where its newest form stands."""

    place: Position
    record: Record

    @property
    def name(self) -> str:
        """By which it is known again."""
        return text_at(self.record, "id") or ""

    def merge_rewrite(self, newer: Message) -> Message:
        """The message once it was written again."""
        return Message(newer.place, {**self.record, **newer.record})

    def merge_shown(self, newer: Message) -> Message:
        """The message once it stood in a list for the model: as it was written, with the calls as they are now."""
        calls = newer.record.get("toolCalls")
        return Message(newer.place, {**newer.record, **self.record, **({"toolCalls": calls} if calls else {})})


def whole_session(path: Path) -> Record | None:
    """The session where the file is one object; None where it is JSON lines.

    Raises:
        NotFound, InvalidArgument, StoreError: the file cannot be read.
        LimitExceeded: it may be one object, and is too large.
    """
    for _, record in JsonLines(path, most=HEAD_LINES):
        if "projectHash" in record:
            return record if "messages" in record else None
    return whole_object(path)


def messages_of(place: Position, listing: Record) -> Iterator[Message]:
    """Those of a list of messages that have a name."""
    messages = (Message(place, record) for record in tables(listing.get("messages")))
    return (message for message in messages if message.name)


def head_with(head: Mapping[str, Any], record: Record) -> dict[str, Any]:
    """What is said of the session itself, once more was said."""
    # A resume says when it began; the session began earlier.
    first = {"startTime": head["startTime"]} if "startTime" in head else {}
    return {**head, **{key: value for key, value in record.items() if key != "messages"}, **first}


class MessageLog:
    """The messages as they are after each record, in the order in which they first came, and the session's head."""

    def __init__(self) -> None:
        self.head: dict[str, Any] = {}
        self.messages: dict[str, Message] = {}

    def add(self, place: Position, record: Record) -> None:
        """Takes the next record in."""
        if "$rewindTo" in record:
            self._rewind(record["$rewindTo"])
        elif "$set" in record or "projectHash" in record:
            data = table_at(record, "$set") if "$set" in record else record
            self.head = head_with(self.head, data)
            for message in messages_of(place, data):
                before = self.messages.get(message.name)
                self.messages[message.name] = before.merge_shown(message) if before else message
        elif (message := Message(place, record)).name:
            before = self.messages.get(message.name)
            self.messages[message.name] = before.merge_rewrite(message) if before else message

    def _rewind(self, target: Any) -> None:
        names = list(self.messages)
        if target in names:
            for name in names[names.index(target) :]:
                del self.messages[name]


def replay_messages(path: Path, place: Position, number: int) -> MessageLog:
    """What stands after the record that is the `number`th in the line at `place`, from 1."""
    log, passed = MessageLog(), 0
    for at, record in JsonLines(path):
        log.add(at, record)
        passed += at == place
        if passed == number:
            break
    return log
