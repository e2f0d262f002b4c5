"""Branches of code below the prefix of namespaces, and namespaces of remotes below other folders."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from baton_git.core.names import Namespace
from baton_git.git.files.durable_files import find_hint
from baton_git.interfaces.hook.asked_remotes import may_ask, note_asked
from baton_git.namespace.workspace import Background


@pytest.fixture
def clone(baton, git, top):
    """A clone of a remote with the namespace `shop` and code branches with names like those of namespaces."""
    baton("init", "--namespace", "shop")
    baton("followup", "add", "A", "--namespace", "shop")
    git(top, "init", "-q", "--bare", "../remote.git")
    git(top, "remote", "add", "origin", "../remote.git")
    baton("sync", "--namespace", "shop")
    for branch in ("main", "baton/fix-ui", "feature/baton/x"):
        git(top, "push", "-q", "origin", f"main:refs/heads/{branch}")
    git(top, "clone", "-q", "../remote.git", "../clone")
    return top.parent / "clone"


def test_a_branch_of_code_is_no_namespace_to_choose_or_to_propose(baton, clone):
    said = baton("list", "--namespace", "zz", code=1, cwd=clone).err
    assert "existing: shop; " in said
    assert "origin/baton/shop has it" in baton("list", code=1, cwd=clone).err  # the only namespace of the remote


def test_a_branch_of_code_that_cannot_be_read_stops_nothing(baton, git, clone):
    git(clone, "update-ref", "refs/remotes/origin/baton/fix-ui", git(clone, "rev-parse", "origin/main"))
    (clone / ".git/refs/remotes/origin/baton/fix-ui").write_text("1" * 40 + "\n")
    assert "existing: shop; " in baton("list", "--namespace", "zz", code=1, cwd=clone).err
    assert "there is no namespace 'clone'" in baton("list", code=1, cwd=clone).err


def test_a_file_that_only_a_branch_below_the_prefix_has_is_elsewhere(baton, git, top):
    (top / "q.py").write_text("def f(): pass\n")
    git(top, "add", "q.py")
    git(top, "commit", "-qm", "q")
    id_ = baton("decision", "add", "x", "--why", "y", "--about", "q.py").id
    git(top, "branch", "baton/fix-ui")
    git(top, "rm", "-q", "q.py")
    git(top, "commit", "-qm", "removed")
    git(top, "branch", "-f", "baton/fix-ui", "HEAD~1")
    git(top, "switch", "-q", "baton/fix-ui")
    git(top, "commit", "-q", "--allow-empty", "-m", "goes on")
    git(top, "switch", "-q", "main")
    [anchor] = baton("show", id_, "--json").json["anchors"]
    assert (anchor["state"], anchor.get("branch")) == ("elsewhere", "baton/fix-ui")


def test_background_work_is_that_of_the_namespace_to_which_a_verb_moves(open_workspace):
    asked = []

    def ask(task, namespace):
        asked.append((task, str(namespace)))
        return True

    ws = replace(open_workspace("work"), background=Background(of=ask))
    ws.on(replace(ws.branch, namespace=Namespace("other"))).background.request("send")
    assert asked == [("send", "other")]


def test_the_message_of_git_about_a_config_file_that_cannot_be_written_has_a_next_step():
    message = "error: could not lock config file .git/config: Permission denied"
    assert find_hint(message) == "check the owner and the permissions of the repository"
    assert not find_hint("error: invalid key: x")


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ('[remote "origin"]\n', True),
        ('[Remote "origin"]\n', True),
        ("[include]\n\tpath = x\n", True),
        ("[core]\n", False),
    ],
)
def test_a_start_asks_if_any_file_of_the_configuration_may_name_a_remote(tmp_path, monkeypatch, text, may):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "config").write_text(text)
    assert may_ask(str(tmp_path)) is may


@pytest.mark.parametrize("head", ["FETCH_HEAD", "worktrees/w/FETCH_HEAD"])
def test_a_start_asks_again_after_a_fetch_in_any_work_tree(tmp_path, monkeypatch, head):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    config, fetched = tmp_path / "config", tmp_path / head
    config.write_text('[remote "origin"]\n')
    os.utime(config, (1, 1))
    note_asked(str(tmp_path), why="")
    (tmp_path / "worktrees").mkdir()
    (tmp_path / "worktrees" / "no-folder").touch()
    assert not may_ask(str(tmp_path))
    fetched.parent.mkdir(exist_ok=True)
    fetched.touch()
    assert may_ask(str(tmp_path))
