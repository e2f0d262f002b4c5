"""A child process with its descendants: limited in time and output, ended as a whole."""

from __future__ import annotations

import os

import pytest
from fake_agents import FAMILY, living
from waiting import until

from baton_git.agents.sessions.process import HEAD, TAIL, Command, run


@pytest.fixture
def pids(tmp_path):
    return tmp_path / "pids"


def make_command(body, pids, seconds=10.0, **more):
    return Command(["sh", "-c", body], "/", {**os.environ, "PIDS": str(pids)}, seconds, **more)


def test_the_output_exit_status_and_log_of_a_command_are_kept(pids, tmp_path):
    done = run(make_command("cat; echo ; echo oh >&2; exit 3", pids, stdin="in", log=tmp_path / "logs" / "x.log"))
    assert (done.how, done.exit, done.output, done.complaint) == ("ended", 3, "in\n", "oh")
    assert sorted((tmp_path / "logs" / "x.log").read_text().split()) == ["in", "oh"]


@pytest.mark.slow
def test_the_time_limit_ends_all_processes_even_stubborn_ones(pids):
    done = run(make_command(f"{FAMILY} sleep 600", pids, 3.0), grace=0.5)
    assert done.how == "timed_out"
    assert len(pids.read_text().split()) == 4
    assert living(pids) == []


def test_a_log_is_bounded(pids, tmp_path, monkeypatch):
    monkeypatch.setattr("baton_git.agents.sessions.process.LOG", 1000)
    run(make_command("i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done", pids, log=tmp_path / "log"))
    assert 900 < (tmp_path / "log").stat().st_size <= 1000


def test_the_time_limit_also_ends_a_process_that_never_stops_writing(pids):
    done = run(make_command("yes", pids, 0.2), grace=0.2)
    assert done.how == "timed_out"
    assert len(done.output) <= HEAD + TAIL


def test_processes_left_by_a_session_end_with_it(pids):
    child = "sh -c 'echo $$ >> $PIDS; exec sleep 60' &"
    done = run(make_command(f"{child} while [ ! -s $PIDS ]; do sleep 0.05; done; exit 0", pids), grace=0.5)
    assert (done.how, done.exit) == ("ended", 0)
    assert living(pids) == []


def test_a_process_ends_on_request_with_its_child_processes(pids):
    done = run(make_command(f"{FAMILY} sleep 60", pids), stopped=lambda: pids.exists(), grace=0.2)
    assert done.how == "stopped"
    until(lambda: not living(pids))


def test_an_interrupt_leaves_nothing_behind(pids):
    def interrupt():
        if pids.exists() and len(pids.read_text().split()) == 4:
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        run(make_command(f"{FAMILY} sleep 60", pids), stopped=interrupt, grace=0.2)
    assert living(pids) == []


def test_input_that_the_command_does_not_read_is_not_an_error(pids):
    assert run(make_command("exit 0", pids, stdin="x" * 10_000_000)).exit == 0


@pytest.mark.parametrize("argv", [["/nonexistent"], ["sh", "a\0b"]])
def test_a_failed_start_is_reported(argv):
    with pytest.raises((OSError, ValueError)):
        run(Command(argv, "/", dict(os.environ), 1.0))
