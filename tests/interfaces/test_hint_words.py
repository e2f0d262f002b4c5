"""Hints name commands and options; every other interface says them in its own words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import baton_git
from baton_git.interfaces.context.hint_words import say_for_http, say_for_mcp, say_for_page

HINTS = {
    "existing: a; to create it: baton init --namespace zzz": (
        "existing: a; to create it: POST /v1/namespaces?namespace=zzz",
        "existing: a; to create it: baton init --namespace zzz (in a terminal)",
    ),
    "baton init creates it": ("POST /v1/namespaces creates it", "baton init (in a terminal) creates it"),
    "to list the decisions: baton list decisions": (
        "to list the decisions: GET /v1/records?kind=decisions",
        "to list the decisions: baton list decisions (in a terminal)",
    ),
    "it is in the archive: baton show OL-7k3f9q": (
        "it is in the archive: GET /v1/records/{kind}/OL-7k3f9q",
        "it is in the archive: baton show OL-7k3f9q (in a terminal)",
    ),
    "baton resolve CF-1": ("POST /v1/conflicts/CF-1/resolve", "resolve with id CF-1"),
    "to list the operations: baton log --ops": (
        "to list the operations: GET /v1/log?ops=true", "to list the operations: log with ops true",
    ),
    "a person accepts it on the page, or in a terminal: baton review --accept 3": (None, None),
    "in a terminal: baton pattern graduate PAT-1; or on the page of baton serve": (
        "in a terminal: baton pattern graduate PAT-1; or on the page of baton serve",
        "in a terminal: baton pattern graduate PAT-1; or on the page of baton serve",
    ),
    "baton sync --settle ours replaces it; --settle merge joins": (
        "baton sync --settle ours (in a terminal) replaces it; --settle merge joins",
        "baton sync --settle ours (in a terminal) replaces it; --settle merge joins",
    ),
    "try: git config --list": ("try: git config --list", "try: git config --list"),
    "is not known (baton sync asks); run baton sync again": (
        "is not known (POST /v1/sync asks); run POST /v1/sync again", "is not known (sync asks); run sync again"
    ),
    "remove it; baton creates a new one": (None, None),
    "baton handoff extract latest --keep makes one": (
        "baton handoff extract latest --keep (in a terminal) makes one",
        "handoff_extract with transcript latest, keep true makes one",
    ),
    "baton review --reject 3": ("baton review --reject 3 (in a terminal)", "baton review --reject 3 (in a terminal)"),
    "its last state: baton handover show --session Run; a new run": (
        "its last state: GET /v1/handovers/Run; a new run",
        "its last state: baton handover show --session Run (in a terminal); a new run",
    ),
    "overwrite it with --force": ("overwrite it with force", "overwrite it with force"),
    "name a file": (None, None),
}  # fmt: skip


@pytest.mark.parametrize("hint", HINTS)
def test_a_hint_names_routes_over_http_and_tools_over_mcp(hint):
    http, mcp = HINTS[hint]
    if http is not None:
        assert say_for_http(hint) == http
        assert say_for_mcp(hint) == mcp
    else:
        assert (say_for_mcp(hint), say_for_page(hint)) == (hint, hint)


def test_the_page_says_that_a_command_is_for_a_terminal():
    assert say_for_page("to list the records: baton list") == "to list the records: baton list (in a terminal)"


def list_hints() -> Iterator[str]:
    """Yield the literal hints in the package, with `X-1` for each value in them."""
    for path in Path(baton_git.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg == "hint":
                for part in ast.walk(node.value):
                    if isinstance(part, ast.JoinedStr):
                        values = (one.value if isinstance(one, ast.Constant) else "X-1" for one in part.values)
                        yield "".join(map(str, values))
                    elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield part.value


@pytest.mark.lint
def test_no_hint_of_the_package_names_a_command_or_an_option_elsewhere_without_saying_so():
    hints = {hint for hint in list_hints() if "baton " in hint or "--" in hint}
    assert len(hints) > 50
    prose = "asks|codex|uses|creates|process|outside|serve|read"
    for hint in hints:
        for said in (say_for_http(hint), say_for_mcp(hint), say_for_page(hint)):
            bare = [part for part in re.split(";", said) if "terminal" not in part and "machine" not in part]
            named = [part for part in bare if re.search(rf"\bbaton (?!{prose})[a-z]", part)]
            assert not named, (hint, said)


@pytest.mark.timeout(20)
def test_a_hint_that_quotes_a_name_with_many_arguments_takes_linear_time():
    """A client chooses the names of runs. With backtracking, each further argument took 11 times as long."""
    name = f"`baton show {' '.join(['111'] * 400)},"
    assert say_for_page(f"its last state: baton handover show --session {name}").count("111") == 400
