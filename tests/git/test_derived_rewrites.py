"""The rewrites that baton derives from reflogs, compared with those that git passes to the post-rewrite hook."""

from __future__ import annotations

import os
import subprocess

import pytest

from baton_git.git.derived_rewrites import derive_rewritten, find_replacement
from baton_git.git.rewritten import find_newest, load_rewritten
from baton_git.git.source_commits import find_commit
from baton_git.git.store import Repository, Store


@pytest.fixture
def code(git, top):
    """Return a repository with a branch `topic` of 4 commits, the last of which is a fixup, beside 2 commits of `main`.

    All commits have the same author and time, as if a script had made them.
    """
    (top / ".git/baton").mkdir(exist_ok=True)
    hook = top / ".git/hooks/post-rewrite"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\ncat >>"$(git rev-parse --git-common-dir)/baton/rewritten"\n')
    hook.chmod(0o755)
    commit(git, top, "base")
    git(top, "checkout", "-q", "-b", "topic")
    for name in ("A", "B", "C"):
        commit(git, top, name)
    commit(git, top, "fixup! A", "A", "A\nmore\n")
    git(top, "checkout", "-q", "main")
    commit(git, top, "up")
    git(top, "checkout", "-q", "topic")
    return top


@pytest.fixture(autouse=True)
def same_time(monkeypatch):
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2026-11-20T10:00:00+0100")


def commit(git, top, subject, name=None, text=None):
    (top / (name or subject)).write_text(text or f"{subject}\n")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", subject)


def run(top, *words, editor="true", todo="true", code=0):
    env = {**os.environ, "GIT_EDITOR": editor, "GIT_SEQUENCE_EDITOR": todo}
    done = subprocess.run(["git", *words], cwd=top, env=env, capture_output=True, text=True)
    assert done.returncode == code, done.stderr


def reword(top):
    run(top, "rebase", "-i", "main", todo="sed -i 1s/pick/reword/", editor="sed -i '1s/.*/A, in other words/'")


def amend_in_the_middle(top):
    run(top, "rebase", "-i", "main", todo="sed -i 2s/pick/edit/")
    (top / "extra").write_text("x")
    run(top, "add", "-A")
    run(top, "commit", "-q", "--amend", "-m", "B, amended in the middle")
    run(top, "rebase", "--continue")


def resolve_a_conflict(top):
    run(top, "checkout", "-q", "main")
    (top / "B").write_text("of main\n")
    run(top, "add", "-A")
    run(top, "commit", "-q", "-m", "B too")
    run(top, "checkout", "-q", "topic")
    run(top, "rebase", "main", code=1)
    (top / "B").write_text("of both\n")
    run(top, "add", "-A")
    run(top, "rebase", "--continue")


def amend_twice(top):
    run(top, "commit", "-q", "--amend", "-m", "other words")
    run(top, "commit", "-q", "--amend", "--allow-empty", "-m", "and others")


def amend_for_another_program(top):
    env = {**os.environ, "GIT_REFLOG_ACTION": "my tool"}
    subprocess.run(["git", "commit", "-q", "--amend", "-m", "by it"], cwd=top, env=env, check=True)


def rebase_twice(top):
    run(top, "rebase", "-q", "main")
    run(top, "rebase", "-q", "-i", "--autosquash", "main")
    run(top, "commit", "-q", "--amend", "-m", "C at the end")


def rebase_detached(top):
    run(top, "checkout", "-q", "--detach")
    run(top, "rebase", "-q", "main")


def rebase_from_elsewhere(top):
    run(top, "checkout", "-q", "main")
    run(top, "rebase", "-q", "main", "topic")


def abort(top):
    run(top, "checkout", "-q", "-b", "main2", "main")
    (top / "C").write_text("of main\n")
    run(top, "add", "-A")
    run(top, "commit", "-q", "-m", "C too")
    run(top, "checkout", "-q", "topic")
    run(top, "rebase", "main2", code=1)
    run(top, "rebase", "--abort")


