"""`baton loop-run`: every way in which a loop ends, with small programs in place of the agent CLIs."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import psutil
import pytest
from fake_agents import FAMILY, living
from looped_cases import for_each
from waiting import until

from baton_git.systems.gobby.loops import LoopLimits, LoopTurn, decide_ending, says_done

DONE = "All is checked.\n\nLOOP_COMPLETE"


@dataclass
class Ran:
    code: int
    data: dict[str, Any]
    err: str


@pytest.fixture
def here(agents, baton, monkeypatch):
    """Run the command in this process, in the environment with the fake agents."""
    monkeypatch.setattr("baton_git.interfaces.context.process.STARTING_ENVIRONMENT", dict(agents.environment))
    return baton


@pytest.fixture
def quick(here):
    """Run `baton loop-run` in this process."""

    def call(*words: str, prompt: str = "Do it") -> Ran:
        done = here("loop-run", prompt, *words, "--json", code=None)
        return Ran(done.code, json.loads(done.out) if done.out else {}, done.err)

    return call


@pytest.fixture
def loop(agents, top):
    """Run `baton loop-run` in the repository `top` as a separate process."""

    def call(*words: str, prompt: str = "Do it", **env: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "baton_git", "loop-run", prompt, *words, "--json"],
            cwd=top, env={**agents.environment, **env}, capture_output=True, text=True, timeout=60,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return Ran(done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr)

    return call


def test_a_loop_ends_with_the_marker_and_passes_on_the_last_answer(agents, quick):
    agents.answering("Began with part COUNT", "Part COUNT is done", DONE)
    done = quick()
    assert (done.code, done.data["ended_by"], done.data["iterations"]) == (0, "completed", 3)
    assert (done.data["cost_usd"], done.data["tokens"], done.data["cost_is_known"]) == (1.5, 45, True)
    assert [one["iteration"] for one in done.data["sessions"]] == [1, 2, 3]
    assert [one["status"] for one in done.data["sessions"]] == ["exited"] * 3
    system_prompts = [call[0][call[0].index("--append-system-prompt") + 1] for call in agents.calls()]
    assert "session 1 of at most 20" in system_prompts[0]
    assert "| Began with part 1" in system_prompts[1]
    assert all("LOOP_COMPLETE" in one for one in system_prompts)
    assert {call[0][1] for call in agents.calls()} == {"Do it"}
    assert "session 2/20: exited, 0.50 USD, 15 tokens" in done.err


@pytest.mark.slow
def test_a_loop_ends_after_its_maximum_number_of_sessions(agents, loop):
    agents.answering("part COUNT")
    done = loop("--max-iterations", "2", "--stuck-after", "9")
    assert (done.code, done.data["ended_by"], done.data["iterations"]) == (1, "max_iterations", 2)


@pytest.mark.slow
def test_a_loop_ends_after_equal_answers_in_a_row(agents, loop):
    agents.answering("I cannot.")
    done = loop("--max-iterations", "9")
    assert (done.code, done.data["ended_by"], done.data["iterations"]) == (1, "stuck", 3)
    assert "gave the same answer" in done.data["why"]


@pytest.mark.slow
def test_a_loop_ends_when_sessions_change_nothing(agents, loop):
    agents.answering("Try COUNT")
    done = loop("--stuck-after", "2")
    assert (done.data["ended_by"], done.data["iterations"]) == ("stuck", 2)
    assert "changed nothing" in done.data["why"]


@pytest.mark.slow
@pytest.mark.parametrize("work", ["echo x >> new", "echo x >> readme", "git commit -q --allow-empty -m x"])
def test_changed_files_and_commits_count_as_work(agents, loop, work):
    agents.shell("claude", f'{work}; echo "$$ is my answer"')
    done = loop("--stuck-after", "2", "--max-iterations", "3")
    assert done.data["ended_by"] == "max_iterations"


def test_a_loop_ends_at_its_budget(agents, quick):
    agents.answering("part COUNT", cost=0.6)
    done = quick("--budget", "1")
    assert (done.code, done.data["ended_by"], done.data["iterations"]) == (1, "budget", 2)


@pytest.mark.slow
def test_a_loop_ends_at_its_token_budget(agents, loop):
    agents.answering("part COUNT", cost=None)
    done = loop("--token-budget", "30")
    assert (done.data["ended_by"], done.data["iterations"], done.data["cost_usd"]) == ("token_budget", 2, None)
    assert "cost unknown" in done.err


def test_a_loop_ends_after_failed_sessions_in_a_row(agents, quick):
    agents.shell("claude", "echo no key >&2; exit 1")
    done = quick("--max-failures", "2")
    assert (done.code, done.data["ended_by"], done.data["iterations"]) == (1, "failures", 2)
    assert "cost unknown, tokens unknown: exit 1: no key; log: /" in done.err


def test_a_session_ended_by_a_signal_names_it(agents, quick):
    agents.shell("claude", "kill -9 $$")
    assert ": SIGKILL; log: /" in quick("--max-failures", "1").err


def test_a_result_that_is_an_error_is_a_failure_despite_exit_status_0(agents, quick):
    result = {"type": "result", "is_error": True, "result": "No credit.\n\nLOOP_COMPLETE", "total_cost_usd": 1.0}
    agents.shell("claude", f"cat <<'END'\n{json.dumps(result)}\nEND")
    done = quick("--max-failures", "1")
    assert (done.code, done.data["ended_by"], done.data["sessions"][0]["status"]) == (1, "failures", "failed")
    assert "No credit." in done.err


@pytest.mark.parametrize("cost", ["NaN", "Infinity", "-1", "true", '"1"', "1e300", "9" * 400])
def test_an_invalid_cost_is_unknown(agents, quick, cost):
    result = f'{{"type": "result", "result": "x", "total_cost_usd": {cost}, "usage": {{"input_tokens": -5}}}}'
    agents.shell("claude", f"cat <<'END'\n{result}\nEND")
    done = quick("--max-iterations", "1")
    assert (done.data["cost_usd"], done.data["tokens"], done.data["ended_by"]) == (None, None, "max_iterations")
    assert done.err.count("cost unknown, tokens unknown") == 2


@pytest.mark.slow
def test_a_session_over_its_time_limit_is_ended_with_its_child_processes(agents, loop, tmp_path):
    pids = tmp_path / "pids"
    agents.shell("claude", f"PIDS={pids}; export PIDS\n{FAMILY} sleep 60")
    done = loop("--session-timeout", "3", "--max-failures", "1")
    assert [one["status"] for one in done.data["sessions"]] == ["timed_out"]
    assert len(pids.read_text().split()) == 4
    assert living(pids) == []


@pytest.mark.slow
def test_a_loop_ends_at_its_total_time_limit(agents, quick):
    agents.shell("claude", "exec sleep 60")
    done = quick("--total-timeout", "0.7", "--max-failures", "9")
    assert done.data["ended_by"] == "total_timeout"


@pytest.mark.slow
def test_no_session_starts_while_the_stop_file_is_there(agents, loop, top):
    agents.shell("claude", f"mkdir -p {top}/.git/baton; touch {top}/.git/baton/stop; echo hello")
    done = loop()
    assert (done.code, done.data["ended_by"], done.data["iterations"]) == (1, "stop_file", 1)
    assert f"{top}/.git/baton/stop exists" in done.data["why"]
    assert loop().data["iterations"] == 0
    assert (top / ".git/baton/stop").exists()


def test_missing_permissions_are_reported_after_the_first_session(agents, quick):
    agents.answering("I need permission to edit the file.", "Still.")
    done = quick("--max-iterations", "2")
    hint = (
        'changed nothing and mentions a permission; to allow more: git config baton.claudeArguments "--permission-mode'
    )
    assert done.err.index("session 1/2: it " + hint) < done.err.index("session 2/2")
    assert "lacked permissions" in done.data["why"]
    denied = {"type": "result", "result": "Done. COUNT", "permission_denials": [{"tool_name": "Edit"}] * 2}
    agents.shell("claude", f"cat <<'END'\n{json.dumps(denied)}\nEND")
    assert quick("--max-iterations", "1").err.count("it was denied Edit; to allow more") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_at_the_moment_of_the_start_leaves_nothing_behind(agents, quick, monkeypatch, number):
    agents.shell("claude", "exec sleep 60")
    begin, begun = subprocess.Popen, []

    def interrupted(argv, *words, **more):
        process = begin(argv, *words, **more)
        if str(argv[0]).endswith("claude"):
            begun.append(process.pid)
            os.kill(os.getpid(), number)  # the process runs, but is not recorded yet
        return process

    monkeypatch.setattr("baton_git.agents.sessions.process.subprocess.Popen", interrupted)
    done = quick()
    assert (done.code, done.data["ended_by"], len(begun)) == (128 + number, "interrupted", 1)
    assert "1 session, cost unknown, tokens unknown" in done.err
    assert [one["status"] for one in done.data["sessions"]] == ["stopped"]
    assert not any(psutil.pid_exists(one) for one in begun)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_the_session_and_reports(agents, top, tmp_path, number):
    pids = tmp_path / "pids"
    agents.shell("claude", f"PIDS={pids}; export PIDS\n{FAMILY} sleep 60")
    process = subprocess.Popen(
        [sys.executable, "-m", "baton_git", "loop-run", "Do it", "--json"],
        cwd=top, env={**agents.environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    until(lambda: pids.exists() and len(pids.read_text().split()) == 4)
    os.kill(process.pid, number)
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, json.loads(out)["ended_by"]) == (128 + number, "interrupted")
    assert [one["status"] for one in json.loads(out)["sessions"]] == ["stopped"]
    assert living(pids) == []


@pytest.mark.slow
@pytest.mark.parametrize(("cli", "output"), [
    ("codex", r'{"type":"item.completed","item":{"type":"agent_message","text":"ok\nLOOP_COMPLETE"}}'),
    ("gemini", r'{"response":"ok\nLOOP_COMPLETE","stats":{"models":{"m":{"tokens":{"total":9}}}}}'),
])  # fmt: skip
@pytest.mark.slow
def test_the_other_clis_get_the_prompt_over_standard_input(agents, loop, cli, output):
    agents.shell(cli, f"cat > \"$NOTES\"; cat <<'END'\n{output}\nEND")
    done = loop()
    assert (done.code, done.data["sessions"][0]["cli"], done.data["cost_usd"]) == (0, cli, None)
    assert "session 1 of at most 20" in agents.notes.read_text()


def test_the_prompt_can_come_from_a_file(agents, here, top):
    agents.answering(DONE)
    (top / "task.md").write_text("Fix all")
    done = here("loop-run", "--file", "task.md")
    assert done.out == "completed: the session said LOOP_COMPLETE\n"
    assert agents.calls()[0][0][1] == "Fix all"


def test_a_loop_that_cannot_start_is_a_usage_error(agents, quick):
    assert quick().code == 2  # no CLI is there
    assert quick("--cli", "codex").code == 2
    agents.answering(DONE)
    assert quick(prompt=" ").code == 2
    assert quick(prompt="Do it\n\n**LOOP_COMPLETE**\n").code == 2
    assert quick(prompt="x" * 120_000).code == 2
    assert quick("--marker", "").code == 2
    assert quick("--file", "x").code == 2


def test_limits_cannot_be_zero_infinite_or_too_large(baton):
    for words in (
        ("--max-iterations", "0"), ("--max-iterations", "100000"), ("--session-timeout", "inf"),
        ("--session-timeout", "nan"), ("--total-timeout", "0"), ("--total-timeout", "inf"), ("--budget", "inf"),
        ("--budget", "nan"), ("--budget", "0"), ("--stuck-after", "0"), ("--token-budget", "0"),
        ("--max-failures", "0"),
    ):  # fmt: skip
        assert baton("loop-run", "x", *words, code=2).out == ""


@pytest.mark.slow
def test_a_loop_within_a_spawned_session_cannot_exceed_the_limit_of_its_chain(agents, loop, top):
    agents.answering("part COUNT")
    first = loop("--max-iterations", "3", "--stuck-after", "9")
    last = first.data["sessions"][-1]["id"]
    inner = loop("--max-iterations", "3", BATON_SPAWNED=last)
    assert (inner.data["ended_by"], inner.data["iterations"]) == ("error", 0)
    assert "this chain of sessions has 3 sessions" in inner.data["why"]


# --- the rules alone

PROMPT = "Do it.\nWhen all is done, end with LOOP_COMPLETE"


@for_each(
    "answer",
    [DONE, "LOOP_COMPLETE", "**LOOP_COMPLETE**", "It is done: LOOP_COMPLETE",
     "`LOOP_COMPLETE`\n\n", f"{PROMPT}\nLOOP_COMPLETE"],
)  # fmt: skip
def test_the_marker_counts_at_the_end_of_the_last_line(answer):
    assert says_done(answer, "LOOP_COMPLETE", PROMPT)


@for_each(
    "answer",
    ["", "I will say LOOP_COMPLETE when I am done.", "not LOOP_COMPLETE yet", PROMPT, f"You said:\n{PROMPT}",
     "When all is done, end with LOOP_COMPLETE", "NO_LOOP_COMPLETE", "LOOP_COMPLETED",
     "a\nLOOP_COMPLETE\nbye"],
)  # fmt: skip
def test_the_marker_does_not_count_where_it_is_only_mentioned(answer):
    assert not says_done(answer, "LOOP_COMPLETE", PROMPT)


def test_a_failed_session_does_not_complete_anything():
    assert decide_ending([LoopTurn("failed", DONE)], LoopLimits(), "x", None, 0.0) is None


def test_sessions_with_progress_in_between_are_not_stuck():
    turns = [
        LoopTurn("exited", "a", "1"),
        LoopTurn("exited", "b", "2"),
        LoopTurn("exited", "a", "2"),
        LoopTurn("exited", "c", "2"),
    ]
    assert decide_ending(turns, LoopLimits(), "x", "0", 0.0) is None
    found = decide_ending([*turns, LoopTurn("exited", "d", "2")], LoopLimits(), "x", "0", 0.0)
    assert found is not None
    assert found.by == "stuck"


def test_outside_of_a_repository_only_equal_answers_mean_stuck():
    turns = [LoopTurn("exited", str(number)) for number in range(9)]
    assert decide_ending(turns, LoopLimits(), "x", None, 0.0) is None


def test_every_limit_is_finite():
    assert all(isinstance(value, str) or math.isfinite(value) for value in LoopLimits())
