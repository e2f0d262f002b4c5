"""Git configuration files are read as git reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton_git.core.errors import Corrupt
from baton_git.git.store import Config

TEXT = """\
# a comment at the top
[core]
\trepositoryformatversion = 0
\tbare
[remote "Origin"] ; another
\turl = "https://x/#y" # not this
\tfetch = +refs/heads/*:refs/remotes/\\
origin/*
[baton]
\tnamespace = one
\tnamespace = two
[Section] key = "  kept  " rest
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "config"
    file.write_text(TEXT)
    return file


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.repositoryFormatVersion", "0"),
        ("CORE.RepositoryFormatVersion", "0"),
        ("remote.Origin.url", "https://x/#y"),
        ("remote.origin.url", None),
        ("remote.Origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("baton.namespace", "two"),
        ("section.key", "  kept   rest"),
        ("baton.missing", None),
    ],
)
def test_reading_agrees_with_git(path, git, key, value):
    assert Config((path,)).get(key) == value
    if value is None:
        git(path.parent, "config", "--file", str(path), key, code=1)
    else:
        assert git(path.parent, "config", "--file", str(path), key) == value.strip()


def test_a_key_without_a_value_is_true(path):
    assert Config((path,)).get("core.bare") == "true"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=st.text(st.characters(exclude_characters="\0\n\r", exclude_categories=["Cs"]), max_size=30))
def test_any_value_written_by_git_config_is_read(path, git, value):
    path.write_text(TEXT)
    git(path.parent, "config", "--file", str(path), "baton.any", value)
    assert Config((path,)).get("baton.any") == value


def test_an_invalid_configuration_is_an_error_with_its_line(path):
    path.write_text("[core]\n\tbare = true\n???\n")
    with pytest.raises(Corrupt, match="line 3"):
        Config((path,)).get("core.bare")
