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
        lines = (top / "ran").read_text().splitlines()
        (top / "ran").unlink()
        return [line.split()[0] for line in lines]

    return push


@pytest.fixture
def pre_push_status(baton):
    """Return a function that asks for the status of pre-push: whether it will run, and a sentence about it."""

    def ask() -> tuple[bool, str]:
        (one,) = (one for one in baton("hooks", "status", "--json").json["events"] if one["event"] == "pre-push")
        return one["runs"], one["summary"]

    return ask


def names(folder):
    return sorted(path.name for path in folder.glob("pre-push*") if path.suffix != ".sample")


def reinstall(baton):
    """Install the hooks; return whether that changed anything."""
    return baton("hooks", "install", "--json").json["changed"]


@pytest.mark.parametrize("mine", [False, True], ids=["alone", "with mine"])
@pytest.mark.parametrize("tool", ["pre-commit", "prek"])
def test_pre_commit_that_is_installed_again_moves_nothing_and_loses_nothing(
    baton, folder, ran, pre_push_status, tool, mine
):
    if mine:
        hook(folder, "pre-push", MINE)
    pre_commit(folder, "pre-push", tool=tool)
    before = everything(folder)
    baton("hooks", "install")
    pre_commit(folder, "pre-push", tool=tool)
    assert pre_push_status() == (True, f"as {folder}/pre-push.legacy")
    assert ran() == ["mine", "baton", "pre-commit"][not mine :]
    assert not reinstall(baton)
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
def test_a_moved_script_does_not_run_the_older_script_of_the_tool_that_moved_it(folder, ran, pre_push_status):
    assert pre_push_status() == (True, f"as {folder}/pre-push.legacy")
    assert ran() == ["baton", "pre-commit"]


@pytest.mark.usefixtures("moved")
def test_an_installation_removes_the_previous_hook_of_a_moved_script(baton, folder, ran, pre_push_status):
    assert reinstall(baton)
    assert not reinstall(baton)
    assert names(folder) == ["pre-push", "pre-push.legacy"]
    assert pre_push_status()[0]
    assert ran() == ["baton", "pre-commit"]


@pytest.mark.usefixtures("moved")
def test_uninstalling_removes_a_moved_script_and_its_previous_hook(baton, folder, ran):
    baton("hooks", "uninstall")
    assert names(folder) == ["pre-push"]
    assert ran() == ["pre-commit"]
    assert baton("hooks", "uninstall", "--json").json["changed"] is False


def test_uninstalling_puts_the_previous_hook_where_batons_script_was_moved(baton, folder, ran):
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


def test_uninstalling_pre_commit_leaves_batons_hook_in_place(baton, folder, ran, pre_push_status):
    hook(folder, "pre-push", MINE)
    pre_commit(folder, "pre-push")
    baton("hooks", "install")
    (folder / "pre-push.legacy").replace(folder / "pre-push")  # pre-commit uninstall
    assert pre_push_status() == (True, f"as {folder}/pre-push")
    assert not reinstall(baton)
    assert ran() == ["mine", "baton"]


def test_a_pre_commit_that_skips_batons_hook_is_reported_and_repaired(baton, folder, ran, pre_push_status):
    pre_commit(folder, "pre-push")
    baton("hooks", "install")
    (folder / "pre-push").chmod(0o644)
    assert pre_push_status() == (False, f"{folder}/pre-push is not executable")
    (folder / "pre-push").chmod(0o755)
    (folder / "pre-push.legacy").unlink()  # pre-commit install --overwrite
    assert pre_push_status() == (False, f"{folder}/pre-push.legacy was removed; run: baton hooks install")
    assert ran() == ["pre-commit"]
    assert reinstall(baton)
    assert ran() == ["baton", "pre-commit"]


def test_a_tool_that_runs_the_script_that_it_moved_is_itself_run_once(baton, folder, ran, pre_push_status):
    hook(folder, "pre-push", RUNS_OLD)
    baton("hooks", "install")
    (folder / "pre-push").rename(folder / "pre-push.old")
    hook(folder, "pre-push", RUNS_OLD)
    assert ran() == ["baton", "tool"]
    assert "another tool has put its own hook" in pre_push_status()[1]
    shutil.copytree(folder, folder.with_name("copy"))
    baton("hooks", "uninstall")
    assert names(folder) == ["pre-push"]
    assert (folder / "pre-push").read_text() == RUNS_OLD
    shutil.rmtree(folder)
    folder.with_name("copy").rename(folder)
    assert reinstall(baton)
    assert not reinstall(baton)
    assert names(folder) == ["pre-push", "pre-push.pre-baton"]
    assert pre_push_status() == (True, f"as {folder}/pre-push")
    assert ran() == ["tool", "baton"]


def test_an_edited_moved_script_is_reported(baton, folder):
    pre_commit(folder, "pre-push")
    baton("hooks", "install")
    with (folder / "pre-push.legacy").open("a") as file:
        file.write("# edited\n")
    assert f"{folder}/pre-push.legacy was changed by hand" in baton("hooks", "uninstall").err
    assert (folder / "pre-push.legacy").exists()


def test_a_script_of_baton_is_not_mistaken_for_one_of_pre_commit(baton, folder):
    baton("hooks", "install")
    done = subprocess.run(["grep", "-c", "^# File generated by", str(folder / "pre-push")], capture_output=True)
    assert done.stdout == b"0\n"
