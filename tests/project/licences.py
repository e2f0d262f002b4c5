"""The licences of baton's dependencies, from the metadata of the installed packages.

Run by hand to update docs/licences.md, with all extras installed: `python tests/project/licences.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from email.message import Message
from importlib.metadata import distribution, metadata
from pathlib import Path
from typing import cast

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = Path(__file__).parents[2] / "docs" / "licences.md"
SHIPPED = ("", "http", "mcp")
"""The extras that users of baton install; the empty text is baton without extras."""
TOOLS = ("test", "lint", "docs", "release", "dev")
"""The extras that only developers of baton install."""

PERMISSIVE = {"0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "PSF-2.0"}
FILE_COPYLEFT = {"MPL-2.0"}
"""Licences whose conditions apply only to the package's own files: allowed for tools, but not for what baton needs."""

_SPDX = {
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def find_licences(extras: Iterable[str]) -> dict[str, str]:
    """Return, by name, the licence of each direct or indirect dependency of baton with these extras.

    Raises:
        PackageNotFoundError: one of them is not installed.
    """
    names = {name for name, _ in _walk("baton-git", frozenset(extras), set())} - {"baton-git"}
    return {name: read_licence(name) for name in sorted(names)}


def _walk(name: str, extras: frozenset[str], seen: set[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield each package that the requirements lead to, with each of its extras."""
    for extra in extras | {""}:
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        yield name, extra
        for text in distribution(name).requires or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                yield from _walk(canonicalize_name(needed.name), frozenset(needed.extras), seen)


def read_licence(name: str) -> str:
    """Return the licence of an installed package as an SPDX expression, or else as the package states it."""
    found = cast(Message, metadata(name))  # it is a Message, but only a protocol is declared
    if expression := found.get("License-Expression"):
        return expression
    text = found.get("License", "").partition("\n")[0]
    classifiers = [line.rpartition(" :: ")[2] for line in found.get_all("Classifier", []) if "License ::" in line]
    words = [text] if is_granted(_SPDX.get(text, text), PERMISSIVE | FILE_COPYLEFT) else classifiers or [text]
    return " OR ".join(_SPDX.get(word, word) for word in words)


def is_granted(licence: str, allowed: set[str]) -> bool:
    """Return whether an SPDX expression lets us choose licences that are all allowed."""
    choices = [choice.split(" AND ") for choice in licence.split(" OR ")]
    return any(all(part.strip(" ()") in allowed for part in choice) for choice in choices)


def find_direct_dependencies() -> set[str]:
    """Return the packages that baton and its extras require directly."""
    return {canonicalize_name(Requirement(text).name) for text in distribution("baton-git").requires or ()}


def write_page() -> None:
    rows: dict[str, str] = {}
    for extra in (*SHIPPED, *TOOLS):
        group = f"`{extra}`" if extra else "baton itself"
        for name, licence in find_licences([extra]).items():
            rows.setdefault(name, f"| {name} | {licence} | {group} |")
    head, line, _ = PAGE.read_text().partition("| package | licence | needed first by |\n|---|---|---|\n")
    PAGE.write_text(head + line + "\n".join(rows[name] for name in rows) + "\n")


if __name__ == "__main__":
    write_page()
