"""Passages: the units of text that recall indexes and quotes, with their origin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from baton_git.agents.events import AGENT, HARNESS, PERSON, SCHEDULE
from baton_git.agents.turn_store import SessionTurns
from baton_git.core.kinds import ALL_KINDS
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import Part
from baton_git.core.records.lineage import Session
from baton_git.core.state import Key
from baton_git.recall.terms import AGENT_SAID, USER_SAID

PASSAGE = 450
"""Maximum length of a passage in characters. With 1,500, an answer holds passages of a third as many sessions, and most
of each says nothing about the question."""
_HOUR = len("2026-11-28T10")
"""Length of a time up to its hour."""
TURN = "turn"
"""The kind of passages from turns of a session."""
DIGEST = "handoff"
"""The kind of records that are digests of sessions."""
SHARED_TURNS = "turns"
"""The kind of records that contain the turns of a session, to share them with other machines."""
_SKIPPED = frozenset(
    """
    id created_at first_seen last_seen last_deferred source_tier sources source extracted_at started ended machine
    branch trigger last_check verify offset line time priority defer_count count unknown left_out recent_activity schema
    schema_version version checksum digest session_id parent_session updated_at
    person worktree
    """.split()  # noqa: SIM905  a list would take a line for each word
)
"""Fields of records that are not indexed: metadata, such as when and how a record was stored."""
_SKIPPED_WITHIN = frozenset({("anchors", "commit"), ("anchors", "session")})
"""Such fields that have the same name as others with text: each with the field that contains it."""
_SAID = frozenset(
    """
    initial_goal key_decisions latest_prompts unanswered last_answer open_questions next_steps
    """.split()  # noqa: SIM905  one name after the other
)
"""Facts of a digest that repeat what the turns of its session say."""
_UNNAMED = frozenset({"text", "content", "message"})
"""Fields that are indexed without their name, because it says nothing about the text."""


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


def split_turns(turns: SessionTurns) -> Iterator[Passage]:
    """Yield the passages of a session's turns; prompts and answers begin with the speaker."""
    yield from _join_short(_split_stored(turns))


def _join_short(passages: Iterable[Passage]) -> Iterator[Passage]:
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
        yield from _split_turn(str(turn.number), turn.origin, turn.prompt, said, where)


def _split_shared(data: Mapping[str, Any], where: Mapping[str, str]) -> Iterator[Passage]:
    """Yield the passages of turns that are stored in a record."""
    for turn in data["conversation"].get("turns", ()):
        time = turn.get("time") or where.get("time", "")
        origin, answer = turn.get("origin", PERSON), turn.get("answer", "")
        yield from _split_turn(str(turn["number"]), origin, turn["prompt"], answer, {**where, "time": time})


SPEAKERS = {PERSON: USER_SAID, AGENT: "another agent: ", SCHEDULE: "a schedule: "}
"""What stands before a prompt, by its origin."""


def _split_turn(number: str, origin: str, prompt: str, answer: str, where: Mapping[str, str]) -> Iterator[Passage]:
    asked = prompt and origin != HARNESS  # notifications of the agent CLI say nothing about the work
    speaker = SPEAKERS.get(origin, "of unknown origin: ")
    texts = [f"{speaker}{prompt}" if asked else "", f"{AGENT_SAID}{answer}" if answer else ""]
    speaking = ""
    for piece in split_text("\n\n".join(filter(None, texts))):
        start = next((name for name in (speaker, AGENT_SAID) if piece.startswith(name)), "")
        text = piece if start or not speaking else f"{speaking}{piece}"
        yield Passage(text, TURN, record=number, **where)
        speaking = AGENT_SAID if f"\n{AGENT_SAID}" in piece else start or speaking


def split_said(key: Key, part: Part, **where: str) -> Iterator[Passage]:
    """Yield the passages of what a digest or a record of turns repeats from the turns of its session."""
    data = part.record if isinstance(part, Archived) else part.as_data()
    if key.kind == SHARED_TURNS:
        yield from _join_short(_split_shared(data, where))
    elif key.kind == DIGEST:
        said = {name: value for name, value in data["facts"].items() if name in _SAID}
        for piece in split_text("\n".join(_lines_of(said))):
            yield Passage(piece, key.kind, record=key.id, **where)


def split_record(key: Key, part: Part, **where: str) -> Iterator[Passage]:
    """Yield the passages of a live or archived record, without those of `split_said`.

    Args:
        where: further fields of `Passage`.
    """
    data = part.record if isinstance(part, Archived) else part.as_data()
    if key.kind == SHARED_TURNS:
        return
    if key.kind == DIGEST:
        others = {name: value for name, value in data["facts"].items() if name not in _SAID}
        data = {**data, "facts": others}
    if key.kind == Session.kind:
        data = {"context": data.get("context")}  # the rest of a session says nothing about the work
    has_reason = isinstance(part, Archived) and part.reason and key.kind not in (Session.kind, DIGEST)
    lines = [f"reason: {part.reason}"] if isinstance(part, Archived) and has_reason else []
    text = "\n".join([*_lines_of(data), *lines])
    for piece in split_text(text):
        yield Passage(piece, key.kind, record=key.id, **where)


def title_of(kind: str) -> str:
    """Return the display name of a kind of passage; a kind that is not one of a record is its own name."""
    return ALL_KINDS[kind].title if kind in ALL_KINDS else kind


def _lines_of(data: Any, name: str = "") -> Iterator[str]:
    """Yield the texts in plain data, each after the name of its field unless the name is in `_UNNAMED`."""
    if isinstance(data, dict):
        for field, value in data.items():
            if field not in _SKIPPED and (name, field) not in _SKIPPED_WITHIN:
                yield from _lines_of(value, field)
    elif isinstance(data, list | tuple):
        for item in data:
            yield from _lines_of(item, name)
    elif isinstance(data, str) and data.strip():
        yield data if name in _UNNAMED else f"{name.replace('_', ' ')}: {data}"


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
