"""Possessive groups in regular expressions, which older versions of Python match wrongly.

Before Python 3.11.5, a possessive quantifier of a group, such as `(?:a+b)*+`, can match too much if the part in the
group can backtrack (CPython issue 106052). Debian 12 has 3.11.2. Possessive quantifiers of single
characters are correct.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from baton_git.namespace.provenance.commit_view import ENTRY

pytestmark = pytest.mark.lint

PACKAGE = Path(__file__).parents[2] / "baton_git"
POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+|\(\?>")
WITHOUT_BACKTRACKING = re.compile(r"\(\?:\\\\\.\[\^(?:[^\]\\]|\\.)+\]\*\+\)\*\+")
"""`(?:\\.[^…]*+)*+`: each part takes one character, and then all that it can; both are possible in one way only."""


def list_patterns() -> Iterator[tuple[str, str]]:
    """Yield the string constants of the package, each with the place where it stands."""
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
                text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
                yield f"{file.relative_to(PACKAGE)}:{node.lineno}", text
    for file in sorted(PACKAGE.rglob("redaction/*.txt")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            yield f"{file.name}:{number}", line


def test_no_possessive_group_can_backtrack() -> None:
    patterns = list(list_patterns())
    assert len(patterns) > 5000
    places = [place for place, text in patterns if POSSESSIVE_GROUP.search(WITHOUT_BACKTRACKING.sub("", text))]
    assert places == []


def test_the_common_entries_of_two_trees_end_where_an_entry_ends() -> None:
    entries = [b"100644 %d.toml\0" % number + bytes([number]) * 20 for number in range(5)]
    whole = b"".join(entries)
    for cut in range(len(whole) + 1):
        match = ENTRY[40].run.match(whole, 0, cut)
        assert match is not None
        assert match.end() == cut // len(entries[0]) * len(entries[0])
