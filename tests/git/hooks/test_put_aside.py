"""Tools that rename our script and run it from their own hook: pre-commit, prek, and similar ones."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hook_world import everything, hook, pre_commit

from baton_git.git.hooks.script import HookScript

MINE = "#!/bin/sh\necho mine $(cat) >>ran\n"
RUNS_OLD = '#!/bin/sh\n[ ! -x "$0.old" ] || "$0.old" "$@" || exit\necho tool >>ran\n'


@pytest.fixture
def folder(baton, git, top):
    """Return the folder of hooks, in a repository with a remote and with commits to push."""
    baton("init")
    git(top, "init", "-q", "--bare", "../r.git")
    git(top, "remote", "add", "origin", "../r.git")
    (top / ".git/baton/unsent").mkdir(exist_ok=True)
    (top / ".git/baton/unsent/work").touch()
    return top / ".git/hooks"


@pytest.fixture
def ran(git, top, folder):
    """Push; return the hooks that ran, in order, with ours as `baton`."""
    number = iter(range(9))

    def push() -> list[str]:
        program = hook(top.parent, "called", "#!/bin/sh\necho baton >>ran\n")
        ours = {path: path.read_bytes() for path in folder.glob("pre-push*")}
        ours = {path: was for path, was in ours.items() if b"# baton-git hook" in was}
        for path in ours:
            path.write_bytes(HookScript("pre-push", "refs/heads/baton/", (str(program),)).text)
        git(top, "push", "-q", "origin", f"main:b{next(number)}")
        for path, was in ours.items():
            path.write_bytes(was)
        said = (top / "ran").read_text().splitlines()
        (top / "ran").unlink()
        return [line.split()[0] for line in said]

    return push


@pytest.fixture
def said(baton):
    """Return the line of the status about pre-push: whether it runs, and how."""

    def ask() -> tuple[bool, str]:
        (one,) = (one for one in baton("hooks", "status", "--json").json["events"] if one["event"] == "pre-push")
        return one["runs"], one["said"]

    return ask


def names(folder):
    return sorted(path.name for path in folder.glob("pre-push*") if path.suffix != ".sample")


def again(baton):
    """Return whether another installation changes anything."""
    return baton("hooks", "install", "--json").json["changed"]


@pytest.mark.parametrize("mine", [False, True], ids=["alone", "with mine"])
@pytest.mark.parametrize("tool", ["pre-commit", "prek"])
def test_pre_commit_that_is_installed_again_moves_nothing_and_loses_nothing(baton, folder, ran, said, tool, mine):
    if mine:
        hook(folder, "pre-push", MINE)
    pre_commit(folder, "pre-push", tool=tool)
    before = everything(folder)
    baton("hooks", "install")
    pre_commit(folder, "pre-push", tool=tool)
    assert said() == (True, f"as {folder}/pre-push.legacy")
    assert ran() == ["mine", "baton", "pre-commit"][not mine :]
    assert not again(baton)
    baton("hooks", "uninstall")
    assert everything(folder) == before
    assert ran() == ["mine", "pre-commit"][not mine :]


@pytest.fixture
def moved(baton, folder):
    """Create the state in which pre-commit has moved our script, which runs an older script of pre-commit."""
    baton("hooks", "install")
    shutil.copy(folder / "pre-push", folder / "kept")
    (folder / "pre-push").unlink()
    pre_commit(folder, "pre-push", config="older.yaml")
    (folder / "pre-push").rename(folder / "pre-push.pre-baton")
    (folder / "kept").rename(folder / "pre-push")
    pre_commit(folder, "pre-push")
    assert names(folder) == ["pre-push", "pre-push.legacy", "pre-push.pre-baton"]


@pytest.mark.usefixtures("moved")
def test_a_script_that_was_moved_away_runs_without_the_movers_own(folder, ran, said):
    assert said() == (True, f"as {folder}/pre-push.legacy")
    assert ran() == ["baton", "pre-commit"]


@pytest.mark.usefixtures("moved")
def test_an_installation_clears_away_what_was_behind_a_moved_script(baton, folder, ran, said):
    assert again(baton)
    assert not again(baton)
    assert names(folder) == ["pre-push", "pre-push.legacy"]
    assert said()[0]
    assert ran() == ["baton", "pre-commit"]


@pytest.mark.usefixtures("moved")
def test_uninstalling_takes_away_a_moved_script_and_what_was_behind_it(baton, folder, ran):
    baton("hooks", "uninstall")
    assert names(folder) == ["pre-push"]
    assert ran() == ["pre-commit"]
    assert baton("hooks", "uninstall", "--json").json["changed"] is False


def test_uninstalling_puts_the_previous_script_where_batons_was_moved(baton, folder, ran):
    hook(folder, "pre-push", MINE)
    baton("hooks", "install")
    pre_commit(folder, "pre-push")
    assert ran() == ["mine", "baton", "pre-commit"]
    shutil.copytree(folder, folder.with_name("copy"))
    baton("hooks", "uninstall")
    assert (folder / "pre-push.legacy").read_text() == MINE
    assert ran() == ["mine", "pre-commit"]
    shutil.rmtree(folder)
    folder.with_name("copy").rename(folder)
    (folder / "pre-push").unlink()
    baton("hooks", "uninstall")
    assert names(folder) == ["pre-push"]
    assert (folder / "pre-push").read_text() == MINE


def test_uninstalling_pre_commit_leaves_batons_hook_in_place(baton, folder, ran, said):
    hook(folder, "pre-push", MINE)
    pre_commit(folder, "pre-push")
    baton("hooks", "install")
    (folder / "pre-push.legacy").replace(folder / "pre-push")  # pre-commit uninstall
    assert said() == (True, f"as {folder}/pre-push")
    assert not again(baton)
    assert ran() == ["mine", "baton"]


def test_a_pre_commit_that_skips_batons_hook_is_reported_and_repaired(baton, folder, ran, said):
    pre_commit(folder, "pre-push")
    baton("hooks", "install")
    (folder / "pre-push").chmod(0o644)
    assert said() == (False, f"{folder}/pre-push is not executable")
    (folder / "pre-push").chmod(0o755)
    (folder / "pre-push.legacy").unlink()  # pre-commit install --overwrite
    assert said() == (False, f"{folder}/pre-push.legacy was removed; run: baton hooks install")
    assert ran() == ["pre-commit"]
    assert again(baton)
    assert ran() == ["baton", "pre-commit"]


def test_a_tool_that_runs_its_moved_script_runs_once(baton, folder, ran, said):
    hook(folder, "pre-push", RUNS_OLD)
    baton("hooks", "install")
    (folder / "pre-push").rename(folder / "pre-push.old")
    hook(folder, "pre-push", RUNS_OLD)
    assert ran() == ["baton", "tool"]
    assert "another tool has put its own hook" in said()[1]
    shutil.copytree(folder, folder.with_name("copy"))
    baton("hooks", "uninstall")
    assert names(folder) == ["pre-push"]
    assert (folder / "pre-push").read_text() == RUNS_OLD
    shutil.rmtree(folder)
    folder.with_name("copy").rename(folder)
    assert again(baton)
    assert not again(baton)
    assert names(folder) == ["pre-push", "pre-push.pre-baton"]
    assert said() == (True, f"as {folder}/pre-push")
    assert ran() == ["tool", "baton"]


def test_an_edited_moved_script_is_reported(baton, folder):
    pre_commit(folder, "pre-push")
    baton("hooks", "install")
    with (folder / "pre-push.legacy").open("a") as file:
        file.write("# edited\n")
    assert f"{folder}/pre-push.legacy was changed by hand" in baton("hooks", "uninstall").err
    assert (folder / "pre-push.legacy").exists()


def test_a_script_of_baton_is_not_taken_for_pre_commits(baton, folder):
    baton("hooks", "install")
    done = subprocess.run(["grep", "-c", "^# File generated by", str(folder / "pre-push")], capture_output=True)
    assert done.stdout == b"0\n"
