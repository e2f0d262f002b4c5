r"""The formats of secrets, read from two tables next to this module on first use.

`shapes.txt` has rows `kind | signs | expression`. A text is searched for a row only if it contains one of the row's
signs (case-folded, separated by spaces). The secret is the group `secret`, or else the whole match. `\<` matches a
position where a token can begin. If a kind ends in `!`, the secret must contain a digit and a letter, to exclude words.
`commands.txt` has rows `kind | commands | expression`: options whose value is a password if one of the commands
precedes them on the command line. `docker+login` means that both words must precede the option.

Expressions must take linear time: an unbounded repetition must be the last part of the expression, or follow something
that it cannot match itself: a character, or the start of a token. Secrets without a format of their own are found by
the names that they are assigned to (`assigned`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from baton_git.core.redaction.values import has_digit_and_letter

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
