from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton_git.core.errors import Busy, Corrupt, InvalidArgument
from baton_git.git.store import Config
from baton_git.git.store import config as config_module

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


def test_setting_a_key_keeps_every_other_line(path, git):
    Config((path,)).set("baton.namespace", "three")
    assert path.read_text() == TEXT.replace("\tnamespace = one\n\tnamespace = two\n", "\tnamespace = three\n")
    assert git(path.parent, "config", "--file", str(path), "--get-all", "baton.namespace") == "three"


def test_a_new_key_goes_into_its_section_or_a_new_one(path, git):
    config = Config((path,))
    config.set("baton.remote", "origin")
    config.set("baton.Sub Section.policy", "review")
    config.set("section.other", "x")
    config.set("section.key", "changed")
    for key, value in [
        ("baton.remote", "origin"), ("baton.Sub Section.policy", "review"), ("section.other", "x"),
        ("section.key", "changed"), ("remote.Origin.url", "https://x/#y"),
    ]:  # fmt: skip
        assert config.get(key) == value
        assert git(path.parent, "config", "--file", str(path), "--get-all", key) == value
    assert path.read_text().startswith("# a comment at the top\n")


def test_a_file_without_a_last_line_break_is_added_to(tmp_path):
    (tmp_path / "config").write_text("[a]\n\tb = 1")
    config = Config((tmp_path / "config",))
    config.set("c.d", "2")
    config.set("a.e", "3")
    assert [config.get(key) for key in ("a.b", "c.d", "a.e")] == ["1", "2", "3"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=st.text(st.characters(exclude_characters="\0\n\r", exclude_categories=["Cs"]), max_size=30))
def test_any_value_reads_back_and_git_reads_the_same(path, git, value):
    path.write_text(TEXT)
    Config((path,)).set("baton.any", value)
    assert Config((path,)).get("baton.any") == value
    assert git(path.parent, "config", "--file", str(path), "--null", "baton.any").rstrip("\0") == value.lstrip()


def test_what_is_no_configuration_is_an_error_with_its_line(path):
    path.write_text("[core]\n\tbare = true\n???\n")
    with pytest.raises(Corrupt, match="line 3"):
        Config((path,)).get("core.bare")


@pytest.mark.parametrize(("key", "value"), [("baton", "x"), ("baton.a b", "x"), ("baton.a", "x\ny")])
def test_what_cannot_be_written_is_refused(path, key, value):
    with pytest.raises(InvalidArgument):
        Config((path,)).set(key, value)
    assert path.read_text() == TEXT


def test_a_held_lock_is_waited_for_and_then_reported(path, monkeypatch):
    monkeypatch.setattr(config_module, "LOCK_WAIT", 0.05)
    path.with_name("config.lock").touch()
    with pytest.raises(Busy):
        Config((path,)).set("baton.a", "x")
    assert path.with_name("config.lock").exists()
