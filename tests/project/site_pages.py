"""Gather the pages of the repository for the documentation site, with their links rewritten, and its navigation."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

TOP = Path(__file__).parents[2]
CONFIG = TOP / "docs" / "site" / "zensical.toml"

CODE = re.compile(r"^( *)```.*?^\1```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
LINK = re.compile(r"(?<=\]\()([^()\s#]+)")

TOP_PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "readme.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
    "hooks/README.md": "hooks.md",
}
"""Pages outside docs/ and formats/, by their path in the repository, with their path in the site."""

GOLDEN = {"valid", "invalid", "accepted", "merge", "recordings", "repositories"}
"""Folders of golden files, whose Markdown is no page."""

NOT_IN_NAVIGATION = {"readme.md"}
"""Pages of the site that only links lead to."""


def find_pages() -> dict[str, str]:
    """Return every page of the repository that the site has: its path there, by its path in the repository."""
    names = dict(TOP_PAGES)
    for folder in ("docs", "formats"):
        for file in sorted((TOP / folder).rglob("*.md")):
            path = file.relative_to(TOP)
            if not GOLDEN & set(path.parts):
                names[str(path)] = str(_place_page(PurePosixPath(path)))
    return names


def _place_page(path: PurePosixPath) -> PurePosixPath:
    inside = path.relative_to("docs") if path.parts[0] == "docs" else path
    return inside.with_name("index.md") if inside.name == "README.md" else inside


def rewrite_links(text: str, source: str, names: dict[str, str]) -> str:
    """Return a page with its relative links changed to those of the site.

    Args:
        text: the Markdown of the page.
        source: its path in the repository.
        names: the paths of all pages, as `find_pages` returns them.
    """
    folder = PurePosixPath(names[source]).parent

    def rewrite(match: re.Match[str]) -> str:
        target = match[1]
        if re.match(r"[a-z]+:", target):
            return target
        path = os.path.normpath(PurePosixPath(source).parent / target)
        path = f"{path}/README.md" if f"{path}/README.md" in names else path
        return os.path.relpath(names.get(path, path.removeprefix("docs/")), folder)

    return _change_prose(text, lambda prose: LINK.sub(rewrite, prose))


def _change_prose(text: str, change: Callable[[str], str]) -> str:
    """Apply a change to the text outside of code."""
    parts, end = [], 0
    for match in CODE.finditer(text):
        parts += [change(text[end : match.start()]), match[0]]
        end = match.end()
    return "".join([*parts, change(text[end:])])


def read_pages() -> dict[str, str]:
    """Return the Markdown of the repository's pages, by their path in the site."""
    names = find_pages()
    return {
        place: rewrite_links((TOP / source).read_text(encoding="utf-8"), source, names)
        for source, place in names.items()
    }


def unescape_pipes(text: str) -> str:
    """Return a page with `\\|` replaced by `|` in the code of its tables.

    GitHub needs the backslash there; the generator of the site would show it.
    """
    return ROW.sub(lambda row: CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0]), text)


def find_assets() -> dict[str, Path]:
    """Return the files that are no pages, by their path in the site: pictures, styles and JSON Schemas."""
    files = [*(TOP / "docs").glob("pictures/*.png"), *(TOP / "docs").glob("pictures/*.svg")]
    files += [TOP / "docs" / "site" / name for name in ("extra.css", "worker.js")]
    assets = {str(file.relative_to(TOP / "docs")): file for file in files}
    return assets | {str(file.relative_to(TOP)): file for file in (TOP / "formats").glob("*/schema.json")}


# --- the navigation


def read_config(pages: set[str]) -> dict[str, Any]:
    """Return the configuration of the generator, with the patterns of its navigation replaced by pages.

    Raises:
        ValueError: a page is not in the navigation, or an entry leads to no page.
    """
    config = tomllib.loads(CONFIG.read_text(encoding="utf-8"))
    named = {entry for entry in _find_entries(config["project"]["nav"]) if "*" not in entry}
    config["project"]["nav"] = _expand_entries(config["project"]["nav"], pages, named)
    listed = set(_find_entries(config["project"]["nav"]))
    faults = [f"{page}: not in the navigation" for page in sorted(pages - listed - NOT_IN_NAVIGATION)]
    faults += [f"{entry}: no such page" for entry in sorted(listed - pages)]
    if faults:
        raise ValueError(f"docs/site/zensical.toml: {'; '.join(faults)}")
    return config


def _find_entries(nav: list[Any]) -> Iterator[str]:
    for item in nav:
        for entry in item.values() if isinstance(item, dict) else [item]:
            yield from _find_entries(entry) if isinstance(entry, list) else [entry]


def _expand_entries(nav: list[Any], pages: set[str], named: set[str]) -> list[Any]:
    """Replace each pattern by the pages that fit and that no entry names."""
    expanded: list[Any] = []
    for item in nav:
        if isinstance(item, dict):
            [(title, entry)] = item.items()
            expanded.append({title: _expand_entries(entry, pages, named) if isinstance(entry, list) else entry})
        elif "*" in item:
            fitting = [page for page in sorted(pages - named) if _fits(page, item)]
            expanded += [page for page in fitting if page.count("/") == item.count("/")]
        else:
            expanded.append(item)
    return expanded


def _fits(page: str, pattern: str) -> bool:
    return PurePosixPath(page).match(pattern)
