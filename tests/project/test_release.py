"""The problems that the release check reports. Nothing is built here."""

from __future__ import annotations

import pytest
from looped_cases import for_each
from release import Problem, find_expected, find_source_problems, read_version

URLS = ("Source", "Issues", "Changelog")


def test_a_release_has_a_dated_section_addresses_and_a_tag() -> None:
    changelog = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-12-01\n"
    assert list(find_source_problems("1.2.0", changelog, URLS, ["v1.2.0"])) == []
    assert len(list(find_source_problems("1.2.0", changelog, URLS[1:], ["v1.2.1"]))) == 2
    [problem] = find_source_problems("1.2.0", "## [1.2.0] - unreleased\n", URLS, ["v1.2.0"])
    assert "[1.2.0] - YYYY-MM-DD" in problem


@for_each("source", ["", '__version__ = "1.2"\n', 'x = "__version__ = 1.2.0"\n'])
def test_a_version_that_cannot_be_read_is_a_problem(source: str) -> None:
    with pytest.raises(Problem):
        read_version(source)


def test_a_wheel_has_the_package_and_the_hooks_and_an_sdist_everything() -> None:
    tracked = ["baton_git/py.typed", "hooks/git/begin.sh", "tests/a.py", ".gitignore"]
    in_sdist, in_wheel = find_expected(tracked)
    assert in_sdist == {"baton_git/py.typed", "hooks/git/begin.sh", "tests/a.py"}
    assert in_wheel == {"baton_git/py.typed", "baton_git/_hooks/git/begin.sh"}
