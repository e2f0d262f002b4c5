"""Git LFS and git-annex beside baton's hooks: whichever was first, a push uploads the large files, and all run once.

Git LFS (seen with 3.3.0) installs pre-push, post-checkout, post-commit and post-merge only where no file has that
name. `git lfs install` reports this, but `git lfs track`, which people use later, does not.
"""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from default_run import slow_after
from hook_world import hook, pre_commit

from baton_git.git.hooks.script import HookScript

REAL = shutil.which("git-lfs")
LFS = ("pre-push", "post-checkout", "post-commit", "post-merge")
RECORDER = """\
#!/bin/sh
case $1 in
  pre-push | post-*) [ "$1" = pre-push ] && input=$(cat) || input=; echo "$* <$input" >>{log}
    [ ! -e {log}.fails ] || exit 3
    [ -z "{real}" ] || printf '%s\\n' "$input" | exec {real} "$@" ;;
  *) [ -z "{real}" ] || exec {real} "$@" ;;
esac
"""
"""A program `git-lfs` that notes which hooks it runs, with their input, before the real program runs them."""
LEFTHOOK = """\
#!/bin/sh
call_lefthook() { shift 2; git-lfs pre-push "$@"; }
call_lefthook run pre-push "$@"
"""


@pytest.fixture
def lfs(git, top, tmp_path, monkeypatch):
    """Set Git LFS up for this user; return the function that lists the hooks that it ran, and forgets them."""
    log = tmp_path / "lfs.log"
    hook(tmp_path / "bin", "git-lfs", RECORDER.format(log=log, real=REAL or ""))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    config = tmp_path / "gitconfig"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    for name, value in (("process", "filter-process"), ("clean", "clean -- %f"), ("smudge", "smudge -- %f")):
        git(top, "config", "--global", f"filter.lfs.{name}", f"git-lfs {value}" if REAL else "")
    git(top, "init", "-q", "--bare", "../r.git")
    git(top, "remote", "add", "origin", "../r.git")

    def list_runs() -> list[str]:
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    list_runs.log = log  # type: ignore[attr-defined]
    return list_runs


