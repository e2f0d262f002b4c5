"""Programs run with a time limit, and all that they write is read while they are given their input."""

from __future__ import annotations

import os
import subprocess

import pytest

from baton_git.git import child_process


def test_the_last_output_of_a_program_is_read(tmp_path, monkeypatch):
    """This includes output that the program writes and then ends, after the last read returned nothing."""
    real = subprocess.Popen.poll

    def poll(self):
        self.wait()
        return real(self)

    monkeypatch.setattr(subprocess.Popen, "poll", poll)
    done = child_process.run(["sh", "-c", "sleep 0.3; echo out; echo why >&2; exit 1"], dict(os.environ), tmp_path, 10)
    assert done == child_process.ChildResult(1, b"out\n", b"why\n")


def test_a_large_input_is_written_while_the_output_is_read(tmp_path):
    given = os.urandom(3 << 20)
    done = child_process.run(["cat"], dict(os.environ), tmp_path, 30, stdin=given)
    assert done == child_process.ChildResult(0, given, b"")


def test_a_program_need_not_read_its_input(tmp_path):
    done = child_process.run(["true"], dict(os.environ), tmp_path, 30, stdin=bytes(1 << 20))
    assert done == child_process.ChildResult(0, b"", b"")
    assert child_process.run(["sleep", "60"], dict(os.environ), tmp_path, 0.2, stdin=bytes(1 << 20)) is None


def test_output_beyond_the_limit_is_passed_on_but_not_kept(tmp_path):
    passed = bytearray()
    argv = ["sh", "-c", "seq 20000; echo last >&2"]
    done = child_process.run(
        argv, dict(os.environ), tmp_path, 30, on_stdout=passed.extend, most_bytes=10, is_merged=True
    )
    assert passed.endswith(b"20000\nlast\n")
    assert len(passed) > 100_000
    assert passed.startswith(done.stdout)
    assert len(done.stdout) <= 10 + (1 << 16)


def test_a_program_that_is_ended_can_clean_up_first(tmp_path):
    """git removes its lock files when it is told to end. What ignores that is killed."""
    locking = "touch lock; trap 'rm lock; exit' TERM; touch ready; while :; do sleep 0.01; done"
    ready = tmp_path / "ready"
    assert child_process.run(["sh", "-c", locking], dict(os.environ), tmp_path, 30, stop=ready.exists) is None
    assert not (tmp_path / "lock").exists()
    ready.unlink()
    deaf = "trap '' TERM; echo $$ > pid; touch ready; while :; do sleep 0.01; done"
    assert child_process.run(["sh", "-c", deaf], dict(os.environ), tmp_path, 30, stop=ready.exists) is None
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
