"""Find questions, next steps and decisions in a text, by wording alone."""

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


# --- sentences that probably state a decision; because some do not, the results are marked as heuristic

DECISION_LENGTH = 500
"""Maximum length of a decision in characters."""

_SENTENCE = re.compile(
    r"^[ \t>*_#-]*((?:Decision:|(?:I|We)(?:'ve| have)? (?:decided|chose)\b|We(?:'ll| will) (?:use|go with)\b"
    r"|Let's go with\b|Instead of\b).*)$",
    re.MULTILINE,
)
_START = re.compile(r"(?<=[.!?]) +(?=(?:Decision:|I |We |We'|Let's |Instead ))")
_ANY = ("Decision:", "decided", "chose", "We'll ", "We will ", "Let's go with", "Instead of")
"""Every text with such a sentence contains one of these. Most texts contain none, so this fast test comes first."""
_DECISIONS = re.compile(r"^#{1,6} .*\bdecisions?\b.*$", re.MULTILINE | re.IGNORECASE)
_LIST_ITEM = re.compile(r"^[ \t]*(?:[-*]|\d+\.)[ \t]+(.+)$", re.MULTILINE)


def find_by_wording(text: str) -> list[str]:
    """Return the sentences of a reply that begin like a decision ("We decided …")."""
    if not any(word in text for word in _ANY):
        return []
    lines = _START.sub("\n", text)
    return [_shorten(_first_sentence(match[1])) for match in _SENTENCE.finditer(lines)]


def find_in_summary(text: str) -> list[str]:
    """Return the list items below the heading of a compaction summary that contains the word "decision"."""
    match = _DECISIONS.search(text)
    if not match:
        return []
    rest = text[match.end() :]
    end = re.search(r"^#{1,6} ", rest, re.MULTILINE)
    return [_shorten(item) for item in _LIST_ITEM.findall(rest[: end.start()] if end else rest)]


def read_plan_title(text: str) -> str:
    """Return the title of a plan: its first line with text; `a plan` if it has none."""
    lines = (line.strip().lstrip("#").strip() for line in text.splitlines())
    return _shorten(next((line for line in lines if line), "a plan"))


def _first_sentence(text: str) -> str:
    head, sep, _ = text.partition(". ")
    # In `Decision: we use X. Y follows.` the first sentence is the decision.
    return head + sep.strip() if sep else text


def _shorten(text: str) -> str:
    flat = " ".join(text.replace("**", "").split())
    return flat if len(flat) <= DECISION_LENGTH else flat[: DECISION_LENGTH - 1] + "…"
