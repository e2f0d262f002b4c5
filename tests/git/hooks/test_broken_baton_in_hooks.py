"""The installed git hooks with every kind of broken baton: a client continues without a message, a server refuses in
one line."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from broken_programs import BROKEN, path_without_baton, spoil
from hook_world import eventually

from baton_git.git.hooks.script import HookScript

PREFIX = "refs/heads/baton/"
PUSHED = f"{'0' * 40} {'1' * 40} {PREFIX}work\n"
SECONDS = {"pre-push": " 10 ", "pre-receive": " 300)", "post-commit": " 120 "}


@pytest.fixture
def git_dir(tmp_path) -> Path:
    """Create the files of a repository that a hook's script reads."""
    folder = tmp_path / "work.git"
    for name in ("objects", "hooks", "baton/due", "baton/unsent"):
        (folder / name).mkdir(parents=True)
    (folder / "baton/due/work").touch()
    (folder / "baton/unsent/work").touch()
    return folder


def run(git_dir: Path, event: str, program: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script of an event as git does, with a shorter time limit for baton."""
    hook = git_dir / "hooks" / event
    limit = SECONDS[event]
    script = HookScript(event, PREFIX, (str(program),)).text.decode()
    assert f"run_within{limit}" in script
    hook.write_text(script.replace(f"run_within{limit}", f"run_within{limit.replace(limit.strip(' )'), '0.2')}"))
    surroundings = {**os.environ, "GIT_DIR": str(git_dir), "PATH": path_without_baton(git_dir.parent)}
    return subprocess.run(
        ["sh", str(hook), *arguments], input=text, capture_output=True, text=True, cwd=git_dir, env=surroundings,
        timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_the_push_hook_is_silent_if_baton_is_broken(git_dir, tmp_path, what):
    program = tmp_path / "baton"
    spoil(program, what)
    done = run(git_dir, "pre-push", program, f"refs/heads/main 1 refs/heads/main {'0' * 40}\n", "origin", "url")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("what", BROKEN)
def test_the_commit_hook_is_silent_if_baton_is_broken(git_dir, tmp_path, what):
    program = tmp_path / "baton"
    spoil(program, what)
    done = run(git_dir, "post-commit", program, "")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    eventually(lambda: (git_dir / "baton/hooks.log").exists() and not (git_dir / "baton/asked").exists())


@pytest.mark.parametrize("what", BROKEN)
def test_a_server_refuses_what_it_cannot_check_in_one_line(git_dir, tmp_path, what):
    program = tmp_path / "baton"
    spoil(program, what)
    done = run(git_dir, "pre-receive", program, PUSHED)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("baton: refused, since baton ")
    assert done.stderr.count("\n") == 1
    assert run(git_dir, "pre-receive", program, PUSHED.replace("/baton/", "/other/")).returncode == 0


def test_the_output_of_a_working_baton_is_shown(git_dir, tmp_path):
    program = tmp_path / "baton"
    program.write_text('#!/bin/sh\necho "baton: $1 $2 $3" >&2; read -r line; echo "$line"; exit ${STATUS:-0}\n')
    program.chmod(0o755)
    done = run(git_dir, "pre-push", program, "refs/heads/main a refs/heads/main b\n", "origin", "url")
    assert done.stderr == "baton: hooks run pre-push\nrefs/heads/main a refs/heads/main b\n"
    done = run(git_dir, "pre-receive", program, PUSHED)
    assert (done.returncode, done.stderr) == (0, f"baton: hooks run pre-receive\n{PUSHED}")
    program.write_text("#!/bin/sh\necho 'baton: OL-1 may not' >&2; exit 1\n")
    done = run(git_dir, "pre-receive", program, PUSHED)
    assert (done.returncode, done.stderr) == (1, "baton: OL-1 may not\n")


def test_the_log_of_a_broken_baton_does_not_grow_for_ever(git_dir, tmp_path):
    program = tmp_path / "baton"
    spoil(program, "exit 1")
    log = git_dir / "baton/hooks.log"
    log.write_bytes(b"x" * (1 << 20))
    run(git_dir, "post-commit", program, "")
    eventually(lambda: log.stat().st_size < 100 and not (git_dir / "baton/asked").exists())
