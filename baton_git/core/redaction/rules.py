r"""The shapes of secrets, read from two tables beside this module when a first text is searched.

`shapes.txt` has rows `kind | signs | expression`. A text is searched for a row only if it holds one of the row's signs
(small letters, separated by spaces). The secret is the group `secret`, or all that matches. `\<` stands for a place
where a token can begin. A kind that ends in `!` also needs a digit and a letter in the secret, because words can look
like it. `commands.txt` has rows `kind | commands | expression`: options whose value is a password, after one of the
commands; `docker+login` are two words that must both stand before it.

Expressions must take linear time: what repeats without a bound is the last thing that has to match, or begins with
characters that it cannot contain. Where a provider's secrets have no shape, the names that they are assigned to are
looked for (`assigned`).
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
"""Characters before an option in which its command is looked for."""


class SecretRule(NamedTuple):
    """What one row says.

    Attributes:
        group: where in a match the secret is.
        is_random: whether the secret must hold a digit and a letter.
        commands: all words of one of these must stand before it on the command line; empty when it needs none.
    """

    kind: str
    pattern: re.Pattern[str]
    group: int | str
    is_random: bool = False
    commands: tuple[frozenset[str], ...] = ()

    def accepts(self, match: re.Match[str], lines: CommandLines) -> bool:
        """Whether a match stands where a secret stands, and looks like one."""
        if self.is_random and not has_digit_and_letter(match[self.group]):
            return False
        return not self.commands or lines.have(self.commands, match.start())


class CommandLines:
    """Which commands stand where in a text; the places of each are looked up once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._places: dict[str, list[int]] = {}

    def have(self, commands: tuple[frozenset[str], ...], at: int) -> bool:
        """Whether all words of one of the commands stand before a place, on its command line."""
        begin = self._find_begin(at)
        return any(all(self._stands(word, begin, at) for word in words) for words in commands)

    def _find_begin(self, at: int) -> int:
        """Where the command line begins that a place is in: a line can be continued after a backslash."""
        text, first = self._text, max(0, at - _MOST_OF_A_LINE)
        begin = max(
            first, text.rfind(";", first, at) + 1, text.rfind("|", first, at) + 1, text.rfind("&", first, at) + 1
        )
        newline = text.rfind("\n", begin, at)
        while newline > 0 and text[newline - 1] == "\\":
            newline = text.rfind("\n", begin, newline)
        return max(begin, newline + 1)

    def _stands(self, word: str, begin: int, at: int) -> bool:
        if word not in self._places:
            matches = re.finditer(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])", self._text)
            self._places[word] = [match.start() for match in matches]
        places = self._places[word]
        number = bisect_left(places, begin)
        return number < len(places) and places[number] < at


Row = tuple[str, str, str]
"""Kind, commands and expression."""


def find_rows(folded: str) -> Iterable[Row]:
    """The rows of which a text, case-folded, holds a sign; in the order of the tables."""
    shapes, commands = list_rows()
    rows = [row for sign, row in shapes if sign in folded]
    if " -" in folded:  # where there is no option there is no command line
        rows += [row for sign, row in commands if sign in folded]
    return dict.fromkeys(rows)


@cache
def list_rows() -> tuple[list[tuple[str, Row]], list[tuple[str, Row]]]:
    """The two tables as pairs of a sign and a row; a row with several signs has several pairs."""
    shapes = [(sign, (kind, "", pattern)) for kind, signs, pattern in _read("shapes.txt") for sign in signs.split()]
    commands = [
        (words.partition("+")[0], (kind, all_of_it, pattern))
        for kind, all_of_it, pattern in _read("commands.txt")
        for words in all_of_it.split()
    ]
    return shapes, commands


def _read(name: str) -> list[list[str]]:
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return [line.split(" | ", 2) for line in lines if line and not line.startswith("#")]


@cache
def compile_rule(row: Row) -> SecretRule:
    """The rule of a row, compiled when a text first shows one of its signs."""
    kind, commands, expression = row
    pattern = re.compile(expression.replace(r"\<", _BEGIN))
    group = "secret" if "secret" in pattern.groupindex else 0
    words = tuple(frozenset(words.split("+")) for words in commands.split())
    return SecretRule(kind.rstrip("!"), pattern, group, kind.endswith("!"), words)
