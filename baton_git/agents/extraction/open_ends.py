"""Find the open questions and next steps of an answer, by wording alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_QUESTIONS, MAX_STEPS = 5, 10
LENGTH = 300
"""Maximum length of a question or step in characters."""

_FENCE = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+|\n+")
_MARKUP = re.compile(r"^[\s>#*_-]*(?:\d+[.)]\s+)?[*_]*")
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d+[.)]|\[[ ]\])\s+(?:\[[ ]\]\s+)?(.+)$")
_HEADING = re.compile(
    r"^\W*(?:(?:suggested|recommended|possible|remaining|what's|what is|still|your|the|my|our)\s+)*"
    r"(?:next steps?|next up|next|remaining(?: work| tasks| items| steps)?|to-?dos?|left(?: to do| open)?|outstanding"
    r"|open (?:items|points|questions|issues)|follow-?ups?|not (?:yet )?done|still (?:open|to do|missing)|pending)\b"
    r"(?:\s*\([^)]*\))?(?:[^.!?:]{0,40}:)?\W*$",
    re.IGNORECASE,
)


def find_questions(text: str) -> list[str]:
    """Return the last `MAX_QUESTIONS` questions outside code blocks, in order."""
    if "?" not in text:
        return []
    sentences = (_clean(sentence) for sentence in _SENTENCE_END.split(_FENCE.sub("\n", text)))
    questions = [sentence for sentence in sentences if sentence.endswith("?") and len(sentence) > len("Why?")]
    return list(dict.fromkeys(questions))[-MAX_QUESTIONS:]


def find_next_steps(text: str) -> list[str]:
    """Return the first `MAX_STEPS` list items below headings such as "Next steps", "Remaining" or "TODO"."""
    steps = (_clean(item) for item in _list_items_below_headings(_FENCE.sub("\n", text).splitlines()))
    return list(dict.fromkeys(step for step in steps if step))[:MAX_STEPS]


def _list_items_below_headings(lines: list[str]) -> Iterator[str]:
    is_below = False
    for line in lines:
        item = _ITEM.match(line)
        if item and is_below:
            if not line[:1].isspace():
                yield item[1]
        elif line.strip() and not line[:1].isspace():
            is_below = _HEADING.match(line) is not None


def _clean(text: str) -> str:
    flat = " ".join(_MARKUP.sub("", text).replace("**", "").replace("__", "").split())
    return flat if len(flat) <= LENGTH else flat[: LENGTH - 1] + "…"
