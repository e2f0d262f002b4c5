"""Start sessions: the results of Gobby's action, the arguments of each CLI, records, limits, stopping."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import threading
from dataclasses import replace

import psutil
import pytest
from fake_agents import FAMILY, living
from waiting import until

from baton_git.agents.launcher import LaunchRequest
from baton_git.agents.registry import make_session_environment
from baton_git.agents.sessions.records import Process, SpawnedSession, SpawnedSessions, stop
from baton_git.agents.sessions.starting import MAX_RUNNING, Job, Spawner, receive_job, send_job
from baton_git.core.errors import Ambiguous, Corrupt, NotFound

NOW = "2026-11-21T20:00:00Z"
NOTE = 'printf "%s\\n" "$@" > "$NOTES"; printf "stdin:%s\\n" "$(cat)" >> "$NOTES"'


@pytest.fixture
def records(tmp_path):
    return SpawnedSessions(tmp_path / "spawned")


@pytest.fixture
def spawner(agents, records):
    return Spawner(records, agents.environment, NOW, parent="s0")


def make_request(agents, cli="claude", **more):
    return LaunchRequest(cli, more.pop("prompt", "Go on"), cwd=str(agents.folder), **more)


def wait_for_end(records, id_):
    return until(lambda: (found := records.get(id_)).status != "running" and found)


# --- the documented results


def test_a_started_session_is_recorded_with_its_result_and_cost(agents, records, spawner):
    agents.answering("done")
    result = spawner(make_request(agents), {"n": 1})
    assert result["session_spawned"] is True
    assert result["cli"] == "claude"
    assert result["pid"] > 0
    record = wait_for_end(records, result["spawned"])
    assert (record.status, record.exit, record.answer, record.cost_usd, record.tokens) == ("exited", 0, "done", 0.5, 15)
    assert (record.parent, record.iteration, record.session, record.variables) == ("s0", 2, "c-1", {"n": 1})
    assert json.loads((records.folder / f"{record.id}.log").read_text())["result"] == "done"


@pytest.mark.parametrize(
    ("cli", "error"),
    [("claude", "claude CLI not found"), ("gemini", "gemini CLI not found"), ("cat", "Unknown CLI: cat")],
)
def test_a_missing_agent_cli_is_an_error(agents, records, spawner, cli, error):
    assert spawner(make_request(agents, cli), {}) == {"error": error}
    assert records.all() == ([], [])


def test_an_invalid_launch_request_is_an_error_with_its_reason(agents, records, spawner):
    agents.shell("claude", "exit 0")
    assert (
        "the folder /nonexistent does not exist"
        in spawner(LaunchRequest("claude", "x", cwd="/nonexistent"), {})["error"]
    )
    assert spawner(make_request(agents, prompt="a\0b"), {}) == {"error": "the prompt has a NUL character"}
    assert "200,000 bytes, the limit" in spawner(make_request(agents, prompt="a" * 200_000), {})["error"]
    assert "the system prompt has" in spawner(make_request(agents, system_prompt="ü" * 60_000), {})["error"]
    assert "tmux" in spawner(make_request(agents, in_window=True), {})["error"]


# --- the arguments of each CLI


@pytest.mark.parametrize(
    ("cli", "arguments", "stdin"),
    [
        ("claude", ["-p", "Go on", "--append-system-prompt", "Facts", "--session-id"], ""),
        ("codex", ["exec", "--json", "Go on"], "Facts"),
        ("gemini", ["-p", "Go on", "--session-id"], "Facts"),
    ],
)
def test_each_cli_gets_its_own_arguments(agents, records, spawner, cli, arguments, stdin):
    agents.shell(cli, NOTE)
    wait_for_end(records, spawner(make_request(agents, cli, system_prompt="Facts"), {})["spawned"])
    noted = agents.notes.read_text().splitlines()
    assert noted[: len(arguments)] == arguments
    assert noted[-1] == f"stdin:{stdin}"


@pytest.mark.parametrize("cli", ["claude", "codex", "gemini"])
def test_no_prompt_is_taken_for_a_command(agents, spawner, cli):
    agents.shell(cli, "exit 0")
    for prompt in ("review", "mcp", "resume"):
        _, job = spawner.prepare(make_request(agents, cli, prompt=prompt), {})
        assert prompt not in job.argv
        assert f" {prompt}" in job.argv


@pytest.mark.parametrize("cli", ["claude", "codex", "gemini"])
def test_no_prompt_is_taken_for_an_option(agents, records, spawner, cli):
    agents.shell(cli, "exit 0")
    for prompt in ("--dangerously-skip-permissions", "-p x", "--", "-"):
        _, job = spawner.prepare(make_request(agents, cli, prompt=prompt, system_prompt="-x"), {})
        assert prompt not in job.argv
        assert prompt in [one.strip() for one in job.argv]
        assert "-x" not in job.argv
        records.save(SpawnedSession(job.id, cli, "exited"))


def test_the_users_own_arguments_are_added(agents, records, spawner):
    agents.shell("codex", NOTE)
    chosen = replace(spawner, arguments={"codex": ("-s", "workspace-write")})
    wait_for_end(records, chosen(make_request(agents, "codex"), {})["spawned"])
    assert agents.notes.read_text().splitlines()[:5] == ["exec", "--json", "-s", "workspace-write", "Go on"]


def test_a_started_session_gets_no_variables_of_the_surrounding_session():
    ties = {
        "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "x", "CLAUDE_PLUGIN_ROOT": "x", "CLAUDE_CODE_MESSAGING_TOKEN": "x",
        "GEMINI_SESSION_ID": "x", "BATON_SESSION": "x", "GIT_DIR": "x", "BATON_SPAWNED": "SP-old",
    }  # fmt: skip
    assert make_session_environment({**ties, "PATH": "p", "BATON_NAMESPACE": "n"}, "SP-new") == {
        "PATH": "p", "BATON_NAMESPACE": "n", "BATON_SPAWNED": "SP-new",
    }  # fmt: skip


@pytest.mark.slow
def test_no_secret_of_the_prompt_reaches_the_record(agents, records, spawner):
    agents.answering("token ghp_" + "a1B2" * 10)
    id_ = spawner(make_request(agents, prompt="use ghp_" + "a1B2" * 10), {})["spawned"]
    wait_for_end(records, id_)
    assert "ghp_" not in records.path(id_).read_text()


# --- time limits and ends of sessions


@pytest.mark.slow
def test_a_session_is_ended_at_its_time_limit_with_its_child_processes(agents, records, spawner, tmp_path):
    pids = tmp_path / "pids"
    agents.shell("claude", f"PIDS={pids}; export PIDS\n{FAMILY} sleep 60")
    id_ = spawner(make_request(agents, seconds=3.0), {})["spawned"]
    assert wait_for_end(records, id_).status == "timed_out"
    assert len(pids.read_text().split()) == 4
    assert living(pids) == []


def test_a_failed_session_has_a_reason(agents, records, spawner):
    agents.shell("claude", "echo no key >&2; exit 7")
    result = spawner(make_request(agents), {})
    record = wait_for_end(records, records.all()[0][0].id)
    assert (record.status, record.exit, record.error) == ("failed", 7, "no key")
    assert result.get("error", "claude ended immediately: no key") == "claude ended immediately: no key"


@pytest.mark.slow
def test_the_caller_gets_the_error_of_a_session_that_fails_immediately(agents, spawner, monkeypatch):
    monkeypatch.setattr("baton_git.agents.sessions.starting.QUICK_FAILURE_SECONDS", 30.0)
    agents.shell("claude", "echo no key >&2; exit 7")
    assert spawner(make_request(agents), {}) == {"error": "claude ended immediately: no key"}
    agents.shell("claude", "echo Not logged in; exit 1")
    assert spawner(make_request(agents), {}) == {"error": "claude ended immediately: Not logged in"}


def test_a_failed_start_is_an_error_and_its_record_says_failed(agents, records, spawner, monkeypatch):
    agents.shell("claude", "exit 0")

    def refuse(*_, **__):
        raise OSError("no more processes")

    with monkeypatch.context() as here:
        here.setattr("baton_git.agents.sessions.starting.subprocess.Popen", refuse)
        assert spawner(make_request(agents), {}) == {"error": "no more processes"}
    nowhere = replace(spawner, environment={**agents.environment, "PATH": str(agents.folder)})
    with monkeypatch.context() as here:
        here.setenv("PATH", str(agents.folder))
        assert "tmux" in nowhere(make_request(agents, in_window=True, tmux_session="x"), {})["error"]
    assert [one.status for one in records.all()[0]] == ["failed", "failed"]
    assert sorted(one.error for one in records.all()[0])[1] == "no more processes"


def test_the_record_of_a_session_whose_starter_is_gone_is_lost(agents, records, spawner):
    agents.shell("claude", "exit 0")
    record, _ = spawner.prepare(make_request(agents), {})
    assert records.get(record.id).status == "running"
    records.save(replace(record, starter=Process(2**22 - 1, 1.0)))
    assert records.get(record.id).status == "lost"
    records.save(SpawnedSession("SP-nobody", "claude"))
    assert records.get("SP-nobody").status == "lost"


def test_the_environment_is_never_stored(agents, records, tmp_path):
    secret = "hunter" + "22" * 8
    received = tmp_path / "received"
    job = Job(str(records.folder), "SP-a", ("x",), {"TOKEN": secret, "LONG": "x" * 500_000}, None, True)
    records.folder.mkdir()
    pipe = records.pipe("SP-a")

    def receive():
        until(pipe.exists)
        assert stat.S_ISFIFO(pipe.stat().st_mode)
        assert stat.S_IMODE(pipe.stat().st_mode) == 0o600
        received.write_text(str(receive_job(pipe) == job))

    receiver = threading.Thread(target=receive)
    receiver.start()
    send_job(pipe, job, lambda: False)
    receiver.join()
    assert received.read_text() == "True"
    assert list(records.folder.iterdir()) == []
    with pytest.raises(OSError, match="did not start"):
        send_job(pipe, job, lambda: True)
    assert list(records.folder.iterdir()) == []


def test_old_records_are_deleted_with_their_logs_and_pipes_except_those_of_the_chain(records, monkeypatch):
    monkeypatch.setattr("baton_git.agents.sessions.records.KEPT", 2)
    monkeypatch.setattr("baton_git.agents.sessions.records.LOGS", 1)
    records.folder.mkdir()
    for number in range(4):
        started = f"2026-11-2{number}T10:00:00Z"
        records.save(
            SpawnedSession(f"SP-{number}", "claude", "exited", started=started, chain="c" if number == 0 else "")
        )
        (records.folder / f"SP-{number}.log").write_text("x")
        records.pipe(f"SP-{number}").write_text("x")
    records.forget_old("c")
    left = sorted(one.name for one in records.folder.iterdir())
    assert left == ["SP-0.json", "SP-2.json", "SP-3.json", "SP-3.log"]


@pytest.mark.slow
def test_no_secret_of_a_session_reaches_its_log(agents, records, spawner):
    agents.shell("claude", "echo key ghp_" + "a1B2" * 10 + "; printf ghp_%s " + "a1B2" * 10)
    record = wait_for_end(records, spawner(make_request(agents), {})["spawned"])
    log = (records.folder / f"{record.id}.log").read_text()
    assert log.startswith("key ")
    assert "a1B2" not in log


@pytest.mark.slow
def test_stopping_a_session_ends_all_its_processes(agents, records, spawner, tmp_path):
    pids = tmp_path / "pids"
    agents.shell("claude", f"PIDS={pids}; export PIDS\n{FAMILY} sleep 60")
    id_ = spawner(make_request(agents), {})["spawned"]
    until(lambda: pids.exists() and len(pids.read_text().split()) == 4)
    done = stop(records, records.get(id_), NOW)
    assert done.status == "stopped"
    assert living(pids) == []
    assert stop(records, done, "later") == done


def test_a_session_without_a_supervisor_can_be_stopped(records):
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    records.save(SpawnedSession("SP-one", "claude", process=Process.of(child.pid), keeper=Process(2**22 - 1, 1.0)))
    assert records.get("SP-one").status == "running"
    assert stop(records, records.get("SP-one"), NOW).status == "stopped"
    assert child.wait(10) == -signal.SIGTERM


@pytest.mark.slow
def test_a_started_session_outlives_its_starter(agents, records, spawner):
    agents.shell("claude", "exec sleep 60")
    found = records.get(spawner(make_request(agents), {})["spawned"])
    assert os.getsid(found.keeper.pid) != os.getsid(0)
    assert os.getpgid(found.process.pid) == found.process.pid
    stop(records, found, NOW)


# --- limits


@pytest.mark.slow
def test_a_chain_ends_at_its_limit_even_if_a_workflow_resets_its_count(agents, records, spawner):
    agents.answering("x")
    id_, iterations = None, []
    for _ in range(4):
        one = replace(spawner, parent_spawn=id_)
        result = one(make_request(agents, most=4), {"iteration_count": 0})
        if "error" in result:
            break
        id_ = result["spawned"]
        iterations.append(wait_for_end(records, id_).iteration)
    assert iterations == [2, 3, 4]
    assert result == {"error": "this chain of sessions has 4 sessions, the limit is 4"}


def test_a_chain_counts_all_sessions_started_for_it(agents, records, spawner):
    agents.shell("claude", "exit 0")
    ids = []
    for parent in (None, None, 0, 0):  # at two events of the first session, and at two of a session that it started
        one = replace(spawner, parent_spawn=None if parent is None else ids[parent])
        ids.append(one.prepare(make_request(agents, most=5), {})[0].id)
    for parent in (None, *ids):
        refused = replace(spawner, parent_spawn=parent)(make_request(agents, most=5), {})
        assert refused == {"error": "this chain of sessions has 5 sessions, the limit is 5"}
    assert [records.get(one).iteration for one in ids] == [2, 3, 4, 5]
    assert {records.get(one).chain for one in ids} == {"s0"}
    assert replace(spawner, parent="s1").prepare(make_request(agents, most=5), {})[0].iteration == 2


def test_no_session_of_a_chain_starts_while_a_stop_file_is_there(agents, records, spawner, tmp_path):
    agents.shell("claude", "exit 0")
    stopped = replace(spawner, stop_files=(tmp_path / "none", tmp_path))
    assert stopped(make_request(agents), {}) == {"error": f"{tmp_path} exists, so no session is started"}
    assert records.all()[0] == []


def test_a_chain_ends_at_its_time_limit(agents, records, spawner):
    agents.shell("claude", "exit 0")
    first = spawner.prepare(make_request(agents), {})[0].id
    late = replace(spawner, parent="s1", parent_spawn=first, now="2026-11-22T03:59:00Z")
    assert late.prepare(make_request(agents), {})[0].seconds == 60.0
    refused = replace(late, now="2026-11-22T04:00:00Z")(make_request(agents), {})
    assert refused == {"error": "this chain of sessions began at 2026-11-21T20:00:00Z, the limit is 28800 seconds"}


def test_a_chain_ends_at_its_budget(agents, records, spawner):
    agents.shell("claude", "exit 0")
    for number, cost in enumerate((12.0, None, 8.0)):
        records.save(SpawnedSession(f"SP-paid{number}", "claude", "exited", chain="s0", chain_began=NOW, cost_usd=cost))
    refused = spawner(make_request(agents), {})
    assert refused == {"error": "this chain of sessions cost 20.00 USD, the budget is 20.00"}
    assert spawner.prepare(make_request(agents, budget_usd=21.0), {})


def test_a_chain_of_unknown_length_starts_no_session(agents, records, spawner):
    agents.answering("x")
    records.folder.mkdir()
    for content in (None, "{", '{"id": "SP-gone00", "status": "huh"}', '{"id": "SP-x", "cli": "x", "iteration": "1"}'):
        if content is not None:
            (records.folder / "SP-gone00.json").write_text(content)
        assert "error" in replace(spawner, parent_spawn="SP-gone00")(make_request(agents), {})
    assert "error" in replace(spawner, parent_spawn="../x")(make_request(agents), {})


def test_the_number_of_concurrent_sessions_is_limited(agents, records, spawner):
    agents.answering("x")
    me = Process.of(os.getpid())
    for number in range(MAX_RUNNING):
        records.save(SpawnedSession(f"SP-run00{number}", "claude", process=me))
    assert spawner(make_request(agents), {}) == {
        "error": f"{MAX_RUNNING} sessions are running, the limit is {MAX_RUNNING}"
    }


# --- records


def test_a_record_without_running_processes_is_lost(records):
    records.save(SpawnedSession("SP-a", "claude", process=Process(2**22 - 1, 1.0), keeper=Process(2**22 - 2, 1.0)))
    records.save(SpawnedSession("SP-b", "claude", process=Process(os.getpid(), 1.0)))  # another process has its id now
    records.save(SpawnedSession("SP-c", "claude", process=Process(os.getpid(), psutil.Process().create_time())))
    assert {one.id: one.status for one in records.all()[0]} == {"SP-a": "lost", "SP-b": "lost", "SP-c": "running"}


def test_records_are_found_by_a_prefix_and_damage_is_reported(records):
    for id_ in ("SP-abc", "SP-abd"):
        records.save(SpawnedSession(id_, "claude", "exited"))
    (records.folder / "SP-bad.json").write_text("{}")
    assert records.find("sp-abc").id == "SP-abc"
    with pytest.raises(Ambiguous):
        records.find("SP-ab")
    for nobody in ("", "SP-z", "../x"):
        with pytest.raises(NotFound):
            records.find(nobody)
    with pytest.raises(Corrupt):
        records.get("SP-bad")
    found, problems = records.all()
    assert len(found) == 2
    assert "SP-bad" in problems[0]
