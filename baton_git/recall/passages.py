"""Passages: the units of text that recall indexes and quotes, with their origin.

A hook with each prompt imports this module, so it imports nothing that reads records.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from baton_git.agents.events import AGENT, ENDED, FAILED, HARNESS, INTERRUPTED, PERSON, SCHEDULE

if TYPE_CHECKING:
    from baton_git.agents.turn_store import SessionTurns

PASSAGE = 450
"""Maximum length of a passage in characters. With 1,500, an answer holds passages of a third as many sessions, and most
of each says nothing about the question."""
TRUNKS = frozenset({"", "main", "master", "trunk", "develop"})
"""Branches on which a session says nothing about the next one."""
_HOUR = len("2026-11-28T10")
"""Length of a time up to its hour."""
TURN = "turn"
"""The kind of passages from turns of a session."""
DIGEST = "handoff"
"""The kind of records that are digests of sessions."""
SHARED_TURNS = "turns"
"""The kind of records that contain the turns of a session, to share them with other machines."""


class Passage(NamedTuple):
    """A piece of text and its origin. Attributes are empty if they are unknown or do not apply.

    Attributes:
        text: the text of a prompt and its answer, or of a record's fields.
        kind: the kind of the record, or `turn` for a turn of a session.
        session: the session of the turn, or the session that wrote the record.
        time: the time of the turn or record, ISO 8601.
        record: the id of the record, or the number of the turn.
        path: the path of the record's file.
        blob: the blob id of that file.
        commit: the commit that added or changed that file.
        branch: the branch that was checked out in the session.
    """

    text: str
    kind: str
    namespace: str
    session: str = ""
    agent: str = ""
    time: str = ""
    record: str = ""
    path: str = ""
    blob: str = ""
    commit: str = ""
    branch: str = ""

    @property
    def thread(self) -> str:
        """What the passage belongs to: a session (its turns and its digest), or a record in all its versions."""
        if self.kind == TURN or self.record == f"{self.agent}/{self.session}":
            return f"{self.agent}/{self.session}"
        return self.path


ON_THIS_MACHINE = "agent"
"""The label of turns that were read from transcripts on this machine."""


class Standing(NamedTuple):
    """The current status of a passage.

    Attributes:
        label: its provenance in one or two words.
        mark: a caveat: `earlier value`, `before it was archived`, `while it was archived`, `removed`, `forgotten`,
            `archived`, `superseded by ID`, or how the code that the record is about has changed; empty if there is
            none.
        holds: whether it is the current value.
        newer: the passages of the value that replaced it.
    """

    label: str
    mark: str = ""
    holds: bool = True
    newer: tuple[Passage, ...] = ()


def split_turns(turns: SessionTurns) -> Iterator[Passage]:
    """Yield the passages of a session's turns; prompts and answers begin with the speaker."""
    yield from join_short(_split_stored(turns))


def join_short(passages: Iterable[Passage]) -> Iterator[Passage]:
    """Yield passages in which short ones of successive turns within an hour are joined.

    The answer to "yes, do it" is often as short, and neither says much without the turn before it.
    """
    before: Passage | None = None
    for passage in passages:
        if before is not None and passage.time[:_HOUR] == before.time[:_HOUR] and passage.record != before.record:
            joined = f"{before.text}\n\n{passage.text}"
            if len(joined) <= PASSAGE:
                before = before._replace(text=joined)
                continue
        if before is not None:
            yield before
        before = passage
    if before is not None:
        yield before


def _split_stored(turns: SessionTurns) -> Iterator[Passage]:
    for turn in turns.turns:
        where = {
            "namespace": turns.namespace or "",
            "session": turns.session,
            "agent": turns.agent,
            "time": turn.time or turns.started or "",
            "branch": turns.branch or "",
        }
        said = "\n\n".join(filter(None, (turn.said, turn.answer)))
        yield from split_turn(str(turn.number), turn.origin, turn.status, turn.prompt, said, where)


_SPEAKERS = {PERSON: "user", AGENT: "another agent", SCHEDULE: "a schedule"}
"""Whose prompt it is, by its origin."""
_MARKS = {
    INTERRUPTED: ("interrupted", "interrupted"),
    FAILED: ("failed", "failed"),
    ENDED: ("not answered", "unfinished"),
}
"""The marks of a prompt without an answer, and of what the agent said after it, by the status of the turn."""


def split_turn(
    number: str, origin: str, status: str, prompt: str, answer: str, where: Mapping[str, str]
) -> Iterator[Passage]:  # fmt: skip
    """Yield the passages of a turn. Each begins with who says it, and with a mark if the prompt has no answer."""
    marks = [f" ({mark}): " for mark in _MARKS[status]] if status in _MARKS else [": ", ": "]
    asking, saying = f"{_SPEAKERS.get(origin, 'of unknown origin')}{marks[0]}", f"agent{marks[1]}"
    asked = prompt and origin != HARNESS  # notifications of the agent CLI say nothing about the work
    texts = [f"{asking}{prompt}" if asked else "", f"{saying}{answer}" if answer else ""]
    speaking = ""
    for piece in split_text("\n\n".join(filter(None, texts))):
        start = next((name for name in (asking, saying) if piece.startswith(name)), "")
        text = piece if start or not speaking else f"{speaking}{piece}"
        yield Passage(text, TURN, record=number, **where)
        speaking = saying if f"\n{saying}" in piece else start or speaking


def split_text(text: str, most: int = PASSAGE) -> Iterator[str]:
    """Yield pieces of at most `most` characters, if possible cut after a paragraph, line, sentence or word."""
    text = text.strip()
    while len(text) > most:
        cut = _find_cut(text, most)
        yield text[:cut].strip()
        text = text[cut:].strip()
    if text:
        yield text


def _find_cut(text: str, most: int) -> int:
    for separator in ("\n\n", "\n", ". ", " "):
        cut = text.rfind(separator, most // 2, most)
        if cut > 0:
            return cut + len(separator)
    return most


_SENTENCE = re.compile(
    # The number of an item of a list is no sentence.
    r"(?<!^\d\.)(?<!^\d\d\.)(?<!\s\d\.)(?<!\s\d\d\.)(?<=[.!?。！？])\s+(?=[^\s\w]|[A-Z\d])|(?<=[。！？])"
)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, which end at the end of a line at the latest.

    Blank lines, and the lines that begin or end a code block (```), are left out.
    """
    lines = (line.strip() for line in text.splitlines())
    return [
        sentence.strip()
        for line in lines
        if line and not line.startswith("```")
        for sentence in _SENTENCE.split(line)
        if sentence.strip()
    ]
