"""Find the secrets of a text by all rules, in linear time.

Each rule has signs: plain strings, of which every match of the rule contains at least one. Ids, timestamps, words and
most sentences contain no sign, so they take a few microseconds, and no expression is compiled for them.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from baton_git.core.redaction import assigned
from baton_git.core.redaction.assigned import has_digit_and_letter, is_placeholder, lazy_regex

_BEGIN = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))"
_MOST_OF_A_LINE = 240
"""Maximum number of characters before an option that are searched for its command."""


class SecretRule(NamedTuple):
    """One row of a table.

    Attributes:
        group: the group of a match that is the secret.
        is_random: whether the secret must contain a digit and a letter.
        commands: alternative sets of words; all words of one set must precede the match on its command line. Empty for
            rules without commands.
    """

    kind: str
    pattern: re.Pattern[str]
    group: int | str
    is_random: bool = False
    commands: tuple[frozenset[str], ...] = ()

    def accepts(self, match: re.Match[str], lines: CommandLines) -> bool:
        """Whether a match is a secret: it has a digit and a letter, and follows a command, if the rule requires it."""
        if self.is_random and not has_digit_and_letter(match[self.group]):
            return False
        return not self.commands or lines.have(self.commands, match.start())


class CommandLines:
    """The positions of commands in a text; each command is searched for once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._positions: dict[str, list[int]] = {}

    def have(self, commands: tuple[frozenset[str], ...], at: int) -> bool:
        """Whether all words of one of the commands precede a position on its command line."""
        begin = self._find_begin(at)
        return any(all(self._is_between(word, begin, at) for word in words) for words in commands)

    def _find_begin(self, at: int) -> int:
        """Return the start of the command line at a position; a backslash at the end of a line continues it."""
        text, first = self._text, max(0, at - _MOST_OF_A_LINE)
        begin = max(
            first, text.rfind(";", first, at) + 1, text.rfind("|", first, at) + 1, text.rfind("&", first, at) + 1
        )
        newline = text.rfind("\n", begin, at)
        while newline > 0 and text[newline - 1] == "\\":
            newline = text.rfind("\n", begin, newline)
        return max(begin, newline + 1)

    def _is_between(self, word: str, begin: int, at: int) -> bool:
        if word not in self._positions:
            matches = re.finditer(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])", self._text)
            self._positions[word] = [match.start() for match in matches]
        positions = self._positions[word]
        number = bisect_left(positions, begin)
        return number < len(positions) and positions[number] < at


Row = tuple[str, str, str]
"""Kind, commands and expression."""


def find_rows(folded: str) -> Iterable[Row]:
    """Return the rows with a sign in the case-folded text, in the order of the tables."""
    shapes, commands = _index_rows()
    starts = {folded[at : at + _START] for at in range(len(folded) - _START + 1)}
    rows = _select(shapes, starts, folded)
    if " -" in folded:  # all rows of commands match options, which begin with a dash
        rows += _select(commands, starts, folded)
    return dict.fromkeys(rows)


_START = 3
_Index = dict[str, list[tuple[int, str, "Row"]]]


def _select(index: _Index, starts: set[str], folded: str) -> list[Row]:
    """Return the rows of a table that have a sign in the text, in the order of the table."""
    starts = starts & index.keys() | {""}  # signs that are shorter than a start are at ""
    found = [entry for start in starts for entry in index.get(start, ()) if entry[1] in folded]
    return [row for _, _, row in sorted(found)]


@cache
def _index_rows() -> tuple[_Index, ...]:
    """Return both tables by the first letters of the signs; an entry is the number in the table, the sign and the row.

    Searching a text of 100 kB for each of the 750 signs takes four times as long as collecting its groups of three.
    """
    indexes = []
    for table in list_rows():
        index: _Index = {}
        for number, (sign, row) in enumerate(table):
            index.setdefault(sign[:_START] if len(sign) >= _START else "", []).append((number, sign, row))
        indexes.append(index)
    return tuple(indexes)


