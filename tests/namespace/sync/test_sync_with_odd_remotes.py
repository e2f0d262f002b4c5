"""`baton sync` with branches that are foreign, damaged, endless or contain source code, and with invalid settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Baton = Callable[..., Any]
Git = Callable[..., str]


@pytest.fixture
def clone(top: Path, tmp_path: Path, baton: Baton, git: Git) -> Path:
    """Return a plain git clone of the namespace `work`, which `top` syncs with the same remote."""
    git(tmp_path, "init", "-q", "--bare", "hub.git")
    git(top, "remote", "add", "origin", str(tmp_path / "hub.git"))
    baton("init")
    baton("loop", "add", "Deployed it", "--expect", "200", "--id", "OL-1")
    baton("sync")
    git(tmp_path, "clone", "-q", "-b", "baton/work", str(tmp_path / "hub.git"), "by-hand")
    return tmp_path / "by-hand"


def push(git: Git, clone: Path) -> None:
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "by hand")
    git(clone, "push", "-q", "origin", "HEAD")


def test_a_branch_without_its_format_file_is_not_accepted(baton: Baton, git: Git, top: Path, clone: Path) -> None:
    git(clone, "rm", "-q", "format.toml")
    push(git, clone)
    before = git(top, "rev-parse", "baton/work")
    assert "no format.toml" in baton("sync", code=1).err
    assert baton("review", "--accept-all", code=1).err
    assert git(top, "rev-parse", "baton/work") == before
    assert baton("status").out


def test_a_branch_of_a_newer_layout_asks_for_an_upgrade(baton: Baton, git: Git, clone: Path) -> None:
    (clone / "format.toml").write_text("version = 99\n")
    push(git, clone)
    assert "upgrade baton-git" in baton("sync", code=1).err


@pytest.mark.slow
def test_endlessly_nested_folders_do_not_stop_a_session(baton: Baton, git: Git, top: Path, clone: Path) -> None:
    tree = git(clone, "mktree", text=f"100644 blob {git(clone, 'hash-object', '-w', '--stdin', text='x')}\tx\n")
    for _ in range(300):
        tree = git(clone, "mktree", text=f"040000 tree {tree}\td\n")
    root = git(clone, "ls-tree", "HEAD") + f"\n040000 tree {tree}\tdeep\n"
    commit = git(clone, "commit-tree", "-p", "HEAD", "-m", "deep", git(clone, "mktree", text=root))
    git(clone, "push", "-q", "origin", f"{commit}:refs/heads/baton/work")
    assert "nested deeper than 64" in baton("sync", code=1).err
    begun = baton("boot", "--json").json
    assert "nested deeper than 64" in json.dumps(begun)
    assert "OL-1" in begun["brief"]


def test_a_key_of_100000_parts_does_not_stop_a_session(baton: Baton, git: Git, clone: Path) -> None:
    (clone / "open_loops" / "OL-2.toml").write_text('id = "OL-2"\n' + ".".join(["a"] * 100_000) + " = 1\n")
    push(git, clone)
    begun = baton("boot", "--json").json
    assert "OL-2.toml" in begun["brief"]


def test_source_code_branches_are_never_pushed(baton: Baton, git: Git, top: Path, clone: Path) -> None:
    git(top, "branch", "baton/feature", "main")
    git(top, "symbolic-ref", "refs/heads/baton/loc", "refs/heads/main")
    baton("sync", "--all")
    assert "is not a branch of baton-git" in baton("sync", "-n", "loc", code=1).err
    assert git(top, "ls-remote", "origin", "refs/heads/baton/*").split()[1::2] == ["refs/heads/baton/work"]


def test_a_source_code_branch_under_the_prefix_is_not_used_as_the_namespace_of_a_clone(
    baton: Baton, git: Git, tmp_path: Path, clone: Path
) -> None:
    git(clone, "push", "-q", "origin", ":baton/work")
    git(clone, "checkout", "-q", "--orphan", "baton/feature")
    git(clone, "rm", "-rqf", ".")
    git(clone, "commit", "-q", "--allow-empty", "-m", "code")
    git(clone, "push", "-q", "origin", "baton/feature")
    git(tmp_path, "clone", "-q", str(tmp_path / "hub.git"), "third")
    assert baton("boot", "--create", "--json", cwd=tmp_path / "third").json["namespace"] == "third"


def test_a_branch_that_somebody_began_by_hand_is_accepted(baton: Baton, git: Git, tmp_path: Path, clone: Path) -> None:
    git(clone, "checkout", "-q", "--orphan", "baton/begun")
    git(clone, "commit", "-q", "-m", "without a parent")
    git(clone, "push", "-q", "origin", "baton/begun")
    git(tmp_path, "init", "-q", "third")
    git(tmp_path / "third", "remote", "add", "origin", str(tmp_path / "hub.git"))
    baton("sync", "-n", "begun", cwd=tmp_path / "third")
    assert "Deployed it" in baton("boot", "-n", "begun", cwd=tmp_path / "third").out


@pytest.mark.slow
def test_a_clone_with_another_name_lists_the_remotes_namespaces(
    baton: Baton, git: Git, top: Path, tmp_path: Path, clone: Path
) -> None:
    baton("init", "-n", "other")
    baton("sync", "-n", "other")
    git(tmp_path, "clone", "-q", str(tmp_path / "hub.git"), "third")
    begun = baton("boot", cwd=tmp_path / "third", code=1)
    assert "existing: other, work (choose with --namespace); to create it: baton init" in begun.err


def test_settling_reports_the_backup(baton: Baton, git: Git, top: Path, clone: Path) -> None:
    git(clone, "commit", "-q", "--amend", "-m", "rewritten")
    git(clone, "push", "-qf", "origin", "HEAD")
    assert baton("sync", code=3)
    done = baton("sync", "--settle", "theirs")
    backup = git(top, "for-each-ref", "--format=%(refname)", "refs/baton-backup")
    assert backup in done.err


def test_only_one_side_can_be_chosen(baton: Baton, clone: Path) -> None:
    baton("resolve", "C-1", "--ours", "--theirs", code=2)


def test_a_missing_file_of_signers_is_reported(baton: Baton, git: Git, top: Path, clone: Path) -> None:
    git(top, "config", "baton.allowedSigners", "/nonexistent")
    assert "there is no file /nonexistent" in baton("sync", code=2).err
    assert "there is no file /nonexistent" in baton("boot").out


@pytest.mark.slow
def test_an_address_used_once_is_not_listed_as_a_remote_with_pending_commits(
    baton: Baton, git: Git, tmp_path: Path, clone: Path
) -> None:
    git(tmp_path, "init", "-q", "--bare", "once.git")
    baton("sync", "--remote", str(tmp_path / "once.git"))
    baton("loop", "add", "More", "--expect", "x")
    assert baton("status", "--json").json["pending"] == {"origin": 1}


def test_a_sync_of_a_namespace_that_exists_nowhere_is_reported(baton: Baton, clone: Path) -> None:
    output = baton("sync", "-n", "nope").err
    assert "there is no namespace nope here or on origin; to create it: baton init" in output
    assert "to fetch others: baton sync --all" in output


def test_a_token_in_an_address_is_not_shown(baton: Baton, clone: Path) -> None:
    done = baton("sync", "--remote", "http://127.0.0.1:1/x.git?token=S3CRET", "--json", code=None)
    assert "S3CRET" not in done.out + done.err
