"""Starting sessions: the document's results, what each CLI is called with, records, limits, stopping."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace

import psutil
import pytest
from fake_agents import FAMILY, living, until

from baton_git.errors import Ambiguous, Corrupt, NotFound
from baton_git.spawning.records import Process, Records, Spawned
from baton_git.spawning.starters import surroundings
from baton_git.spawning.starting import MAX_RUNNING, Spawner
from baton_git.spawning.stopping import stop
from baton_git.spawning.wish import Wish

NOW = "2026-11-21T20:00:00Z"
NOTE = 'printf "%s\\n" "$@" > "$NOTES"; printf "stdin:%s\\n" "$(cat)" >> "$NOTES"'


@pytest.fixture
def records(tmp_path):
    return Records(tmp_path / "spawned")


@pytest.fixture
def spawner(agents, records):
    return Spawner(records, agents.environment, NOW, parent="s0")


def wish(agents, cli="claude", **more):
    return Wish(cli, more.pop("prompt", "Go on"), cwd=str(agents.folder), **more)


def ended(records, id_):
    return until(lambda: (found := records.get(id_)).status != "running" and found)


# --- the results of the document


def test_a_started_session_is_told_as_in_the_document(agents, records, spawner):
    agents.answering("done")
    result = spawner(wish(agents), {"n": 1})
    assert result["session_spawned"] is True
    assert result["cli"] == "claude"
    assert result["pid"] > 0
    record = ended(records, result["spawned"])
    assert (record.status, record.exit, record.answer, record.cost_usd, record.tokens) == ("exited", 0, "done", 0.5, 15)
    assert (record.parent, record.iteration, record.session, record.variables) == ("s0", 2, "c-1", {"n": 1})
    assert json.loads((records.folder / f"{record.id}.log").read_text())["result"] == "done"


@pytest.mark.parametrize(
    ("cli", "error"),
    [("claude", "claude CLI not found"), ("gemini", "gemini CLI not found"), ("cat", "Unknown CLI: cat")],
)
def test_a_cli_that_is_not_there_is_an_error(agents, records, spawner, cli, error):
    assert spawner(wish(agents, cli), {}) == {"error": error}
    assert records.all() == ([], [])


def test_whatever_else_fails_is_an_error_with_its_reason(agents, records, spawner):
    agents.shell("claude", "exit 0")
    assert "there is no folder /nonexistent" in spawner(Wish("claude", "x", cwd="/nonexistent"), {})["error"]
    assert "null byte" in spawner(wish(agents, prompt="a\0b"), {})["error"]
    assert "too long" in spawner(wish(agents, prompt="a" * 3_000_000), {})["error"]
    assert "tmux" in spawner(wish(agents, in_window=True), {})["error"]


# --- what each is called with


@pytest.mark.parametrize(
    ("cli", "arguments", "stdin"),
    [
        ("claude", ["-p", "Go on", "--append-system-prompt", "Facts", "--session-id"], ""),
        ("codex", ["exec", "--json", "Go on"], "Facts"),
        ("gemini", ["-p", "Go on", "--session-id"], "Facts"),
    ],
)
def test_each_cli_is_called_as_it_wants_to_be(agents, records, spawner, cli, arguments, stdin):
    agents.shell(cli, NOTE)
    ended(records, spawner(wish(agents, cli, system_prompt="Facts"), {})["spawned"])
    said = agents.notes.read_text().splitlines()
    assert said[: len(arguments)] == arguments
    assert said[-1] == f"stdin:{stdin}"


@pytest.mark.parametrize("cli", ["claude", "codex", "gemini"])
def test_no_prompt_is_taken_for_an_option(agents, records, spawner, cli):
    agents.shell(cli, NOTE)
    asked = wish(agents, cli, prompt="--dangerously-skip-permissions", system_prompt="-x")
    ended(records, spawner(asked, {})["spawned"])
    said = agents.notes.read_text().splitlines()
    assert " --dangerously-skip-permissions" in said
    assert "--dangerously-skip-permissions" not in said
    assert "-x" not in said


def test_the_users_own_arguments_are_added(agents, records, spawner):
    agents.shell("codex", NOTE)
    chosen = replace(spawner, arguments={"codex": ("-s", "workspace-write")})
    ended(records, chosen(wish(agents, "codex"), {})["spawned"])
    assert agents.notes.read_text().splitlines()[:5] == ["exec", "--json", "-s", "workspace-write", "Go on"]


def test_nothing_ties_the_new_session_to_the_one_around_it():
    ties = {
        "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "x", "CLAUDE_PLUGIN_ROOT": "x", "CLAUDE_CODE_MESSAGING_TOKEN": "x",
        "GEMINI_SESSION_ID": "x", "BATON_SESSION": "x", "GIT_DIR": "x", "BATON_SPAWNED": "SP-old",
    }  # fmt: skip
    assert surroundings({**ties, "PATH": "p", "BATON_NAMESPACE": "n"}, "SP-new") == {
        "PATH": "p", "BATON_NAMESPACE": "n", "BATON_SPAWNED": "SP-new",
    }  # fmt: skip


def test_no_secret_of_the_prompt_reaches_the_record(agents, records, spawner):
    agents.answering("token ghp_" + "a1B2" * 10)
    id_ = spawner(wish(agents, prompt="use ghp_" + "a1B2" * 10), {})["spawned"]
    ended(records, id_)
    assert "ghp_" not in records.path(id_).read_text()


# --- time, and the end


def test_a_session_ends_at_its_time_limit_with_all_that_it_started(agents, records, spawner, tmp_path):
    pids = tmp_path / "pids"
    agents.shell("claude", f"PIDS={pids}; export PIDS\n{FAMILY} sleep 60")
    id_ = spawner(wish(agents, seconds=3.0), {})["spawned"]
    assert ended(records, id_).status == "timed_out"
    assert len(pids.read_text().split()) == 4
    assert living(pids) == []


def test_a_session_that_fails_says_why(agents, records, spawner):
    agents.shell("claude", "echo no key >&2; exit 7")
    record = ended(records, spawner(wish(agents), {})["spawned"])
    assert (record.status, record.exit, record.error) == ("failed", 7, "no key")


def test_stopping_ends_all_of_it(agents, records, spawner, tmp_path):
    pids = tmp_path / "pids"
    agents.shell("claude", f"PIDS={pids}; export PIDS\n{FAMILY} sleep 60")
    id_ = spawner(wish(agents), {})["spawned"]
    until(lambda: pids.exists() and len(pids.read_text().split()) == 4)
    done = stop(records, records.get(id_), NOW)
    assert done.status == "stopped"
    assert living(pids) == []
    assert stop(records, done, "later") == done


def test_a_session_can_be_stopped_when_nobody_looks_after_it_any_more(agents, records, spawner, tmp_path):
    agents.shell("claude", f"echo $$ > {tmp_path}/pids; exec sleep 60")
    id_ = spawner(wish(agents), {})["spawned"]
    os.kill(records.get(id_).keeper.pid, signal.SIGKILL)
    until(lambda: (tmp_path / "pids").exists() and not records.get(id_).keeper.is_alive)
    assert records.get(id_).status == "running"
    assert stop(records, records.get(id_), NOW).status == "stopped"
    until(lambda: not living(tmp_path / "pids"))


def test_it_outlives_who_started_it(agents, records, spawner):
    agents.shell("claude", "exec sleep 60")
    found = records.get(spawner(wish(agents), {})["spawned"])
    assert os.getsid(found.keeper.pid) != os.getsid(0)
    assert os.getpgid(found.process.pid) == found.process.pid
    stop(records, found, NOW)


# --- limits


def test_a_chain_ends_at_its_limit_whatever_workflows_say(agents, records, spawner):
    agents.answering("x")
    id_, iterations = None, []
    for _ in range(4):
        one = replace(spawner, parent_spawn=id_)
        result = one(wish(agents, most=4), {"iteration_count": 0})
        if "error" in result:
            break
        id_ = result["spawned"]
        iterations.append(ended(records, id_).iteration)
    assert iterations == [2, 3, 4]
    assert result == {"error": "the chain has 4 sessions, the limit is 4"}


def test_a_chain_whose_length_cannot_be_known_goes_on_no_more(agents, records, spawner):
    agents.answering("x")
    records.folder.mkdir()
    for content in (None, "{", '{"id": "SP-gone00", "status": "huh"}', '{"id": "SP-x", "cli": "x", "iteration": "1"}'):
        if content is not None:
            (records.folder / "SP-gone00.json").write_text(content)
        assert "error" in replace(spawner, parent_spawn="SP-gone00")(wish(agents), {})
    assert "error" in replace(spawner, parent_spawn="../x")(wish(agents), {})


def test_only_so_many_run_at_once(agents, records, spawner):
    agents.answering("x")
    me = Process.of(os.getpid())
    for number in range(MAX_RUNNING):
        records.put(Spawned(f"SP-run00{number}", "claude", process=me))
    assert spawner(wish(agents), {}) == {"error": f"{MAX_RUNNING} sessions are running, the limit is {MAX_RUNNING}"}


# --- records


def test_a_record_whose_processes_are_gone_is_lost(records):
    records.put(Spawned("SP-a", "claude", process=Process(2**22 - 1, 1.0), keeper=Process(2**22 - 2, 1.0)))
    records.put(Spawned("SP-b", "claude", process=Process(os.getpid(), 1.0)))  # another process has its number now
    records.put(Spawned("SP-c", "claude", process=Process(os.getpid(), psutil.Process().create_time())))
    assert {one.id: one.status for one in records.all()[0]} == {"SP-a": "lost", "SP-b": "lost", "SP-c": "running"}


def test_records_are_found_by_a_beginning_and_damage_is_told(records):
    for id_ in ("SP-abc", "SP-abd"):
        records.put(Spawned(id_, "claude", "exited"))
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