@cache
def list_rows() -> tuple[list[tuple[str, Row]], list[tuple[str, Row]]]:
    """Return the two tables as pairs of a sign and a row; a row with several signs has several pairs."""
    shapes = [(sign, (kind, "", pattern)) for kind, signs, pattern in _read("shapes.txt") for sign in signs.split()]
    commands = [
        (words.partition("+")[0], (kind, column, pattern))
        for kind, column, pattern in _read("commands.txt")
        for words in column.split()
    ]
    return shapes, commands


def _read(name: str) -> list[list[str]]:
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return [line.split(" | ", 2) for line in lines if line and not line.startswith("#")]


@cache
def compile_rule(row: Row) -> SecretRule:
    """Compile the rule of a row; called when a text first contains one of its signs."""
    kind, commands, expression = row
    pattern = re.compile(expression.replace(r"\<", _BEGIN))
    group = "secret" if "secret" in pattern.groupindex else 0
    words = tuple(frozenset(words.split("+")) for words in commands.split())
    return SecretRule(kind.rstrip("!"), pattern, group, kind.endswith("!"), words)


# --- blocks of private keys: PEM (RFC 7468), OpenSSH, PGP and PuTTY, complete or cut off at either end
#
# Lines may end in a newline, or in the two characters `\n` if the string contains JSON.

KIND = "private key"
SIGNS = ("private key", "putty-user-key-file")
"""A text that contains none of these, in any letter case, contains no block."""

_LABEL = (
    r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"  # four in the format of ssh.com (RFC 4716 has only public keys)
)
_MOST_OF_A_BLOCK = 64 << 10
"""Maximum number of characters searched before an END line without a BEGIN line."""


def find_blocks(text: str, *, is_list: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each block, in order.

    Args:
        text: the text to search.
        is_list: whether the lines of the text are the items of a list. A block without an END line then ends with the
            last line that looks like part of a key, instead of the end of the text.
    """
    done = 0
    for begin in lazy_regex(
        rf"-{{4,5}} ?BEGIN {_LABEL}|PuTTY-User-Key-File-[23]|(?P<end>-{{4,5}} ?END {_LABEL})"
    ).finditer(text):
        if begin.start() < done:
            continue
        if begin["end"]:
            start, done = _find_start(text, done, begin.start()), begin.end()
        else:
            start, done = begin.start(), _find_end(text, begin, is_list)
        if start is not None:
            yield start, done


def _find_end(text: str, begin: re.Match[str], is_list: bool) -> int:
    is_putty = begin[0].startswith("PuTTY")
    end = lazy_regex(r"Private-MAC: {0,4}[0-9a-f]+" if is_putty else rf"-{{4,5}} ?END {_LABEL}").search(
        text, begin.end()
    )
    next_begin = lazy_regex(rf"-{{4,5}} ?BEGIN {_LABEL}").search(text, begin.end())
    if end and (next_begin is None or end.start() < next_begin.start()):
        return end.end()
    if not is_list:
        return len(text)
    lines = lazy_regex(r"(?:\s+(?:[A-Za-z0-9+/=]{16,}|[\w-]+: [^\n]{0,200})(?=\s|\Z))*").match(text, begin.end())
    return lines.end() if lines else begin.end()


def _find_start(text: str, done: int, end: int) -> int | None:
    """Return the start of the lines of a key before an END line, or None if there are none.

    All lines of a key except the last have at least 16 characters.
    """
    first = max(done, end - _MOST_OF_A_BLOCK)
    start = None
    tokens = [match.span() for match in lazy_regex(r"(?:(?!\\[nr])\S)+").finditer(text, first, end)]
    for number, (at, to) in enumerate(reversed(tokens)):
        if not lazy_regex(r"[A-Za-z0-9+/=]+").fullmatch(text, at, to) or (number and to - at < 16):
            break
        start = at
    return start


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
    if any(sign in folded for sign in SIGNS):
        spans += [Span(start, end, KIND) for start, end in find_blocks(text)]
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
