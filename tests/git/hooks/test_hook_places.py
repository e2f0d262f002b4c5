"""Whether hooks run: core.hooksPath, linked work trees, moved and copied repositories, newer versions of git."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from default_run import slow_after
from hook_world import CLIENT, eventually, everything, hook, quiet


@pytest.fixture
def status(baton, top):
    """Return the result of `baton hooks status`, with the events by name."""

    def ask(cwd: Path = top, **more):
        data = baton("hooks", "status", "--json", cwd=cwd, **more).json
        return {**data, "events": {one["event"]: one for one in data["events"]}}

    return ask


@pytest.fixture
def is_verified(baton, top, git):
    """Add a loop that the file `done` verifies; return a function that tells whether it is verified."""
    baton("init")
    baton("loop", "add", "x", "--expect", "y", "--id", "OL-1", "--verify-file", "done")

    def found() -> bool:
        return 'status = "verified"' in git(top, "show", "baton/work:open_loops/OL-1.toml")

    return found


def commit(git, where):
    (where / "done").touch()
    git(where, "commit", "-q", "--allow-empty", "-m", "x")


# --- core.hooksPath


@pytest.mark.slow
@pytest.mark.parametrize("folder", [".husky/_", ".githooks"])
def test_a_tracked_folder_of_hooks_is_never_written_to(baton, git, top, status, is_verified, folder):
    """lefthook#1429: installed into a folder that git does not use; husky: hooks in .git/hooks silently stop."""
    (top / folder).mkdir(parents=True)
    git(top, "config", "core.hooksPath", folder)
    before = everything(top / ".git/hooks"), everything(top / folder)
    done = baton("hooks", "install")
    assert (everything(top / ".git/hooks"), everything(top / folder)) == before
    assert status()["mode"] == "external"
    assert not status()["events"]["post-commit"]["runs"]
    place = top / (".husky" if "husky" in folder else folder) / "post-commit"
    assert f"add this line to {place}" in done.err
    line = next(one.strip() for one in done.err.splitlines() if "/baton/hooks/post-commit" in one)

    hook(place.parent, "post-commit", f"#!/bin/sh\n{line}\n")
    if "husky" in folder:
        hook(top / folder, "post-commit", '#!/bin/sh\n. "$(dirname "$(dirname "$0")")/post-commit"\n')
    assert status()["events"]["post-commit"]["runs"]
    commit(git, top)
    eventually(is_verified)
    baton("hooks", "uninstall")
    git(top, "commit", "-q", "--allow-empty", "-m", "the line that is left does no harm")


