"""Checks that run commands: real programs, approved or not."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from waiting import until

from baton_git.checks.outcome import CheckSpec, Failed, NotApproved, Passed, Unknown, World
from baton_git.checks.runner import PROBES


@pytest.fixture
def world(tmp_path):
    return World(folder=tmp_path, refusal=lambda argv: None, environment={"PATH": os.environ["PATH"]})


def run(world, *argv, seconds=5.0):
    return PROBES["command"](CheckSpec("command", argv=argv, timeout_seconds=seconds), world)


def shell(world, text, **options):
    return run(world, "sh", "-c", text, **options)


def test_exit_status_0_passes(world):
    assert run(world, "true") == Passed()


def test_another_exit_status_fails_with_the_last_line(world):
    assert shell(world, "echo one; echo two >&2; echo; exit 3") == Failed("exit 3: two")
    assert run(world, "false") == Failed("exit 1")


def test_the_last_line_is_short_and_printable(world):
    outcome = shell(world, r"printf '\033[31m%0300d\033[0m\377\n' 7; exit 1")
    assert outcome.why.removeprefix("exit 1: ").isprintable()
    assert len(outcome.why.removeprefix("exit 1: ")) == 200


def test_the_last_output_of_a_program_is_read(world, monkeypatch):
    """This includes output that the program writes and then ends, after the last read returned nothing."""
    real = subprocess.Popen.poll

    def poll(self):
        self.wait()
        return real(self)

    monkeypatch.setattr(subprocess.Popen, "poll", poll)
    assert shell(world, "sleep 0.3; echo why; exit 3") == Failed("exit 3: why")


def test_a_signal_is_named(world):
    assert shell(world, "kill -9 $$") == Failed("ended by SIGKILL")


def test_no_command_runs_unapproved(world, tmp_path):
    approved = ("touch", "good")
    careful = World(
        folder=tmp_path, refusal=lambda argv: None if argv == approved else "no", environment=world.environment
    )
    assert run(careful, "touch", "a b") == NotApproved("no")
    assert run(World(folder=tmp_path), "true") == NotApproved("not approved on this machine")
    assert run(careful, *approved) == Passed()
    assert [path.name for path in tmp_path.iterdir()] == ["good"]


def test_a_command_is_not_run_by_a_shell(world, tmp_path):
    run(world, "echo", "x; touch bad", "$(touch bad)")
    assert not list(tmp_path.iterdir())


def test_a_command_runs_in_the_work_tree_without_input(world, tmp_path):
    assert shell(world, f'test "$(pwd -P)" = "{tmp_path.resolve()}" && ! read line') == Passed()


def test_the_environment_is_the_given_one_without_git_variables_and_secrets(tmp_path):
    secrets = ("BATON_API_TOKEN", "BATON_PAGE_TOKEN", "BATON_AGENT_TOKEN", "BATON_SIGNING_KEY", "BATON_X_SECRET")
    given = {"PATH": os.environ["PATH"], "GIT_DIR": "/x", "GIT_INDEX_FILE": "y", "MINE": "z", "BATON_REPO": "r"}
    given |= dict.fromkeys(secrets, "s3cret")
    world = World(folder=tmp_path, refusal=lambda argv: None, environment=given)
    assert shell(world, 'env > seen; test -z "$GIT_DIR$GIT_INDEX_FILE" && test "$MINE" = z') == Passed()
    seen = (tmp_path / "seen").read_text()
    assert "HOME=" not in seen
    assert "s3cret" not in seen
    assert "BATON_REPO=r" in seen


@pytest.mark.parametrize("argv", [(), ("baton-no-such-program",), ("a\0b",), ("/",), ("./plain.txt",)])
def test_a_command_that_cannot_be_run_is_unknown(world, argv):
    Path(world.folder, "plain.txt").write_text("x")
    assert isinstance(run(world, *argv), Unknown)


@pytest.mark.parametrize("folder", [None, Path("/nowhere/at/all")])
def test_without_a_work_tree_nothing_is_run(folder):
    assert isinstance(run(World(folder=folder, refusal=lambda argv: None), "true"), Unknown)


def test_a_slow_command_is_killed_with_its_children(world, tmp_path):
    outcome = shell(world, "sleep 600 & echo $! > child; sleep 600", seconds=0.3)
    assert outcome == Unknown("no answer within 0.3 s")
    child = int((tmp_path / "child").read_text())
    until(lambda: not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE)


def test_a_child_that_keeps_the_output_open_does_not_delay_the_result(world):
    assert shell(world, "sleep 600 & exit 0", seconds=5) == Passed()


def test_a_flood_of_output_is_not_kept(world):
    flood = f"{sys.executable} -c 'import sys; sys.stdout.write(\"x\" * 30_000_000)'; echo end; exit 1"
    before = psutil.Process().memory_info().rss
    assert shell(world, flood) == Failed("exit 1: " + "x" * 200)
    assert psutil.Process().memory_info().rss - before < 20_000_000


def test_a_command_that_closes_its_output_is_still_waited_for(world):
    assert shell(world, "exec >&- 2>&-; sleep 0.2; exit 4") == Failed("exit 4")
    assert shell(world, "exec >&- 2>&-; sleep 60", seconds=0.2) == Unknown("no answer within 0.2 s")
