"""Find the secrets of a text by all rules, in linear time.

Each rule has signs: plain strings, of which every match of the rule contains at least one. Ids, timestamps, words and
most sentences contain no sign, so they take a few microseconds, and no expression is compiled for them.
"""

from __future__ import annotations

import string
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from baton_git.core.redaction import assigned, private_keys
from baton_git.core.redaction.rules import CommandLines, SecretRule, compile_rule, find_rows
from baton_git.core.redaction.values import is_placeholder, lazy_regex

_INVISIBLE = (
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Characters without a width of their own (Unicode's Default_Ignorable_Code_Point). Web pages and chats put them into
long words, so a token that was copied from there would not be recognised."""


class Span(NamedTuple):
    """A secret in a text, at the half-open range from `start` to `end`."""

    start: int
    end: int
    kind: str


def find_spans(text: str) -> list[Span]:
    """Return the secrets of a text, in order and without overlaps. An invisible character does not hide a secret."""
    if text.isascii() or lazy_regex(_INVISIBLE).search(text) is None:
        return _find_spans(text)
    pieces = [match.span() for match in lazy_regex(f"[^{_INVISIBLE[1:]}+").finditer(text)]
    starts = list(accumulate((end - start for start, end in pieces), initial=0))

    def locate(at: int) -> int:
        """Return the position in `text` of a visible character."""
        number = bisect_right(starts, at) - 1
        return pieces[number][0] + at - starts[number]

    visible = _find_spans("".join(text[start:end] for start, end in pieces))
    return [Span(locate(span.start), locate(span.end - 1) + 1, span.kind) for span in visible]


def _find_spans(text: str) -> list[Span]:
    folded = text.casefold()  # not lower(): IGNORECASE matches `ſ` with s
    spans: list[Span] = []
    if any(sign in folded for sign in private_keys.SIGNS):
        spans += [Span(start, end, private_keys.KIND) for start, end in private_keys.find_blocks(text)]
    lines = CommandLines(text)
    spans += [span for row in find_rows(folded) for span in _find(compile_rule(row), text, lines)]
    spans += [Span(start, end, assigned.KIND) for start, end in assigned.find_assigned(text, folded)]
    return _merge(_outside_marks(text, spans)) if spans else []


def _find(rule: SecretRule, text: str, lines: CommandLines) -> Iterator[Span]:
    """Yield the secrets that a rule matches. The search continues after each token, so it takes linear time."""
    at = 0
    while match := rule.pattern.search(text, at):
        at = max(match.end(), at + 1)
        start, end = match.span(rule.group)
        if start < end and rule.accepts(match, lines) and not is_placeholder(text[start:end]):
            start, end = _trim(text, start, end)
            at = max(at, end)
            yield Span(start, end, rule.kind)


_TOKEN_SIGNS = frozenset(string.ascii_letters + string.digits + "_-")


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range without surrounding delimiters, extended to the end of its token."""
    while start < end and text[start] in " \t\r\n=:\"'":
        start += 1
    while start < end and text[end - 1] in " \t\r\n\"'":
        end -= 1
    if start < end and text[end - 1] in _TOKEN_SIGNS:
        rest = lazy_regex(r"[A-Za-z0-9_-]*").match(text, end)
        end = rest.end() if rest else end
    return start, end


def _outside_marks(text: str, spans: list[Span]) -> list[Span]:
    """Return the spans that are not inside the `[redacted: …]` of an earlier redaction."""
    marks = [mark.span() for mark in lazy_regex(r"\[redacted: [a-z0-9 ]{1,60}\]").finditer(text)]
    starts = [start for start, _ in marks]

    def is_inside(at: int) -> bool:
        number = bisect_right(starts, at) - 1
        return number >= 0 and at < marks[number][1]

    return [span for span in spans if not is_inside(span.start) or not is_inside(span.end - 1)] if marks else spans


def _merge(spans: list[Span]) -> list[Span]:
    """Merge overlapping spans; the kind is that of the span that starts first, or of the first rule in a tie."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: span.start):
        if merged and span.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(span.end, merged[-1].end))
        else:
            merged.append(span)
    return merged
