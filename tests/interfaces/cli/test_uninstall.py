"""`baton uninstall`: nothing of baton is left, nothing else is touched, and no commit is lost."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pseudo_terminal import typing

from baton_git.interfaces.cli.machine import uninstall as command
from baton_git.interfaces.context.running_servers import recorded_server

SETTINGS = '{\n    "model": "x",\n\t"hooks": { }\n}'
HOOK = "#!/bin/sh\necho other\n"


@pytest.fixture
def used(baton: Any, git: Any, top: Path) -> Path:
    """Return a work tree in which baton was used for everything: a remote, hooks, agents, a linked work tree."""
    (top / ".claude").mkdir()
    (top / ".claude" / "settings.json").write_text(SETTINGS)
    (top / ".git" / "hooks").mkdir(exist_ok=True)
    hook = top / ".git" / "hooks" / "post-commit"
    hook.write_text(HOOK)
    hook.chmod(0o755)
    git(top.parent, "init", "-q", "--bare", "there.git")
    git(top, "remote", "add", "origin", str(top.parent / "there.git"))
    git(top, "config", "user.unrelated", "kept")
    git(top, "worktree", "add", "-q", "-b", "side", str(top.parent / "linked"))
    (top.parent / "before").write_bytes((top / ".git" / "config").read_bytes())
    baton("init")
    baton("followup", "add", "the first")
    baton("sync")
    git(top, "fetch", "-q")
    git(top, "config", "remote.origin.batonPolicy", "review")
    git(top, "config", "branch.baton/work.description", "d")
    baton("hooks", "install")
    baton("agents", "install", "claude", "--project", "--with", "skills,mcp")
    baton("agents", "install", "gemini", "--project", cwd=top.parent / "linked")
    baton("boot", cwd=top.parent / "linked")
    baton("followup", "add", "nowhere else")
    return top


def survey(git: Any, top: Path) -> dict[str, str]:
    """Return the refs, the settings and all files of a repository and its work trees, but not the objects."""
    folders = (top, top.parent / "linked")
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    shown = {str(path): path.read_bytes().hex() for path in files if "/objects/" not in str(path)}
    return {**shown, "refs": git(top, "for-each-ref"), "settings": git(top, "config", "--local", "--list")}


def assert_nothing_is_left(git: Any, top: Path) -> None:
    assert "baton" not in git(top, "for-each-ref")
    assert "baton" not in git(top, "config", "--list", "--name-only")
    left = [path for path in (top / ".git").rglob("*") if "baton" in path.name]
    assert left == []
    assert (top / ".git" / "config").read_bytes() == (top.parent / "before").read_bytes()
    assert (top / ".claude" / "settings.json").read_text() == SETTINGS
    assert [path.name for path in (top / ".claude").iterdir()] == ["settings.json"]
    assert (top / ".git" / "hooks" / "post-commit").read_text() == HOOK
    assert not (top.parent / "linked" / ".gemini").exists()
    assert git(top, "status", "--porcelain", "--untracked-files=no") == ""


def test_nothing_of_baton_is_left_and_everything_else_is_as_before(used, baton, git):
    done = json.loads(baton("uninstall", "--yes", "--json").out)
    assert_nothing_is_left(git, used)
    assert {"refs/heads/baton/work", "refs/baton-kept/heads/baton/work"} <= {row["name"] for row in done["removed"]}
    assert git(used.parent / "there.git", "for-each-ref").count("baton") == 1  # deleting it needs a person
    assert any("refs/heads/baton/work on origin" in row["what"] for row in done["stays"])
    assert "nothing of baton is left" in baton("uninstall", "--yes").err
    assert_nothing_is_left(git, used)


def test_a_dry_run_lists_exactly_what_goes_and_changes_nothing(used, baton, git):
    before = survey(git, used)
    dry = json.loads(baton("uninstall", "--dry-run", "--json").out)
    assert survey(git, used) == before
    assert dry["dry_run"] is True
    assert dry["removed"] == json.loads(baton("uninstall", "--yes", "--json").out)["removed"]


def test_commits_that_are_nowhere_else_are_in_a_bundle(used, baton, git):
    bring_back(baton, git, used)
    assert "nowhere else" in baton("list", "followups").out


def bring_back(baton: Any, git: Any, top: Path) -> None:
    """Uninstall, and run the command that it names to get the branches back."""
    done = json.loads(baton("uninstall", "--yes", "--json").out)
    [why] = [row["why"] for row in done["stays"] if row["what"] == done["bundle"]]
    git(top, *shlex.split(why.partition("git ")[2]))


def test_a_branch_that_another_program_deleted_comes_back_too(used, baton, git):
    git(used, "branch", "-q", "-D", "baton/work")
    bring_back(baton, git, used)
    assert "nowhere else" in baton("list", "followups").out


def test_branches_below_another_prefix_come_back_there(baton, git, top):
    git(top, "config", "baton.refPrefix", "refs/baton/")
    baton("init")
    baton("followup", "add", "hidden")
    bring_back(baton, git, top)
    assert git(top, "for-each-ref", "--format=%(refname)", "refs/baton/") == "refs/baton/work"


def test_without_such_commits_there_is_no_bundle(used, baton, git):
    git(used, "config", "--unset", "remote.origin.batonPolicy")
    baton("sync")
    assert json.loads(baton("uninstall", "--yes", "--json").out)["bundle"] is None


def test_what_a_remote_no_longer_has_counts_as_nowhere_else(used, baton, git):
    git(used, "config", "--unset", "remote.origin.batonPolicy")
    baton("sync")
    git(used.parent / "there.git", "update-ref", "-d", "refs/heads/baton/work")
    assert Path(json.loads(baton("uninstall", "--yes", "--json").out)["bundle"]).is_file()


@pytest.mark.parametrize(
    ("words", "env", "says"),
    [
        (("--yes",), {"CLAUDECODE": "1"}, "an agent is acting here"),
        (("--machine", "--yes"), {"CLAUDECODE": "1"}, "an agent is acting here"),
        (("--yes",), {"BATON_AGENT": "zero"}, "an agent is acting here"),
        ((), {}, "a person must confirm it"),
        (("--machine",), {}, "a person must confirm it"),
        (("--remote", "--yes"), {}, "a person must confirm it"),
    ],
)
def test_nothing_goes_without_a_person(used, baton, git, words, env, says):
    baton("agents", "install", "claude")
    before = survey(git, used), git(used.parent / "there.git", "for-each-ref")
    assert says in baton("uninstall", *words, env=env, code=1).err
    assert (survey(git, used), git(used.parent / "there.git", "for-each-ref")) == before


def test_a_person_at_a_terminal_deletes_the_branches_on_the_remote_too(used, git):
    git(used, "config", "--unset", "remote.origin.batonPolicy")
    code, screen = typing(used, "uninstall", "--remote", asked="Type yes", typed=b"yes\r")
    assert code == 0, screen
    assert "baton" not in git(used.parent / "there.git", "for-each-ref")
    assert_nothing_is_left(git, used)
    assert ".bundle" in screen


def test_a_person_who_does_not_type_yes_keeps_everything(used, git):
    before = survey(git, used)
    code, screen = typing(used, "uninstall", asked="Type yes", typed=b"no\r")
    assert code == 1, screen
    asked = " ".join(screen.partition("Type yes")[0].split())
    assert "a bundle in" in asked
    assert "would be nowhere else" in asked
    assert "other repositories may use it" in asked
    assert "other repositories use it" not in asked
    assert survey(git, used) == before


STEPS = ("_remove_agent", "uninstall", "delete_refs", "remove_config", "remove_files", "_tell")


@pytest.mark.parametrize("step", STEPS)
def test_an_interrupted_removal_is_finished_by_the_next_one(used, baton, git, monkeypatch, step):
    with monkeypatch.context() as broken:
        broken.setattr(command, step, lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        baton("uninstall", "--yes", code=None)
    baton("uninstall", "--yes")
    assert_nothing_is_left(git, used)


def test_a_bundle_that_cannot_be_written_stops_the_removal(used, baton, git, monkeypatch):
    before = survey(git, used)
    (used.parent / "file").write_text("")
    done = baton("uninstall", "--yes", env={"XDG_DATA_HOME": str(used.parent / "file")}, code=None)
    assert done.code not in (0, 70)
    assert survey(git, used) == before


def test_a_branch_of_somebody_elses_making_stays(used, baton, git):
    git(used, "branch", "baton/mine")
    done = json.loads(baton("uninstall", "--yes", "--json").out)
    assert git(used, "for-each-ref", "--format=%(refname)", "refs/heads/baton") == "refs/heads/baton/mine"
    assert {"what": "refs/heads/baton/mine", "why": "it is not a namespace of baton"} in done["stays"]


def test_a_namespace_that_is_checked_out_stops_the_removal(used, baton, git):
    git(used, "worktree", "add", "-q", str(used.parent / "by-hand"), "baton/work")
    before = survey(git, used)
    done = baton("uninstall", "--yes", code=1)
    assert "git worktree remove" in done.err
    assert survey(git, used) == before


def test_a_running_server_of_the_repository_stops_the_removal(used, baton, git):
    with recorded_server(9101, used / ".git"):
        assert "a server serves this repository" in baton("uninstall", "--yes", code=1).err
        assert "a server of baton runs" in baton("uninstall", "--machine", "--yes", code=1).err
    baton("uninstall", "--yes")
    assert_nothing_is_left(git, used)


def test_the_hooks_of_other_repositories_write_nothing_here_afterwards(used, baton, git):
    baton("agents", "install", "claude")
    baton("uninstall", "--yes")
    event = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(used), "source": "startup"}
    baton("hook", "--agent", "claude", given=json.dumps(event), code=None)
    assert_nothing_is_left(git, used)


def test_a_bare_store_loses_its_namespaces_and_its_hooks(baton, git, top):
    store = top.parent / "store.git"
    git(top.parent, "init", "-q", "--bare", "store.git")
    before = (store / "config").read_bytes()
    baton("init", "--repo", str(store), "--namespace", "shop")
    baton("followup", "add", "x", "--repo", str(store), "--namespace", "shop")
    baton("hooks", "install", "--repo", str(store))
    bundle = json.loads(baton("uninstall", "--yes", "--json", "--repo", str(store)).out)["bundle"]
    assert git(store, "for-each-ref") == ""
    assert (store / "config").read_bytes() == before
    assert [path for path in store.rglob("*") if "baton" in path.name] == []
    assert not (store / "hooks" / "pre-receive").exists()
    git(top.parent, "clone", "-q", bundle, "restored", "--branch", "baton/shop")


def test_the_part_of_the_machine_is_separate(used, baton, git, monkeypatch):
    home = Path(str(used.parent / "home-of-a-person"))
    own = home / ".claude" / "settings.json"
    own.parent.mkdir(parents=True)
    own.write_text(SETTINGS)
    env = {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "XDG_STATE_HOME": str(home / "state")}
    git(used, "config", "--file", str(home / ".gitconfig"), "baton.ttlDays", "3")
    env["GIT_CONFIG_GLOBAL"] = str(home / ".gitconfig")
    baton("agents", "install", "all", "--with", "skills,mcp", env=env)
    outside = home / "folder"
    outside.mkdir()
    baton("init", cwd=outside, env=env)
    baton("followup", "add", "in the own store", cwd=outside, env=env)
    before = survey(git, used)
    here = json.loads(baton("uninstall", "--dry-run", "--json", env=env).out)
    assert not any(str(home) in row["name"] for row in here["removed"])
    assert str(own) in {row["what"] for row in here["stays"]}
    dry = json.loads(baton("uninstall", "--machine", "--dry-run", "--json", env=env).out)
    done = json.loads(baton("uninstall", "--machine", "--yes", "--json", env=env).out)
    assert done["removed"] == dry["removed"]
    assert survey(git, used) == before
    assert own.read_text() == SETTINGS
    assert [path for path in home.rglob("*") if "baton" in path.name and "uninstalled" not in str(path)] == []
    assert "baton" not in (home / ".gitconfig").read_text()
    listed = subprocess.run(["git", "bundle", "list-heads", done["bundle"]], capture_output=True, text=True, check=True)
    assert "refs/heads/baton/folder-" in listed.stdout
    assert "nothing of baton is left" in baton("uninstall", "--machine", "--yes", env=env).err


def test_a_remote_that_does_not_answer_stops_the_deletion_there(used, baton, git):
    git(used, "remote", "set-url", "origin", str(used.parent / "gone.git"))
    before = survey(git, used)
    assert "could not be asked" in baton("uninstall", "--remote", "--yes", code=1).err
    assert survey(git, used) == before
    assert Path(json.loads(baton("uninstall", "--yes", "--json").out)["bundle"]).is_file()


def test_commits_of_others_on_the_remote_stop_it_before_anything_goes(used, baton, git):
    git(used.parent, "clone", "-q", str(used.parent / "there.git"), "work2")
    other = used.parent / "work2"
    baton("followup", "add", "of somebody else", "--namespace", "work", cwd=other)
    baton("sync", "--namespace", "work", cwd=other)
    before, there = survey(git, used), git(used.parent / "there.git", "for-each-ref")
    code, screen = typing(used, "uninstall", "--remote", asked="Type yes", typed=b"yes\r")
    assert code == 3, screen
    assert "commits of work that are not here" in screen
    assert (survey(git, used), git(used.parent / "there.git", "for-each-ref")) == (before, there)
