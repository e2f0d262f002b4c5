"""A new machine meets a namespace that a remote already has, by every road: nothing of the remote is missing after the
first `boot`, or one line says what is."""

from __future__ import annotations

from pathlib import Path

import pytest

ITEM = "Ask Bo"


@pytest.fixture
def hub(baton, git, top, tmp_path) -> Path:
    """Return a bare repository that has the namespace `work` with one record."""
    hub = tmp_path / "shared.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", hub.name)
    git(top, "remote", "add", "origin", hub.as_uri())
    git(top, "push", "-q", "origin", "main")
    baton("followup", "add", ITEM)
    baton("sync")
    return hub


@pytest.fixture
def place(git, tmp_path) -> Path:
    """Return a new repository of the same name, without remotes."""
    place = tmp_path / "elsewhere" / "work"
    place.mkdir(parents=True)
    git(place, "init", "-q", "-b", "main")
    return place


def add(git, place: Path, name: str, url: str) -> None:
    git(place, "remote", "add", name, url)


ROADS = {
    "boot": ("add", "boot"),
    "init": ("add", "init", "boot"),
    "init without asking": ("add", "init --sync-budget 0", "boot"),
    "init before the remote": ("init", "add", "boot"),
    "a record before the remote": ("init", "followup add own", "add", "boot"),
    "sessions before the remote": ("init", "boot", "wrap --context alone", "add", "boot"),
    "named": ("add", "boot --namespace work"),
    "fetched": ("add", "fetch", "boot"),
    "fetched after init": ("init", "add", "fetch", "boot"),
    "sync": ("add", "sync", "boot"),
}


@pytest.mark.parametrize("road", ROADS)
def test_the_first_start_tells_what_the_remote_has(baton, git, top, hub, place, road):
    before = git(hub, "for-each-ref")
    for step in ROADS[road]:
        if step == "add":
            add(git, place, "origin", hub.as_uri())
        elif step == "fetch":
            git(place, "fetch", "-q")
        else:
            done = baton(*step.split(), cwd=place)
    assert ITEM in done.out
    assert f"[from origin] {ITEM}" in done.out
    if "sync" not in ROADS[road]:
        assert git(hub, "for-each-ref") == before  # nothing is sent at a start
    baton("wrap", cwd=place)  # from now on, sessions send by themselves
    assert git(hub, "for-each-ref") != before
    baton("sync", cwd=top)
    listed = baton("list", "follow-ups", cwd=top).out
    assert ITEM in listed
    assert ("own" in listed.split()) == ("followup add own" in ROADS[road])


def test_it_is_found_under_another_prefix_too(baton, git, top, hub, place):
    for folder in (top, place):
        git(folder, "config", "baton.refPrefix", "refs/baton/")
    baton("followup", "add", "Ask Cy", "-n", "team", "--create", cwd=top)
    baton("sync", "-n", "team", cwd=top)
    add(git, place, "origin", hub.as_uri())
    assert "[from origin] Ask Cy" in baton("boot", cwd=place).out


@pytest.mark.parametrize("words", [("boot",), ("init",)])
def test_the_only_namespace_of_the_remote_is_chosen_if_the_folder_has_another_name(baton, git, hub, tmp_path, words):
    another = tmp_path / "another"
    git(tmp_path, "init", "-q", str(another))
    add(git, another, "origin", hub.as_uri())
    baton(*words, cwd=another)
    assert f"[from origin] {ITEM}" in baton("boot", cwd=another).out


def test_several_namespaces_of_the_remote_are_named_if_none_is_meant(baton, git, top, hub, tmp_path):
    baton("followup", "add", "x", "-n", "team", "--create", cwd=top)
    baton("sync", "--all", cwd=top)
    another = tmp_path / "another"
    git(tmp_path, "init", "-q", str(another))
    add(git, another, "origin", hub.as_uri())
    err = baton("boot", cwd=another, code=1).err
    assert "origin has team, work, but not another: choose with --namespace" in err
    assert not git(another, "for-each-ref")
    assert "origin has team, work, but not another" in baton("init", cwd=another).err
    assert f"[from origin] {ITEM}" in baton("boot", "-n", "work", cwd=another).out


