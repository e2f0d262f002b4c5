"""The documentation site: every page is in its navigation, links are rewritten, and dead ones are found.

`nox -s docs` builds the whole site; these are tests of its parts.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from site_check import find_faults
from site_pages import read_config, read_pages, rewrite_links, unescape_pipes
from site_reference import find_families, make_kinds_page, make_reference

from baton_git.core.kinds import KINDS
from baton_git.verbs.table import functions


def test_every_page_is_in_the_navigation() -> None:
    pages = {*read_pages(), *make_reference()}
    assert len(pages) > 100
    read_config(pages)
    with pytest.raises(ValueError, match=r"guide\.md: not in the navigation.*glossary\.md: no such page"):
        read_config({*pages, "guide.md"} - {"glossary.md"})


def test_the_reference_has_every_verb_and_kind() -> None:
    families = find_families()
    assert sorted(name for names in families.values() for name in names) == sorted(
        function.verb.name for function in functions().values()
    )
    table = make_kinds_page()
    assert all(f"| `{kind}` |" in table for kind in KINDS)


def test_links_are_those_of_the_site() -> None:
    names = {
        "docs/a.md": "a.md",
        "docs/b/README.md": "b/index.md",
        "X.md": "x.md",
        "formats/k/README.md": "formats/k/index.md",
    }
    text = "[1](b/README.md#c) [2](../X.md) [3](../formats/k) `[4](../X.md)` [5](https://e.org) [6](#d) ![7](p.png)"
    expected = text.replace("b/README", "b/index").replace("../X.md) [3](../formats/k", "x.md) [3](formats/k/index.md")
    assert rewrite_links(text, "docs/a.md", names) == expected
    assert rewrite_links("[1](../a.md)", "docs/b/README.md", names) == "[1](../a.md)"


def test_pipes_are_unescaped_in_the_code_of_tables_only() -> None:
    text = "a `b \\| c`\n\n| x \\| y | `str \\| None` |\n|---|---|\n"
    assert unescape_pipes(text) == "a `b \\| c`\n\n| x \\| y | `str | None` |\n|---|---|\n"


def test_dead_links_and_other_servers_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="x"><a href="#x"></a><a href="b.html#y"></a><a href="c.html"></a><a href="https://e.org"></a>'
        '<img src="p.png"><script src="https://e.org/s.js"></script>'
    )
    (tmp_path / "b.html").write_text("<p>")
    (tmp_path / "s.css").write_text('a { background: url("https://e.org/i.png") }')
    assert find_faults(tmp_path) == [
        "a.html: loads https://e.org/s.js from another server",
        "a.html: b.html#y: no such heading",
        "a.html: c.html leads nowhere",
        "a.html: p.png leads nowhere",
        "s.css: loads https://e.org/i.png from another server",
    ]
