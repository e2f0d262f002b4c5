"""Names of the package: no module under a word that docs/glossary.md bans, and no two public classes of one name."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import baton_git

SOURCE = Path(baton_git.__file__).parent
GLOSSARY = Path(__file__).parent.parent / "docs/glossary.md"


def read_banned_names() -> set[str]:
    """Return the words in the first column of the glossary's last table."""
    _, _, section = GLOSSARY.read_text(encoding="utf-8").partition("\n## Names that are not used\n")
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    return {word for row in rows for word in re.findall(r"`(\w+)`", row[1])}


def find_banned_paths(paths: list[str], banned: set[str]) -> set[str]:
    """Return the paths in which a folder or the module has a banned name."""
    return {path for path in paths if banned & set(path.removesuffix(".py").split("/"))}


def find_public_classes(source: str) -> list[str]:
    """Return the names of a module's public classes, nested ones included."""
    return re.findall(r"^\s*class ([A-Za-z]\w*)[(:]", source, re.MULTILINE)


def find_repeated_classes(sources: list[str]) -> set[str]:
    counts = Counter(name for source in sources for name in find_public_classes(source))
    return {name for name, count in counts.items() if count > 1}


# --- the package


def test_no_module_or_folder_has_a_banned_name() -> None:
    paths = [str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py")]
    assert len(paths) > 200
    assert find_banned_paths(paths, read_banned_names()) == set()


def test_public_class_names_are_unique_in_the_package() -> None:
    repeated = find_repeated_classes([path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")])
    assert sorted(repeated) == []


# --- the checks


def test_the_glossary_has_banned_names() -> None:
    assert {"desk", "diary", "session_deeds"} <= read_banned_names()
    assert len(read_banned_names()) > 40
    assert "interfaces" not in read_banned_names()


@pytest.mark.parametrize("path", ["core/desk.py", "desk/__init__.py", "interfaces/desk/app.py"])
def test_a_banned_name_is_found_in_every_part_of_a_path(path: str) -> None:
    assert find_banned_paths([path, "core/desktop.py"], {"desk"}) == {path}


def test_repeated_classes_are_found_wherever_they_are_defined() -> None:
    sources = ["class A: ...\nclass B: ...\nclass _C: ...", "def f():\n    class A: ...\nclass _C: ..."]
    assert find_repeated_classes(sources) == {"A"}
