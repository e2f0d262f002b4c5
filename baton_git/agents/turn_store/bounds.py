"""Limit the size of a session's turns. Long texts keep their beginning and end; middle turns are shortened first."""

from __future__ import annotations

import json
from collections.abc import Iterable

from baton_git.agents.turn_store.turn import Turn

MAX_BYTES = 64 * 1024
"""Maximum size in bytes of all turns of a session, as `encode_turn` writes them."""
MAX_TEXT = 8 * 1024
"""Maximum size in bytes of one prompt, and of one answer."""

_STEPS = (2048, 768, 256, 80)
"""Sizes in bytes to which the texts of turns are shortened, step by step, until all turns fit."""
_KEPT_FIRST, _KEPT_LAST = 1, 3
"""Numbers of first and of last turns that are shortened only if it was not enough to shorten those between them."""
_CUT = " […] "
_WORD = 64
"""Maximum length of the rest of a cut word that may be the end of a path; it is left out."""


def bound_turns(turns: Iterable[Turn], limit: int = MAX_BYTES) -> tuple[Turn, ...]:
    """Return the turns shortened to `limit` bytes in total: first the middle ones, starting with the oldest.

    If the turns are too long even in their shortest form, the oldest ones after the first are left out; the others keep
    their numbers. The result may be bounded again together with newer turns, so a session can be read in pieces.
    """
    bounded = [_shorten(turn, MAX_TEXT) for turn in turns]
    sizes = [len(encode_turn(turn)) for turn in bounded]
    total = sum(sizes)
    middle = range(_KEPT_FIRST, max(_KEPT_FIRST, len(bounded) - _KEPT_LAST))
    for numbers in (middle, range(len(bounded))):
        for most in _STEPS:
            for number in numbers:
                if total <= limit:
                    return tuple(bounded)
                bounded[number] = _shorten(bounded[number], most)
                total += len(encode_turn(bounded[number])) - sizes[number]
                sizes[number] = len(encode_turn(bounded[number]))
    return _drop_oldest(bounded, sizes, limit)


def keep_ends(text: str, most: int) -> str:
    """Return the text, or its beginning and end with a mark between them, in at most `most` bytes.

    A path is not cut in two: half of one would no longer be recognised as a path of this machine, and shortened.
    `most` must be larger than the mark.
    """
    raw = text.encode("utf-8", "replace")
    if len(raw) <= most:
        return text
    room = most - len(_CUT.encode())
    head, tail = raw[: room - room // 3], raw[len(raw) - room // 3 :]
    shown_head, shown_tail = head.decode("utf-8", "ignore"), tail.decode("utf-8", "ignore")
    following, preceding = raw[len(head) : len(head) + 1], raw[-len(tail) - 1 : -len(tail) or None]
    if not following.isspace() and _is_path(last := _find_word(shown_head, at_end=True)):
        shown_head = shown_head[: -len(last)]
    first = _find_word(shown_tail, at_end=False)
    if not preceding.isspace() and (_is_path(first) or len(first) <= _WORD):
        shown_tail = shown_tail[len(first) :]
    return shown_head.rstrip() + _CUT + shown_tail.lstrip()


def _find_word(text: str, *, at_end: bool) -> str:
    """Return the last or first characters of a text up to white space; empty if white space is there."""
    if not text or text[-1 if at_end else 0].isspace():
        return ""
    return text.rsplit(maxsplit=1)[-1] if at_end else text.split(maxsplit=1)[0]


def _is_path(word: str) -> bool:
    return "/" in word or "\\" in word


def encode_turn(turn: Turn) -> bytes:
    """Return the turn as one line of JSON, as it is stored."""
    return json.dumps(turn._asdict(), ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _shorten(turn: Turn, most: int) -> Turn:
    return turn._replace(prompt=keep_ends(turn.prompt, most), answer=keep_ends(turn.answer, most))


def _drop_oldest(turns: list[Turn], sizes: list[int], limit: int) -> tuple[Turn, ...]:
    """Return the first turn and as many of the last ones as fit."""
    total, kept = sizes[0] if sizes else 0, len(turns)
    while kept > 1 and total + sizes[kept - 1] <= limit:
        kept -= 1
        total += sizes[kept]
    return tuple(turns[:1] + turns[max(1, kept) :])
