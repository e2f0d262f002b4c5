"""Git's configuration, baton's settings and variables: which are read, which are trusted, and errors in them."""

from __future__ import annotations

import hashlib
import os

import pytest

from baton_git.interfaces.context.git_config import is_safe_place


def global_config(tmp_path, text):
    path = tmp_path / "gitconfig"
    path.write_text(text)
    return {"GIT_CONFIG_GLOBAL": str(path)}


# --- git's configuration cannot be read


@pytest.mark.parametrize("text", ["[user\n", "[include]\n path = broken\n", '[user]\n name = "x\n'])
def test_a_broken_git_configuration_is_an_error_and_nothing_is_written_elsewhere(baton, git, top, tmp_path, text):
    (tmp_path / "broken").write_text("[oops\n")
    env = global_config(tmp_path, f"[baton]\n namespace = mine\n{text}")
    done = baton("followup", "add", "x", env=env, code=1)
    assert done.err.startswith("baton: git config: ")
    assert "fix the git configuration" in done.err
    assert git(top, "for-each-ref", "--format=%(refname)", "refs/heads/baton/") == "refs/heads/baton/work"


def test_a_git_that_fails_silently_is_an_error(baton, top, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "bin/git").chmod(0o755)
    done = baton("followup", "add", "x", env={"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}, code=1)
    assert "git config: it failed without a message" in done.err


# --- safe.directory


def safe_directory_variables(*values):
    """Return the environment variables that give git these values of safe.directory."""
    pairs = {f"GIT_CONFIG_KEY_{n}": "safe.directory" for n in range(len(values))}
    return {"GIT_CONFIG_COUNT": str(len(values)), **pairs, **{f"GIT_CONFIG_VALUE_{n}": v for n, v in enumerate(values)}}


SAFE_DIRECTORIES = [
    (("{top}", "/elsewhere"), True),
    (("/elsewhere", "{top}"), True),
    (("*", "/elsewhere"), True),
    (("{parent}/*", "/elsewhere"), True),
    (("{parent}",), False),
    (("{parent}/wo*",), False),
    (("{top}/*",), False),
    (("{top}", ""), False),
    (("*", "", "/elsewhere"), False),
    (("", "{top}"), True),
    ((), False),
]
"""Values of safe.directory, and whether a repository in {top} that belongs to another user is trusted with them."""


@pytest.mark.parametrize(("values", "trusted"), SAFE_DIRECTORIES)
def test_values_of_safe_directory_apply_as_in_git(baton, top, values, trusted):
    if os.geteuid() != 0:
        pytest.skip("only root can change the owner of a file")
    for path in (top, top / ".git"):
        os.chown(path, 65534, 65534)
    env = safe_directory_variables(*(one.format(top=top, parent=top.parent) for one in values))
    assert baton("status", env=env, code=None).code == (0 if trusted else 1)


def test_a_key_without_a_value_resets_and_a_tilde_is_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert is_safe_place(tmp_path / "x", ["~/x"])
    assert not is_safe_place(tmp_path / "x", ["~/x", None])
    assert is_safe_place(tmp_path / "x", ["/*"])
    assert not is_safe_place(tmp_path / "x", ["~nobody-of-this-name/x", "x", "."])


def test_a_repository_cannot_declare_itself_safe(baton, git, top):
    if os.geteuid() != 0:
        pytest.skip("only root can change the owner of a file")
    git(top, "config", "safe.directory", "*")
    for path in (top, top / ".git"):
        os.chown(path, 65534, 65534)
    assert "belongs to another user" in baton("status", code=1).err


# --- boot continues despite invalid settings


@pytest.mark.parametrize(
    ("key", "value", "default"),
    [("baton.ttlDays", "0", "7 is used"), ("baton.autosync", "perhaps", "off is used"),
     ("remote.origin.batonLanes", "perhaps", "off is used"),
     ("baton.refPrefix", "../evil/", "refs/heads/baton/ is used")],
)  # fmt: skip
def test_an_invalid_setting_stops_only_writes_and_is_reported(baton, git, top, key, value, default):
    git(top, "config", key, value)
    begun = baton("boot", "--json").json
    assert any(key in one and default in one for one in begun["problems"])
    assert default in begun["brief"]
    fault = f"git config {key} is '{value}' (in {top}/.git/config), not "
    listed = baton("list")
    assert listed.err.startswith(fault)
    assert f"; {default} (git config " in listed.err
    assert listed.err.endswith(f", or git config --unset-all {key})\n")
    for words in (("followup", "add", "x"), ("sync",)):
        refused = baton(*words, code=2)
        assert refused.err.startswith(f"baton: {fault}")
        assert refused.err.endswith(f", or git config --unset-all {key}\n")


@pytest.mark.parametrize(("name", "value"), [("BATON_AGENT", "a b"), ("BATON_SESSION", "a\nb")])
def test_boot_ignores_a_bad_variable_but_rejects_a_bad_option(baton, name, value):
    begun = baton("boot", "--json", env={name: value}).json
    assert any(f"{name} is ignored" in one for one in begun["problems"])
    assert begun["session"] != value
    assert baton("boot", f"--{name[6:].lower()}", value, code=2).out == ""
    baton("status", env={name: value}, code=2)


# --- time limits


@pytest.mark.parametrize("seconds", ["inf", "nan", "-inf", "1e9", "-1", "3601", "x"])
def test_an_invalid_time_budget_is_rejected(baton, filled, seconds):
    for words in (("verify", "--budget", seconds), ("boot", "--check-budget", seconds)):
        done = baton(*words, code=2)
        assert "budget" in done.err


# --- the user's own store


def test_folders_of_one_name_outside_of_repositories_have_separate_namespaces(baton, tmp_path):
    names = []
    for parent in ("x", "y"):
        folder = tmp_path / parent / "api"
        folder.mkdir(parents=True)
        baton("followup", "add", f"of {parent}", "--create", cwd=folder)
        answer = baton("read", cwd=folder).json
        assert [one["item"] for one in answer["baton"]["follow_ups"]] == [f"of {parent}"]
        assert answer["namespace"] == f"api-{hashlib.sha256(os.path.realpath(folder).encode()).hexdigest()[:6]}"
        names.append(answer["namespace"])
    assert len(set(names)) == 2
    (tmp_path / "link").symlink_to("x")
    assert baton("read", cwd=tmp_path / "link/api").json["namespace"] == names[0]