def test_hooks_that_are_set_for_all_repositories_are_left_alone(baton, top, status, tmp_path, monkeypatch):
    """lefthook#1248: with a global core.hooksPath the installer took over every repository of the user."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "gitconfig").write_text(f"[core]\n\thooksPath = {tmp_path}/mine\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    done = baton("hooks", "install")
    assert "for all your repositories" in done.err
    assert not list((tmp_path / "mine").iterdir())
    assert status()["events"]["pre-push"]["summary"].startswith("core.hooksPath is")


def test_a_local_setting_overrides_a_global_one(baton, git, top, status, tmp_path, monkeypatch):
    """As in beads#2729."""
    (tmp_path / "gitconfig").write_text(f"[core]\n\thooksPath = {tmp_path}/mine\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    git(top, "config", "core.hooksPath", str(top / ".git/hooks"))
    baton("hooks", "install")
    assert status()["mode"] == "files"
    assert all(one["runs"] for one in status()["events"].values())


@pytest.mark.parametrize("value", ["/nowhere/hooks", "/dev/null"])
def test_a_missing_hooks_path_disables_all_hooks_and_is_reported(baton, git, top, status, value):
    """beads#5853: an absolute path was outdated after a move, and git ran no hooks, without a message."""
    baton("hooks", "install")
    git(top, "config", "core.hooksPath", value)
    found = status()["events"]["post-commit"]
    assert not found["runs"]
    assert "no hook runs at all" in found["summary"]


def test_an_empty_hooks_path_disables_all_hooks_and_no_place_for_a_line_is_named(baton, git, top, status):
    """git 2.39.5 looks for hooks in the root of the file system then; a line in the work tree would never run."""
    git(top, "config", "core.hooksPath", "")
    said = baton("hooks", "install").err
    for text in (said, status()["events"]["post-commit"]["summary"]):
        assert "no hook runs at all" in text
        assert "git config --unset core.hooksPath" in text
        assert "add this line" not in text
    assert "installed: " not in said
    git(top, "config", "core.hooksPath", "../shared")
    assert baton("hooks", "install").err.splitlines()[-1] == "nothing to do"
    baton("hooks", "uninstall")
    said = baton("hooks", "install").err
    assert said.splitlines()[-1].startswith("written, but git does not run them: post-commit, ")
    assert "installed: " not in said


def test_status_without_hooks_names_the_installation_and_not_what_makes_up_for_hooks(baton, status):
    assert "no hook of baton is installed here" in baton("hooks", "status").err
    baton("hooks", "install")
    baton("hooks", "uninstall")
    said = baton("hooks", "status").err
    assert "to install them: baton hooks install" in said
    assert "makes up" not in said


def test_a_folder_of_hooks_that_is_a_link_to_others_is_left_alone(baton, top, status, tmp_path):
    shutil.rmtree(top / ".git/hooks")
    (tmp_path / "shared").mkdir()
    (top / ".git/hooks").symlink_to(tmp_path / "shared")
    assert "link to a folder" in baton("hooks", "install").err
    assert not list((tmp_path / "shared").iterdir())
    assert status()["mode"] == "external"


# --- work trees, moves, copies


@pytest.mark.slow
def test_hooks_run_in_a_linked_work_tree_too(baton, git, top, status, is_verified):
    baton("hooks", "install")
    git(top, "worktree", "add", "-q", "../linked")
    linked = top.parent / "linked"
    assert all(one["runs"] for one in status(linked)["events"].values())
    commit(git, linked)
    eventually(is_verified)
    assert git(top, "show", "baton/work:open_loops/OL-1.toml").count(git(linked, "rev-parse", "HEAD")) == 1


@pytest.mark.parametrize("command", ["git commit -q --allow-empty -m x", "git push -q origin HEAD:x"])
def test_no_hook_of_husky_runs_in_a_linked_work_tree_and_status_says_so(baton, git, top, status, command):
    """husky 9.1.7 (index.js) sets the relative path `.husky/_` and creates that folder with a .gitignore of `*`, so a
    new linked work tree does not have it, and git runs no hook there, without a message.

    Also reported as beads#2414, #3118, #1127.
    """
    (top / ".husky/_").mkdir(parents=True)
    (top / ".husky/_/.gitignore").write_text("*")
    event = "post-commit" if "commit" in command else "pre-push"
    hook(top / ".husky/_", event, '#!/bin/sh\nsh -e "$(dirname "$(dirname "$0")")/$(basename "$0")" "$@"\n')
    hook(top / ".husky", event, '#!/bin/sh\ntouch "$(git rev-parse --git-common-dir)/ran"\n')
    git(top, "config", "core.hooksPath", ".husky/_")
    baton("hooks", "install")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "with husky")
    (top / ".git/ran").unlink(missing_ok=True)
    git(top, "init", "-q", "--bare", "../r.git")
    git(top, "remote", "add", "origin", "../r.git")
    git(top, "worktree", "add", "-q", "../linked")
    assert (top.parent / "linked/.husky" / event).exists()
    subprocess.run(shlex.split(command), cwd=top.parent / "linked", check=True)
    assert not (top / ".git/ran").exists()
    assert "no hook runs at all" in status(top.parent / "linked")["events"][event]["summary"]
    assert "no hook runs at all" not in status()["events"][event]["summary"]
    subprocess.run(shlex.split(command), cwd=top, check=True)
    assert (top / ".git/ran").exists()


