"""The passages of records: their fields, one line each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from baton_git.agents.events import PERSON, UNKNOWN
from baton_git.core.kinds import ALL_KINDS
from baton_git.core.records.base import Archived, Part
from baton_git.core.records.lineage import Session
from baton_git.core.state import Key
from baton_git.recall.passages import DIGEST, SHARED_TURNS, Passage, join_short, split_text, split_turn

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


def split_said(key: Key, part: Part, **where: str) -> Iterator[Passage]:
    """Yield the passages of what a digest or a record of turns repeats from the turns of its session."""
    data = part.record if isinstance(part, Archived) else part.as_data()
    if key.kind == SHARED_TURNS:
        yield from join_short(_split_shared(data, where))
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


def _split_shared(data: Mapping[str, Any], where: Mapping[str, str]) -> Iterator[Passage]:
    """Yield the passages of turns that are stored in a record."""
    for turn in data["conversation"].get("turns", ()):
        time = turn.get("time") or where.get("time", "")
        origin, answer = turn.get("origin", PERSON), turn.get("answer", "")
        status = turn.get("status", UNKNOWN)
        yield from split_turn(str(turn["number"]), origin, status, turn["prompt"], answer, {**where, "time": time})