REWRITES = {
    "rebase": lambda top: run(top, "rebase", "-q", "main"),
    "rebase of another branch": rebase_from_elsewhere,
    "pull": lambda top: run(top, "pull", "-q", "--rebase", ".", "main"),
    "apply": lambda top: run(top, "rebase", "-q", "--apply", "main"),
    "autosquash": lambda top: run(top, "rebase", "-q", "-i", "--autosquash", "main"),
    "squash": lambda top: run(top, "rebase", "-q", "-i", "main", todo="sed -i 3s/pick/squash/"),
    "fixup without a mark": lambda top: run(top, "rebase", "-q", "-i", "main", todo="sed -i 2s/pick/fixup/"),
    "two fixups": lambda top: run(top, "rebase", "-q", "-i", "main", todo="sed -i 2,3s/pick/fixup/"),
    "drop": lambda top: run(top, "rebase", "-q", "-i", "main", todo="sed -i 2d"),
    "in another order": lambda top: run(top, "rebase", "-q", "-i", "main", todo="sed -i '2{h;d};3{G}'"),
    "reword": reword,
    "amend in the middle": amend_in_the_middle,
    "conflict": resolve_a_conflict,
    "amend": amend_twice,
    "amend for another program": amend_for_another_program,
    "rebase twice": rebase_twice,
    "detached": rebase_detached,
    "aborted": abort,
}  # fmt: skip


@pytest.mark.parametrize("name", REWRITES)
def test_the_derived_rewrites_are_those_that_git_passes_to_the_hook(git, code, name):
    old = git(code, "rev-list", "main..topic").splitlines()
    REWRITES[name](code)
    expected = load_rewritten(code / ".git")
    assert expected or name == "aborted"
    with Store(Repository.discover(code)) as store:
        derived = derive_rewritten(store)
    assert {one: find_newest(derived, one) for one in old} == {one: find_newest(expected, one) for one in old}


def test_git_reports_a_fixup_twice_and_the_map_holds_the_new_ids(git, code):
    """Seen with git 2.39.5 (sequencer.c): a `fixup!` runs post-rewrite twice. During the rebase with `amend`, for an id
    that was never on a branch, and at the end with `rebase`, where both commits have a line with the same new id.
    """
    with (code / ".git/hooks/post-rewrite").open("a") as file:
        file.write('echo "$1" >>"$(git rev-parse --git-common-dir)/runs"\n')
    old = {git(code, "log", "-1", "--format=%s", one): one for one in git(code, "rev-list", "main..topic").splitlines()}
    run(code, "rebase", "-q", "-i", "--autosquash", "main")
    assert (code / ".git/runs").read_text() == "amend\nrebase\n"
    rewritten = load_rewritten(code / ".git")
    new = git(code, "log", "-1", "--format=%H", "--grep=^A$")
    assert rewritten[old["A"]] == rewritten[old["fixup! A"]] == new
    assert [one for one in rewritten if one not in old.values() and rewritten[one] == new] != []
    with Store(Repository.discover(code)) as store:
        assert find_commit(store, old["fixup! A"]) == find_commit(store, old["A"][:7]) == new


@pytest.mark.parametrize("hidden", ["hook", "reflog"])
def test_a_rebased_commit_is_found_without_the_hook_and_without_a_reflog(git, code, hidden):
    (code / ".git/hooks/post-rewrite").unlink()
    if hidden == "reflog":
        git(code, "config", "core.logAllRefUpdates", "false")
        for log in (code / ".git/logs").rglob("*"):
            log.unlink() if log.is_file() else None
    old = git(code, "rev-parse", "topic~2")
    run(code, "rebase", "-q", "main")
    with Store(Repository.discover(code)) as store:
        assert find_commit(store, old) == git(code, "rev-parse", "topic~2")


def test_a_commit_that_was_dropped_is_not_found(git, code):
    (code / ".git/hooks/post-rewrite").unlink()
    old = git(code, "rev-parse", "topic~2")
    run(code, "rebase", "-q", "-i", "main", todo="sed -i 2d")
    with Store(Repository.discover(code)) as store:
        assert find_commit(store, old) is None


def test_a_commit_that_was_copied_and_not_replaced_is_not_found_on_the_other_branch(git, code):
    git(code, "checkout", "-q", "main")
    git(code, "cherry-pick", "topic~2")
    with Store(Repository.discover(code)) as store:
        assert find_commit(store, git(code, "rev-parse", "topic~2")) is None
        copied, original = (store.commit(git(code, "rev-parse", name)) for name in ("main", "topic~2"))
        assert find_replacement(store, original, [copied]) is None
        git(code, "branch", "-q", "-D", "topic")
        assert find_replacement(store, original, [copied]) == copied.oid


def test_a_damaged_reflog_is_read_as_far_as_possible(git, code):
    old = git(code, "rev-parse", "topic")
    run(code, "commit", "-q", "--amend", "-m", "new")
    log = code / ".git/logs/HEAD"
    log.write_bytes(b"\xff\n" + b"0" * 40 + b" x\n" + log.read_bytes() + b"1234 torn")
    with Store(Repository.discover(code)) as store:
        assert derive_rewritten(store)[old] == git(code, "rev-parse", "topic")