@pytest.mark.parametrize("value", slow_after(1, [".githooks", ".git/hooks", "../.githooks"]))
def test_a_push_into_a_work_tree_looks_for_a_relative_hooks_path_in_its_git_directory(baton, git, top, status, value):
    """Seen with git 2.39.5: `git receive-pack` runs in the git directory (builtin/receive-pack.c), and there git
    resolves `core.hooksPath`, whereas a commit resolves it in the work tree, as `git rev-parse --git-path` does.
    """
    baton("init")
    folder = Path(os.path.normpath(top / value))
    folder.mkdir(exist_ok=True)
    git(top, "config", "core.hooksPath", value)
    done = baton("hooks", "install", "--server")
    looked_at = Path(os.path.normpath(top / ".git" / value))
    if value == ".git/hooks":
        assert (looked_at / "pre-receive").exists()
    elif value == ".githooks":
        assert "no hook runs at all" in status()["events"]["pre-receive"]["summary"]
        assert f"a push looks for it in {looked_at}" in status()["events"]["pre-receive"]["summary"]
    lines = [one.strip() for one in done.err.splitlines() if "/baton/hooks/pre-receive" in one]
    for line in lines:
        hook(folder, "pre-receive", "#!/bin/sh\nexit 1\n")  # a push does not run it, unless it is the same folder
        hook(looked_at, "pre-receive", f"#!/bin/sh\n{line}\n")
    assert status()["events"]["pre-receive"]["runs"]
    tip = git(top, "rev-parse", "baton/work")
    empty = git(top, "commit-tree", "-m", "x", git(top, "mktree", text=""))
    done = subprocess.run(["git", "push", "-q", ".", f"+{empty}:refs/heads/baton/work"], cwd=top, capture_output=True)
    assert b"remote: baton: " in done.stderr
    assert (done.returncode != 0, git(top, "rev-parse", "baton/work")) == (True, tip)
    git(top, "push", "-q", ".", "HEAD:refs/heads/other")
    baton("hooks", "uninstall")
    assert lines or not (looked_at / "pre-receive").exists()


def test_a_hooks_path_of_one_work_tree_is_reported_there(baton, git, top, status):
    """claude-code#88747: hooks were off in 22 of 45 work trees by their config.worktree."""
    baton("hooks", "install")
    git(top, "worktree", "add", "-q", "../linked")
    git(top, "config", "extensions.worktreeConfig", "true")
    git(top.parent / "linked", "config", "--worktree", "core.hooksPath", "/gone")
    assert not status(top.parent / "linked")["events"]["post-commit"]["runs"]
    assert status()["events"]["post-commit"]["runs"]