@pytest.fixture
def track(git, top):
    """Use Git LFS in the repository, as `git lfs track` does, and commit a large file."""

    def run() -> None:
        if REAL:
            git(top, "lfs", "track", "*.bin")
        else:
            (top / ".git/lfs").mkdir()
            (top / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
            for event in LFS:
                if not (top / ".git/hooks" / event).exists():
                    hook(top / ".git/hooks", event, f'#!/bin/sh\ngit lfs {event} "$@"\n')
        (top / "a.bin").write_bytes(os.urandom(999))
        git(top, "add", "-A")
        git(top, "commit", "-q", "-m", "bin")

    return run


def push(top, *words, **more):
    argv = ["git", "push", "-q", *(words or ("origin", "main"))]
    return subprocess.run(argv, cwd=top, capture_output=True, text=True, env={**os.environ, **more})


def uploaded(top):
    """Return the number of large files that the remote has."""
    return sum(path.is_file() for path in (top.parent / "r.git/lfs").rglob("*"))


def pushes(runs):
    return [line for line in runs if line.startswith("pre-push ")]


def states(baton):
    return {state["event"]: state for state in baton("hooks", "status", "--json").json["events"]}


def remove_namespace(baton, git, top):
    git(top, "update-ref", "-d", "refs/heads/baton/work")


def break_baton(baton, git, top):
    for event in ("pre-push", "post-commit", "post-checkout"):
        (top / ".git/hooks" / event).write_bytes(HookScript(event, "refs/heads/baton/", ("/nowhere/python",)).text)


def leave_unsent(baton, git, top):
    (top / ".git/baton/unsent").mkdir(exist_ok=True)
    (top / ".git/baton/unsent/work").touch()


def do_nothing(baton, git, top):
    pass


@pytest.mark.parametrize(
    ("change", "skip"),
    [(do_nothing, ""), (do_nothing, "BATON_HOOK"), (remove_namespace, ""), (break_baton, ""), (leave_unsent, "")],
)
def test_with_batons_hooks_first_a_push_uploads_the_large_files(baton, git, top, lfs, track, change, skip):
    baton("init")
    baton("hooks", "install")
    change(baton, git, top)
    track()
    lfs()
    done = push(top, **({skip: "1"} if skip else {}))
    assert done.returncode == 0, done.stderr
    head = git(top, "rev-parse", "HEAD")
    assert pushes(lfs()) == [f"pre-push origin ../r.git <refs/heads/main {head} refs/heads/main {'0' * 40}"]
    assert uploaded(top) == (1 if REAL else 0)


def test_a_push_to_an_address_uploads_the_large_files_too(baton, top, lfs, track):
    baton("init")
    baton("hooks", "install")
    track()
    lfs()
    assert push(top, "../r.git", "main").returncode == 0
    assert len(pushes(lfs())) == 1


def test_a_failure_of_git_lfs_fails_the_push(baton, git, top, lfs, track):
    baton("init")
    baton("hooks", "install")
    track()
    lfs.log.with_name("lfs.log.fails").touch()
    assert push(top).returncode != 0
    assert git(top.parent / "r.git", "for-each-ref") == ""


@pytest.mark.parametrize("event", LFS[1:])
def test_the_other_hooks_of_git_lfs_run_with_their_arguments(baton, git, top, lfs, track, event):
    baton("init")
    baton("hooks", "install")
    track()
    git(top, "branch", "other", "HEAD~1")
    old, new = git(top, "rev-parse", "HEAD", "other").splitlines()
    lfs()
    if event == "post-commit":
        git(top, "commit", "-q", "--allow-empty", "-m", "x")
        assert lfs() == ["post-commit <"]
    else:
        git(top, "checkout", "-q", "other")
        assert lfs() == [f"post-checkout {old} {new} 1 <"]
        git(top, "merge", "-q", "main")
        assert "post-merge 0 <" in lfs() or event != "post-merge"


def test_a_repository_without_large_files_does_not_run_git_lfs(baton, git, top, lfs):
    baton("init")
    baton("hooks", "install")
    git(top, "commit", "-q", "--allow-empty", "-m", "x")
    assert push(top).returncode == 0
    assert lfs() == []
    assert states(baton)["pre-push"]["stands_in_for"] == []


def test_large_files_stored_elsewhere_are_found_by_their_attributes(baton, git, top, tmp_path, lfs, track):
    git(top, "config", "--global", "lfs.storage", str(tmp_path / "store"))
    baton("init")
    baton("hooks", "install")
    git(top, "commit", "-q", "--allow-empty", "-m", "x")
    assert lfs() == []
    track()
    shutil.rmtree(top / ".git/lfs", ignore_errors=True)
    lfs()
    assert push(top).returncode == 0
    assert len(pushes(lfs())) == 1


@pytest.mark.parametrize("mine", [False, True], ids=["alone", "with mine"])
def test_after_an_uninstallation_git_lfs_has_the_hooks_that_baton_ran(baton, top, lfs, track, mine):
    if mine:
        hook(top / ".git/hooks", "pre-push", "#!/bin/sh\ncat >/dev/null\n")
    baton("init")
    baton("hooks", "install")
    track()
    told = baton("hooks", "uninstall").err
    lfs()
    assert push(top).returncode == 0
    if mine:  # Git LFS would not have installed its hook without baton either
        assert "pre-push: baton ran the hook of git-lfs; add to" in told
    elif REAL:
        assert "Git LFS installs its hooks" in told
        assert (len(pushes(lfs())), uploaded(top)) == (1, 1)


# --- no other script does it


@pytest.mark.parametrize("name", slow_after(1, ["git-lfs", "lefthook", "mine"]))
def test_a_previous_hook_that_runs_git_lfs_is_the_only_one_to_do_it(baton, top, lfs, track, name):
    texts = {
        "lefthook": LEFTHOOK, "git-lfs": '#!/bin/sh\ngit lfs pre-push "$@"\n',
        "mine": "#!/bin/sh\n# not git lfs\ncat >/dev/null\n",
    }  # fmt: skip
    hook(top / ".git/hooks", "pre-push", texts[name])
    baton("init")
    baton("hooks", "install")
    track()
    lfs()
    assert push(top).returncode == 0
    assert len(pushes(lfs())) == 1
    assert states(baton)["pre-push"]["stands_in_for"] == (["git-lfs"] if name == "mine" else [])


@pytest.mark.parametrize("order", ["baton lfs pre-commit", "lfs pre-commit baton", "baton pre-commit lfs"])
def test_beside_pre_commit_git_lfs_runs_once_in_every_order(baton, top, lfs, track, order):
    baton("init")
    for tool in order.split():
        if tool == "baton":
            baton("hooks", "install")
        elif tool == "lfs":
            track()
        else:
            pre_commit(top / ".git/hooks", "pre-push")
    lfs()
    assert push(top).returncode == 0
    assert len(pushes(lfs())) == 1


def test_hooks_that_git_lfs_overwrote_are_found_and_repaired_so_that_both_run(baton, git, top, lfs, track):
    baton("init")
    baton("hooks", "install")
    track()
    for event in LFS:  # git lfs update --force
        hook(top / ".git/hooks", event, f'#!/bin/sh\ngit lfs {event} "$@"\n')
    assert [event for event, state in states(baton).items() if state["runs"]] == ["post-rewrite"]
    assert "Git LFS has put its own hook" in states(baton)["pre-push"]["summary"]
    found = baton("doctor", "hooks", code=1).out
    assert all(event in found for event in LFS)
    baton("doctor", "--fix", "--yes", "hooks")
    assert all(state["runs"] for state in states(baton).values())
    assert states(baton)["pre-push"]["stands_in_for"] == []
    leave_unsent(baton, git, top)
    program = hook(top.parent, "called", f"#!/bin/sh\necho baton <&0 >>{lfs.log}\n")
    (top / ".git/hooks/pre-push").write_bytes(HookScript("pre-push", "refs/heads/baton/", (str(program),)).text)
    lfs()
    assert push(top).returncode == 0
    assert [line.split()[0] for line in lfs()] == ["pre-push", "baton"]


# --- status


def test_status_and_doctor_name_the_tool_whose_place_a_hook_has(baton, top, lfs, track):
    baton("init")
    baton("hooks", "install")
    assert not any(state["stands_in_for"] for state in states(baton).values())
    track()
    assert {event for event, state in states(baton).items() if state["stands_in_for"] == ["git-lfs"]} == set(LFS)
    assert "runs git lfs pre-push too" in baton("hooks", "status").out
    assert "git-lfs" in baton("doctor", "hooks", "--all").out


def test_an_older_script_that_keeps_git_lfs_out_is_an_error(baton, top, lfs, track):
    baton("init")
    baton("hooks", "install")
    track()
    path = top / ".git/hooks/pre-push"
    path.write_bytes(path.read_bytes().replace(b"run_kept_out", b"run_nothing"))
    state = states(baton)["pre-push"]
    assert (state["keeps_out"], state["stands_in_for"]) == (["git-lfs"], [])
    assert "pre-push: not up to date, and keep the hooks of git-lfs out" in baton("doctor", "hooks", code=1).out
    baton("hooks", "install")
    assert states(baton)["pre-push"]["stands_in_for"] == ["git-lfs"]


# --- core.hooksPath


def add_lines(baton, place, *, first=True, only=()):
    """Add the lines that `baton hooks install` prints to the scripts in a folder."""
    for line in baton("hooks", "install").err.splitlines():
        event = line.partition("/baton/hooks/")[2].partition('"')[0]
        if line.startswith("  hook=") and (not only or event in only):
            text = (place / event).read_text() if (place / event).exists() else "#!/bin/sh\n"
            lines = text.splitlines()
            lines.insert(1 if first else len(lines), line.strip())
            hook(place, event, "\n".join(lines) + "\n")


@pytest.mark.parametrize(
    "husky", [pytest.param(False, id="tracked"), pytest.param(True, id="husky", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("mine", ["", "lfs", "reader"])
@pytest.mark.parametrize("first", slow_after(1, [False, True]), ids=["last", "first"])
def test_a_line_in_a_tracked_hook_keeps_the_input_for_the_others(baton, git, top, lfs, track, husky, mine, first):
    baton("init")
    folder = top / (".husky/_" if husky else ".githooks")
    place = folder.parent if husky else folder
    folder.mkdir(parents=True)
    git(top, "config", "core.hooksPath", str(folder.relative_to(top)))
    if husky:
        hook(folder, "pre-push", '#!/bin/sh\nsh -e "$(dirname "$(dirname "$0")")/pre-push" "$@"\n')
    commands = {
        "lfs": 'git lfs pre-push "$@"\n', "reader": 'while read -r line; do echo "$line" >>guard; done\n', "": "",
    }  # fmt: skip
    hook(place, "pre-push", "#!/bin/sh\n" + commands[mine], mode=0o644 if husky else 0o755)
    add_lines(baton, place, first=first, only=("pre-push",))
    leave_unsent(baton, git, top)
    hook(top / ".git/hooks", "pre-push", "#!/bin/sh\nexit 1\n")  # core.hooksPath hides it
    track()
    lfs()
    done = push(top)
    assert done.returncode == 0, done.stderr
    head = git(top, "rev-parse", "HEAD")
    if mine == "reader":
        assert (top / "guard").read_text() == f"refs/heads/main {head} refs/heads/main {'0' * 40}\n"
    runs = pushes(lfs())
    assert len(runs) == 1
    assert head in runs[0] or (mine == "reader" and not first)
    state = states(baton)["pre-push"]
    assert state["gets_input"] == (first or not mine)
    assert state["stands_in_for"] == ([] if mine == "lfs" else ["git-lfs"])


@pytest.mark.parametrize("start", ["#!/bin/sh\n", ""], ids=["with #!", "as the first line"])
def test_an_older_line_before_other_commands_leaves_them_the_input_and_is_reported(baton, git, top, lfs, start):
    baton("init")
    git(top, "config", "core.hooksPath", ".githooks")
    old = 'hook="$(git rev-parse --git-common-dir)/baton/hooks/pre-push"; [ ! -x "$hook" ] || "$hook" "$@"\n'
    hook(top / ".githooks", "pre-push", f"{start}{old}cat >guard\n")
    baton("hooks", "install")
    leave_unsent(baton, git, top)
    assert push(top).returncode == 0
    assert "refs/heads/main" in (top / "guard").read_text()
    state = states(baton)["pre-push"]
    assert not state["gets_input"]
    assert "replace the line with: hook=" in state["summary"]
    hook(top / ".githooks", "pre-push", f"#!/bin/sh\n{old}")
    assert states(baton)["pre-push"]["gets_input"]


@pytest.mark.parametrize("who", ["a hook of its own", "a setting", "nobody"])
def test_hooks_in_gits_settings_leave_the_place_to_git_lfs(baton, git, top, lfs, track, who):
    """Git 2.54 and newer. The script is called as git would call it, because an older git ignores the settings. A hook
    that was a file before may have kept Git LFS out, and then runs its hook as a setting, too.
    """
    baton("init")
    if who == "a hook of its own":
        track()
    baton("hooks", "install")
    (top / ".git/hooks/pre-push.pre-baton").unlink(missing_ok=True)
    (top / ".git/hooks/pre-push").unlink()
    if who == "a hook of its own":
        hook(top / ".git/hooks", "pre-push", '#!/bin/sh\ngit lfs pre-push "$@"\n')
    else:
        track()
        (top / ".git/hooks/pre-push").unlink(missing_ok=True)
    if who == "a setting":
        git(top, "config", "hook.lfs.command", "git lfs pre-push")
    lfs()
    command = 'hook="$(git rev-parse --git-common-dir)/baton/hooks/pre-push"; test ! -x "$hook" || "$hook"'
    subprocess.run(["sh", "-c", f'{command} "$@"', "-", "origin", "../r.git"], cwd=top, input=b"", check=True)
    assert len(lfs()) == (who == "nobody")


# --- git-annex


@pytest.mark.parametrize("first", [True, False], ids=["baton first", "git-annex first"])
def test_the_hooks_of_git_annex_run_once_too(baton, git, top, tmp_path, monkeypatch, first):
    """git-annex (seen with 10.20230126) leaves post-checkout, post-merge and post-receive alone if they exist."""
    log = tmp_path / "annex.log"
    hook(tmp_path / "bin", "git-annex", f'#!/bin/sh\necho "$*" >>{log}\n')
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    baton("init")
    if not first:
        for event in ("post-checkout", "post-merge"):
            hook(
                top / ".git/hooks",
                event,
                "#!/bin/sh\n# automatically configured by git-annex\ngit annex smudge --update\n",
            )
    baton("hooks", "install", "--server")
    git(top, "checkout", "-q", "-b", "before")
    assert log.exists() != first
    log.unlink(missing_ok=True)
    git(top, "config", "annex.uuid", "2e452c87-7967-4ff4-a0fa-f1b030b23deb")
    git(top, "checkout", "-q", "-b", "other")
    assert log.read_text() == "smudge --update\n"
    git(top, "push", "-q", ".", "other:refs/heads/pushed")
    assert log.read_text() == "smudge --update\npost-receive\n"
    expected = ["git-annex"] if first else []
    assert [states(baton)[event]["stands_in_for"] for event in ("post-merge", "post-commit")] == [expected, []]
