"""Find sentences that probably state a decision. Because some do not, the results are marked as heuristic."""

from __future__ import annotations

import re

MAX_LENGTH = 500
"""Maximum length of a decision in characters."""

_SENTENCE = re.compile(
    r"^[ \t>*_#-]*((?:Decision:|(?:I|We)(?:'ve| have)? (?:decided|chose)\b|We(?:'ll| will) (?:use|go with)\b"
    r"|Let's go with\b|Instead of\b).*)$",
    re.MULTILINE,
)
_START = re.compile(r"(?<=[.!?]) +(?=(?:Decision:|I |We |We'|Let's |Instead ))")
_ANY = ("Decision:", "decided", "chose", "We'll ", "We will ", "Let's go with", "Instead of")
"""Every text with such a sentence contains one of these. Most texts contain none, so this fast test comes first."""
_HEADING = re.compile(r"^#{1,6} .*\bdecisions?\b.*$", re.MULTILINE | re.IGNORECASE)
_ITEM = re.compile(r"^[ \t]*(?:[-*]|\d+\.)[ \t]+(.+)$", re.MULTILINE)


def find_by_wording(text: str) -> list[str]:
    """Return the sentences of a reply that begin like a decision ("We decided …")."""
    if not any(word in text for word in _ANY):
        return []
    lines = _START.sub("\n", text)
    return [_clean(_first_sentence(match[1])) for match in _SENTENCE.finditer(lines)]


def find_in_summary(text: str) -> list[str]:
    """Return the list items below the heading of a compaction summary that contains the word "decision"."""
    match = _HEADING.search(text)
    if not match:
        return []
    rest = text[match.end() :]
    end = re.search(r"^#{1,6} ", rest, re.MULTILINE)
    return [_clean(item) for item in _ITEM.findall(rest[: end.start()] if end else rest)]


def read_plan_title(text: str) -> str:
    """Return the title of a plan: its first line with text; `a plan` if it has none."""
    lines = (line.strip().lstrip("#").strip() for line in text.splitlines())
    return _clean(next((line for line in lines if line), "a plan"))


def _first_sentence(text: str) -> str:
    head, sep, _ = text.partition(". ")
    # In `Decision: we use X. Y follows.` the first sentence is the decision.
    return head + sep.strip() if sep else text


def _clean(text: str) -> str:
    flat = " ".join(text.replace("**", "").split())
    return flat if len(flat) <= MAX_LENGTH else flat[: MAX_LENGTH - 1] + "…"