@pytest.mark.slow
def test_hooks_of_a_submodule_are_its_own(baton, git, top, tmp_path, status):
    git(tmp_path, "clone", "-q", "work", "other")
    git(top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../other", "sub")
    sub = top / "sub"
    baton("init", cwd=sub)
    baton("loop", "add", "x", "--expect", "y", "--id", "OL-1", "--verify-file", "done", cwd=sub)
    baton("hooks", "install", cwd=sub)
    assert all(one["runs"] for one in status(sub)["events"].values())
    commit(git, sub)
    eventually(lambda: "verified" in git(sub, "log", "-1", "--format=%s", "baton/sub"))
    assert not (top / ".git/hooks/post-commit").exists()


@pytest.mark.slow
def test_a_repository_that_was_moved_keeps_its_hooks(baton, git, top, status, is_verified):
    baton("hooks", "install")
    moved = top.rename(top.parent / "moved")
    assert all(one["runs"] for one in status(moved)["events"].values())
    git(moved, "config", "baton.namespace", "work")
    commit(git, moved)
    eventually(lambda: "verified" in git(moved, "log", "-1", "--format=%s", "baton/work"))


@pytest.mark.slow
def test_the_hooks_of_a_copy_leave_the_original_alone(baton, git, top, is_verified):
    baton("hooks", "install")
    copy = top.parent / "copy"
    shutil.copytree(top, copy, symlinks=True)
    before = git(top, "rev-parse", "baton/work")
    commit(git, copy)
    eventually(lambda: "verified" in git(copy, "log", "-1", "--format=%s", "baton/work"))
    assert git(top, "rev-parse", "baton/work") == before


# --- git 2.54 and newer


@pytest.fixture
def newer_git(tmp_path, monkeypatch):
    """Put a git on the PATH that reports version 2.54, but ignores the settings of hooks as the installed git does."""
    real = shutil.which("git")
    folder = tmp_path / "newer"
    hook(folder, "git", f'#!/bin/sh\n[ "$1" != version ] || {{ echo git version 2.54.1; exit; }}\nexec {real} "$@"\n')
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.slow
@pytest.mark.usefixtures("newer_git")
def test_a_newer_git_gets_settings_and_no_files(baton, git, top, status):
    git(top, "config", "core.hooksPath", "/gone")
    before = everything(top / ".git/hooks"), (top / ".git/config").read_bytes()
    baton("hooks", "install")
    assert everything(top / ".git/hooks") == before[0]
    for event in CLIENT:
        assert git(top, "config", "--get-all", f"hook.baton-{event}.event") == event
        command = git(top, "config", "--get-all", f"hook.baton-{event}.command")
        assert not command.endswith(";")
        done = subprocess.run(["sh", "-c", f'{command} "$@"', command, "a", "a"], cwd=top, check=True)
        assert done.returncode == 0
    assert git(top, "config", "--name-only", "--get-regexp", r"^hook\.").count("\n") + 1 == 2 * len(CLIENT)
    assert status()["mode"] == "configured"
    assert all(one["runs"] for one in status()["events"].values())
    assert baton("hooks", "install", "--json").json["changed"] is False
    baton("hooks", "uninstall")
    assert (everything(top / ".git/hooks"), (top / ".git/config").read_bytes()) == before


@pytest.mark.slow
@pytest.mark.usefixtures("newer_git")
def test_the_configured_command_runs_the_script_with_gits_arguments(baton, git, top, is_verified):
    baton("hooks", "install")
    (top / "done").touch()
    command = git(top, "config", "hook.baton-post-checkout.command")
    subprocess.run(["sh", "-c", f'{command} "$@"', command, "a", "b", "1"], cwd=top, check=True)
    eventually(is_verified)
    shutil.rmtree(top / ".git/baton/hooks")
    command = git(top, "config", "hook.baton-pre-push.command")
    subprocess.run(["sh", "-c", f'{command} "$@"', command, "origin", "url"], cwd=top, check=True)


@pytest.mark.usefixtures("newer_git")
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (["hook.baton-post-commit.enabled", "false"], "switched off"),
        (["hook.baton-post-commit.event", "post-merge"], "have no hook.baton-post-commit"),
        (["hook.baton-post-commit.command", "true"], "was changed"),
    ],
)
def test_changed_settings_are_reported(baton, git, top, status, setting, message):
    baton("hooks", "install")
    git(top, "config", *setting)
    assert message in status()["events"]["post-commit"]["summary"]


def test_installed_files_become_settings_with_a_newer_git_and_files_again_with_an_older_one(
    baton, git, top, request, tmp_path
):
    hook(top / ".git/hooks", "post-commit", "#!/bin/sh\necho mine\n")
    before = everything(top / ".git/hooks"), (top / ".git/config").read_bytes()
    baton("hooks", "install")
    request.getfixturevalue("newer_git")
    baton("hooks", "install")
    assert everything(top / ".git/hooks") == before[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", os.environ["PATH"].partition(os.pathsep)[2])
        baton("hooks", "install")
        assert (top / ".git/config").read_bytes() == before[1]
        baton("hooks", "uninstall")
    assert everything(top / ".git/hooks") == before[0]


def test_a_program_with_an_odd_name_is_quoted(baton, git, top, tmp_path, is_verified):
    from baton_git.git.hooks.script import HookScript

    baton("hooks", "install")
    odd = tmp_path / "it's $here"
    odd.mkdir()
    hook(odd, "baton", f'#!/bin/sh\necho "$@" >{shlex.quote(str(tmp_path / "called"))}\n')
    (top / ".git/hooks/post-commit").write_bytes(
        HookScript("post-commit", "refs/heads/baton/", (str(odd / "baton"), "a b")).text
    )
    commit(git, top)
    quiet(top)
    eventually(lambda: (tmp_path / "called").exists())
    assert (tmp_path / "called").read_text() == "a b hooks run post-commit --repo .git\n"