def test_a_remote_that_does_not_answer_is_named_and_asked_again(baton, git, hub, place):
    add(git, place, "origin", "http://127.0.0.1:1/shared.git")
    err = baton("boot", cwd=place, code=1).err
    assert "whether origin has this namespace is unknown" in err
    assert "the next baton boot asks again" in err
    assert not git(place, "for-each-ref")
    assert "whether origin has this namespace is unknown" in baton("init", cwd=place).err
    for _ in range(2):
        assert "whether origin has this namespace is unknown" in baton("boot", cwd=place).out
    baton("followup", "add", "own", cwd=place)
    git(place, "remote", "set-url", "origin", hub.as_uri())
    assert f"[from origin] {ITEM}" in baton("boot", cwd=place).out
    assert "[agent] own" in baton("boot", cwd=place).out


def test_a_remote_without_the_namespace_is_asked_once_a_day_and_gets_nothing(baton, git, hub, place, tmp_path):
    git(tmp_path, "init", "-q", "--bare", "empty.git")
    empty = tmp_path / "empty.git"
    add(git, place, "origin", empty.as_uri())
    assert "origin does not have work; to create it: baton init" in baton("boot", cwd=place, code=1).err
    baton("init", cwd=place)
    baton("boot", cwd=place)
    empty.rename(tmp_path / "gone.git")
    assert "origin" not in baton("boot", cwd=place).out  # not asked
    baton("wrap", cwd=place)
    assert not git(tmp_path / "gone.git", "for-each-ref")
    git(place, "remote", "set-url", "origin", hub.as_uri())
    assert f"[from origin] {ITEM}" in baton("boot", cwd=place).out


def test_without_automatic_sync_no_remote_is_asked(baton, git, hub, place):
    git(place, "config", "baton.autosync", "false")
    add(git, place, "origin", hub.as_uri())
    assert "baton init" in baton("boot", cwd=place, code=1).err
    baton("init", cwd=place)
    assert ITEM not in baton("boot", cwd=place).out


def test_a_namespace_that_was_deleted_here_does_not_come_back(baton, git, top, hub, place):
    add(git, place, "origin", hub.as_uri())
    baton("boot", cwd=place)
    baton("namespace", "delete", "work", "--yes", cwd=place)
    assert "it was deleted on this machine" in baton("boot", cwd=place, code=1).err


def test_of_several_remotes_the_one_that_has_it_is_used_or_one_line_says_how_to_choose(
    baton, git, hub, place, tmp_path
):
    git(tmp_path, "init", "-q", "--bare", "fork.git")
    for name, url in (("mine", f"file://{tmp_path}/fork.git"), ("upstream", hub.as_uri())):
        add(git, place, name, url)
    assert "not clear which: mine, upstream (git config baton.remote" in baton("boot", cwd=place, code=1).err
    git(place, "remote", "rename", "mine", "origin")
    assert "origin does not have work; not asked: upstream" in baton("init", cwd=place).err
    git(place, "fetch", "-q", "upstream")
    assert f"[from upstream] {ITEM}" in baton("boot", cwd=place).out
    baton("wrap", cwd=place)
    assert not git(tmp_path / "fork.git", "for-each-ref")


def test_the_error_of_an_attempt_is_not_told_once_the_remote_was_reached_or_git_has_pushed(baton, git, top, hub):
    away = hub.with_name("away.git")
    for road in ("boot", "push"):
        baton("followup", "add", road)
        hub.rename(away)
        baton("sync", code=None)
        assert "the last attempt failed" in baton("status").out
        away.rename(hub)
        baton("boot") if road == "boot" else git(top, "push", "-q", "origin", "baton/work")
        status = baton("status").out
        assert "the last attempt failed" not in status
        assert ("to be sent" in status) == (road == "boot")


def test_a_refused_push_is_told_until_one_is_accepted(baton, hub):
    (hub / "hooks/pre-receive").write_text("#!/bin/sh\nexit 1\n")
    (hub / "hooks/pre-receive").chmod(0o755)
    baton("followup", "add", "x")
    baton("sync", code=None)
    baton("boot")
    assert "the last attempt failed: the remote refused" in baton("status").out
    (hub / "hooks/pre-receive").unlink()
    baton("sync")
    baton("followup", "add", "y")
    assert "the last attempt failed" not in baton("status").out
