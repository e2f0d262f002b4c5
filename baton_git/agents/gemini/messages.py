"""The messages of a Gemini CLI session as they finally are.

Up to 0.36 a transcript is one object with all of them. Since then it is JSON lines, where a message is written again
when it changes, `$rewindTo` takes messages back, and `$set.messages` says what the model is shown from then on: after
a resume or a compression, with less than was written before.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.agents.events import Ended, Place
from baton_git.agents.fields import Record, table_at, tables, text_at
from baton_git.agents.json_lines import JsonLines, whole_object
from baton_git.agents.reading import size_of


class Message(NamedTuple):
    """`place` is where its newest form stands."""

    place: Place
    record: Record


class Chat(NamedTuple):
    """`head` is everything that is said of the session itself. `is_settled`: reading can go on where it `ended`."""

    head: Record
    messages: tuple[Message, ...]
    ended: Ended
    is_settled: bool = False


def read(path: Path) -> Chat:
    """The whole session; messages in the order in which they first came.

    Raises:
        NotFound, InvalidArgument, StoreError: the file cannot be read.
        LimitExceeded: it is one object, and too large.
    """
    gathered = _Gathered()
    lines = JsonLines(path)
    for place, record in lines:
        gathered.add(place, record)
    whole = gathered.whole if gathered.head else whole_object(path)
    if whole:
        return _chat_of_object(whole, lines.end)
    memory = {"ids": list(gathered.ids)}
    return Chat(
        gathered.head, tuple(gathered.messages.values()), Ended(lines.end, lines.unread, memory), not lines.is_open
    )


def read_further(path: Path, since: Ended) -> Chat | None:
    """What was added since then, without a head; None when some of that changes what was there before.

    Raises:
        NotFound, InvalidArgument, StoreError: the file cannot be read.
    """
    if "ids" not in since.memory or since.place.offset > size_of(path):
        return None
    known, found = set(since.memory["ids"]), {}
    lines = JsonLines(path, since.place)
    for place, record in lines:
        name = text_at(record, "id")
        if name in known or name in found or not _adds(record):
            return None
        if name:
            found[name] = Message(place, record)
    if lines.is_open:
        return None
    ended = Ended(lines.end, since.unread + lines.unread, {"ids": [*since.memory["ids"], *found]})
    return Chat({}, tuple(found.values()), ended, is_settled=True)


def _adds(record: Record) -> bool:
    """Whether a record leaves all earlier ones as they are."""
    if "$set" in record:
        return table_at(record, "$set").keys() <= {"lastUpdated"}
    return "$rewindTo" not in record and "projectHash" not in record


def _chat_of_object(whole: Record, end: Place) -> Chat:
    messages = tables(whole.get("messages"))
    found = tuple(Message(Place(number, 0), message) for number, message in enumerate(messages, 1))
    return Chat({key: value for key, value in whole.items() if key != "messages"}, found, Ended(end))


class _Gathered:
    def __init__(self) -> None:
        self.head: dict[str, Any] = {}
        self.messages: dict[str, Message] = {}
        self.ids: dict[str, None] = {}
        self.whole: Record | None = None

    def add(self, place: Place, record: Record) -> None:
        if "$set" in record:
            self._set(place, table_at(record, "$set"))
        elif "$rewindTo" in record:
            self._rewind(record["$rewindTo"])
        elif "projectHash" in record:
            self.whole = record if "messages" in record else None
            self._set(place, record)
        elif name := text_at(record, "id"):
            self.ids[name] = None
            before = self.messages.get(name)
            self.messages[name] = Message(place, {**before.record, **record} if before else record)

    def _set(self, place: Place, said: Record) -> None:
        # A resume says when it began; the session began earlier.
        first = {"startTime": self.head["startTime"]} if "startTime" in self.head else {}
        self.head |= {key: value for key, value in said.items() if key != "messages"} | first
        for message in tables(said.get("messages")):
            if name := text_at(message, "id"):
                self.ids[name] = None
                before = self.messages.get(name)
                self.messages[name] = (
                    Message(place, _shown(before.record, message)) if before else Message(place, message)
                )

    def _rewind(self, target: Any) -> None:
        names = list(self.messages)
        if target in names:
            for name in names[names.index(target) :]:
                del self.messages[name]


def _shown(written: Record, shown: Record) -> Mapping[str, Any]:
    """A message that stands in a list for the model: as it was written, with the calls as they are now."""
    calls = shown.get("toolCalls")
    return {**shown, **written, **({"toolCalls": calls} if calls else {})}
