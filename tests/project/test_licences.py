"""No dependency has a copyleft licence, and docs/licences.md is complete."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError

import pytest
from licences import (
    FILE_COPYLEFT,
    PAGE,
    PERMISSIVE,
    SHIPPED,
    TOOLS,
    find_direct_dependencies,
    find_licences,
    is_granted,
)
from looped_cases import for_each


@pytest.mark.parametrize("extra", SHIPPED)
def test_all_dependencies_have_permissive_licences(extra: str) -> None:
    licences = find_licences([extra])
    assert len(licences) > 5
    assert {name: text for name, text in licences.items() if not is_granted(text, PERMISSIVE)} == {}


@pytest.mark.parametrize("extra", TOOLS)
def test_the_licences_of_tools_apply_at_most_to_their_own_files(extra: str) -> None:
    licences = find_installed_licences(extra)
    assert {name: text for name, text in licences.items() if not is_granted(text, PERMISSIVE | FILE_COPYLEFT)} == {}


def test_the_page_names_every_package_that_baton_asks_for() -> None:
    """Indirect dependencies are not compared, because they change with every release of the direct ones."""
    page = PAGE.read_text()
    missing = {name for name in find_direct_dependencies() - {"baton-git"} if f"| {name} |" not in page}
    assert not missing, "generate docs/licences.md again: python tests/project/licences.py"


def find_installed_licences(extra: str) -> dict[str, str]:
    """Return the licences without the packages of extras that the README's command does not install."""
    try:
        return find_licences([extra])
    except PackageNotFoundError:
        assert extra in ("lint", "docs", "release", "dev")
        return {}


@for_each(
    ("licence", "granted"),
    [
        ("MIT", True),
        ("Apache-2.0 OR GPL-2.0-or-later", True),
        ("MIT AND GPL-3.0-only", False),
        ("MIT AND (BSD-3-Clause)", True),
        ("GPL-2.0-or-later", False),
        ("LGPL-3.0-only", False),
        ("MPL-2.0", False),
        ("", False),
    ],
)
def test_a_licence_is_granted_if_a_choice_of_it_is_permissive(licence: str, granted: bool) -> None:
    assert is_granted(licence, PERMISSIVE) is granted
