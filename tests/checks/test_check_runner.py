"""All checks run in parallel within one time budget."""

import subprocess
import sys
import threading
import time

import psutil
from waiting import until

from baton_git.checks.outcome import CheckSpec, Passed, Unknown, World
from baton_git.checks.runner import run_all


def named(name):
    return CheckSpec("git_commit", commit=name)


def test_results_come_in_the_order_of_the_checks(tmp_path):
    checks = {str(n): CheckSpec("file_exists", path=str(tmp_path)) for n in range(20)}
    found = run_all(checks, World(), budget_seconds=2)
    assert list(found) == list(checks)
    assert all(checked.outcome == Passed() and checked.duration_ms >= 0 for checked in found.values())


def test_without_checks_there_are_no_results():
    assert run_all({}, World(), budget_seconds=1) == {}


def test_checks_run_in_parallel():
    together = threading.Barrier(4, timeout=2)

    def find(text, branch):
        together.wait()
        return "a" * 40

    found = run_all({str(n): named("x") for n in range(4)}, World(find_commit=find), budget_seconds=3)
    assert all(isinstance(checked.outcome, Passed) for checked in found.values())


def test_a_hanging_check_is_unknown_at_the_time_limit_and_the_others_finish():
    release = threading.Event()

    def find(text, branch):
        if text == "hang":
            release.wait(600)
        return "a" * 40

    found = run_all({"bad": named("hang"), "good": named("x")}, World(find_commit=find), budget_seconds=0.3)
    release.set()
    assert found["bad"].outcome == Unknown("no answer within the total budget of 0.3 s")
    assert found["bad"].duration_ms == 300
    assert isinstance(found["good"].outcome, Passed)


def test_a_check_without_time_left_is_unknown_and_not_started_later():
    begun = []
    release = threading.Event()

    def find(text, branch):
        begun.append(text)
        release.wait(10)

    found = run_all({name: named(name) for name in "abc"}, World(find_commit=find), budget_seconds=0.2, workers=1)
    release.set()
    time.sleep(0.05)
    assert begun == ["a"]
    assert all("total budget" in checked.outcome.why for checked in found.values())


def test_a_check_that_crashes_is_unknown_and_does_not_affect_others():
    def find(text, branch):
        if text == "bug":
            raise KeyError("oops")
        return "a" * 40

    found = run_all({"bad": named("bug"), "good": named("x")}, World(find_commit=find), budget_seconds=2)
    assert found["bad"].outcome == Unknown("the check crashed: KeyError: 'oops'")
    assert isinstance(found["good"].outcome, Passed)


def test_an_unknown_method_is_unknown():
    found = run_all({"x": CheckSpec("telepathy")}, World(), budget_seconds=1)
    assert found["x"].outcome == Unknown("there is no check of the method 'telepathy'")


def test_a_command_cut_short_by_the_budget_is_killed(tmp_path):
    world = World(folder=tmp_path, refusal=lambda argv: None, environment={"PATH": "/usr/bin:/bin"})
    slow = CheckSpec("command", argv=("sh", "-c", "echo $$ > pid; exec sleep 60"), timeout_seconds=30)
    found = run_all({"slow": slow}, world, budget_seconds=0.5)
    assert found["slow"].outcome == Unknown("no answer within the total budget of 0.5 s")
    # the process is killed at once, but a busy system may need a moment until it is gone
    until(lambda: not psutil.pid_exists(int((tmp_path / "pid").read_text())), seconds=10)


def test_a_hanging_check_does_not_hold_up_the_end_of_the_program():
    code = (
        "import time; from baton_git.checks.outcome import CheckSpec, World;"
        "from baton_git.checks.runner import run_all;"
        "w = World(find_commit=lambda text, branch: time.sleep(60));"
        "print(run_all({'x': CheckSpec('git_commit', commit='x')}, w, budget_seconds=0.1))"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=5)
    assert (done.returncode, done.stderr) == (0, "")


def test_loading_the_package_loads_nothing_heavy():
    code = "import sys, baton_git.checks; print({'urllib3', 'psutil', 'ssl', 'http.client'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
