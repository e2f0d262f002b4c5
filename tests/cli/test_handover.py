"""`baton handover`, `import kairos` and `export kairos` as their users call them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Baton = Callable[..., Any]
Git = Callable[..., str]
NAME = "kairos-session-handover.txt"


def step(baton: Baton, name: str, *more: str, session: str = "run-1", **how: Any) -> Any:
    return baton(
        "handover", "step", "--session", session, "--challenge", name, "--uri", f"kairos://{name}", *more, **how
    )


def state(baton: Baton, *more: str, **how: Any) -> dict[str, Any]:
    data: dict[str, Any] = baton("handover", "resume", *more, "--json", **how).json
    return data


def test_a_run_from_its_first_step_to_its_end(baton: Baton, git: Git, top: Path) -> None:
    done = step(baton, "resolve", "--index", "1", 'participants={"Adam": "a@x", "Candy": null}', "note=as: is", "n=01")
    assert done.out == "run-1\n"
    data = step(baton, "confirm", "--json", "duration_minutes=30").json
    assert (data["current_challenge"], data["step_index"]) == ("confirm", 2)
    assert data["state"] == {
        "participants": {"Adam": "a@x", "Candy": None}, "note": "as: is", "n": "01", "duration_minutes": 30,
    }  # fmt: skip
    baton("handover", "step", "--stay", "n=", "--unset", "note", 'slot="x"')
    assert baton("handover", "show").out.splitlines()[:-1] == [
        "SESSION_ID: run-1",
        "current_challenge: confirm",
        "chain_uri: kairos://confirm",
        "step_index: 2",
        'participants: {"Adam": "a@x", "Candy": null}',
        'n: ""',
        "duration_minutes: 30",
        "slot: x",
    ]
    done = baton("handover", "clear", "--outcome", "completed")
    assert "handover run-1 completed" in done.err
    log = git(top, "log", "--format=%s", "baton/work").splitlines()
    assert log[0] == "handover run-1 completed"
    assert "confirm" in log[2]
    assert "handover show --session" in baton("handover", "resume", "--session", "run-1", code=1).err
    shown = baton("handover", "show", "--session", "run-1")
    assert "slot: x" in shown.out
    assert "it was completed on" in shown.err


def test_the_text_of_a_resume_is_made_for_an_agent(baton: Baton) -> None:
    step(baton, "resolve", "--index", "1", 'who={"Adam": "a\\u001b[31m"}', "note=two\nlines")
    done = baton("handover", "resume")
    first, *rest, age = done.out.splitlines()
    assert first.startswith("Handover run-1 (historical reference")
    assert rest == [
        "challenge: resolve", "uri: kairos://resolve", "index: 1", "partial state, known already:",
        r'  who: {"Adam": "a\u001b[31m"}', r'  note: "two\nlines"',
    ]  # fmt: skip
    assert age.startswith("updated: 20")
    assert age.endswith(" s ago")
    assert "STALE" not in done.out
    assert baton("handover", "resume").out.splitlines()[:-1] == done.out.splitlines()[:-1]


@pytest.mark.parametrize(
    ("updated_at", "stale", "said"),
    [
        ("2025-11-25T14:30:00Z", True, "STALE (older than 24 h)"), ("soon", None, "age unknown"),
        ("", None, "age unknown"), ("2999-01-01T00:00:00Z", None, "a clock is wrong"),
    ],
)  # fmt: skip
def test_it_says_when_a_run_is_stale_or_nobody_knows(
    baton: Baton, tmp_path: Path, updated_at: str, stale: bool | None, said: str
) -> None:
    (tmp_path / NAME).write_text(f"SESSION_ID: run-1\nupdated_at: {updated_at}\n")
    baton("import", "kairos", str(tmp_path / NAME))
    assert state(baton)["stale"] is stale
    assert said in baton("handover", "resume").out


def test_the_second_client_gets_the_current_state(baton: Baton, git: Git, top: Path) -> None:
    step(baton, "resolve", "--index", "1")
    step(baton, "confirm", "--index", "2", "n=1")
    before = git(top, "for-each-ref")
    for more in (["--index", "2"], [], ["--from", "resolve"]):
        done = step(baton, "confirm", *more, code=3)
        assert "challenge: confirm\n" in done.out
        assert "  n: 1\n" in done.out
        assert done.err.startswith("baton: handover run-1 stands at confirm, step 2, kairos://confirm, since 20")
    data = step(baton, "find_slot", "--from", "resolve", "--json", code=3).json
    assert data["error"] == "step_conflict"
    assert data["current"]["state"] == {"n": 1}
    assert git(top, "for-each-ref") == before


def test_of_many_processes_that_go_on_from_one_step_one_does(baton: Baton, top: Path) -> None:
    step(baton, "resolve", "--index", "1")
    argv = [sys.executable, "-m", "baton_git", "handover", "step", "--session", "run-1", "--index", "2"]
    clients = [
        subprocess.Popen(
            [*argv, "--challenge", f"c{number}", "--uri", f"u{number}"],
            cwd=top, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for number in range(3)
    ]  # fmt: skip
    for one in clients:
        one.communicate()
    assert sorted(one.returncode for one in clients) == [0, 3, 3]
    [winner] = [number for number, one in enumerate(clients) if one.returncode == 0]
    assert state(baton)["current_challenge"] == f"c{winner}"


def test_resuming_by_uri_and_as_the_only_one_and_by_the_variable(baton: Baton) -> None:
    step(baton, "resolve")
    step(baton, "other", session="run-2")
    assert state(baton, "--uri", "kairos://other")["SESSION_ID"] == "run-2"
    assert state(baton, env={"BATON_SESSION": "run-1"})["SESSION_ID"] == "run-1"
    assert state(baton, "--uri", "kairos://other", env={"BATON_SESSION": "run-1"})["SESSION_ID"] == "run-2"
    done = baton("handover", "resume", code=2)
    assert "several runs are live: run-1, run-2" in done.err


def test_never_begun_and_ended_are_two_answers(baton: Baton) -> None:
    step(baton, "resolve")
    baton("handover", "clear", "--outcome", "abandoned")
    ended = baton("handover", "resume", "--session", "run-1", "--json", code=1)
    assert (ended.json["error"], ended.json["outcome"]) == ("ended", "abandoned")
    assert "was abandoned on 20" in ended.err
    assert baton("handover", "resume", "--session", "run-2", "--json", code=1).json["error"] == "not_found"
    assert step(baton, "again", "--json", code=3).json["error"] == "step_conflict"


# --- the workspace copy


def test_the_copy_is_kept_where_it_is_set_up(baton: Baton, git: Git, top: Path) -> None:
    git(top, "config", "baton.handoverFile", f".kairos/{NAME}")
    (top / "below").mkdir()
    step(baton, "resolve", cwd=top / "below")
    file = top / ".kairos" / NAME
    assert "current_challenge: resolve\n" in file.read_text()
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n").replace(b"resolve", b"confirm"))
    done = baton("handover", "resume")
    assert "taken over from" in done.err
    assert "challenge: confirm" in done.out
    assert b"\r" not in file.read_bytes()
    assert "taken over" not in baton("handover", "resume").err
    baton("handover", "clear", "--outcome", "completed", cwd=top / "below")
    assert not file.exists()


def test_the_copy_says_which_run_is_meant(baton: Baton, top: Path) -> None:
    step(baton, "resolve", "--file", NAME)
    step(baton, "other", session="run-2")
    assert state(baton, "--file", NAME)["SESSION_ID"] == "run-1"
    (top / NAME).write_text("SESSION_ID: run-3\ncurrent_challenge: x\n")
    assert state(baton, "--file", NAME)["SESSION_ID"] == "run-3"
    baton("handover", "resume", "--session", "run-2", "--file", NAME)
    assert "SESSION_ID: run-2\n" in (top / NAME).read_text()


def test_a_broken_copy_is_told_in_one_line_and_never_written_over(baton: Baton, git: Git, top: Path) -> None:
    step(baton, "resolve", "--file", NAME)
    (top / NAME).write_text("chain_uri: kairos://1\nstep_index: 2\n")
    before = git(top, "for-each-ref")
    for words in (["step", "--stay"], ["resume"], ["show"], ["clear", "--outcome", "completed"]):
        done = baton("handover", *words, "--file", NAME, code=1)
        assert done.err == f"baton: {NAME}: SESSION_ID: is missing: the file ends at line 2 without it\n"
        assert done.out == ""
    assert (top / NAME).read_text() == "chain_uri: kairos://1\nstep_index: 2\n"
    assert git(top, "for-each-ref") == before


def test_a_conflict_leaves_the_copy_alone(baton: Baton, top: Path) -> None:
    step(baton, "resolve", "--file", NAME)
    step(baton, "confirm")
    before = (top / NAME).read_bytes()
    step(baton, "confirm", "--file", NAME, code=3)
    assert (top / NAME).read_bytes() == before


def test_what_is_contested_is_told(baton: Baton, top: Path) -> None:
    step(baton, "resolve", "a=1", "--file", NAME)
    (top / NAME).write_text((top / NAME).read_text().replace("a: 1", "a: 2"))
    baton("handover", "step", "--stay", "a=3")
    done = baton("handover", "resume", "--file", NAME)
    assert "contested: state.a of run-1; see baton conflicts" in done.err
    assert "CONTESTED: two clients changed state.a differently; settle it: baton resolve C-" in done.out
    assert [one["field"] for one in state(baton)["contested"]] == ["state.a"]


def test_a_setting_without_a_work_tree_needs_a_whole_path(baton: Baton, git: Git, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "b.git")
    git(tmp_path / "b.git", "config", "baton.handoverFile", NAME)
    where = ["--repo", str(tmp_path / "b.git")]
    assert "there is no work tree" in step(baton, "resolve", *where, code=2).err
    git(tmp_path / "b.git", "config", "baton.handoverFile", str(tmp_path / NAME))
    step(baton, "resolve", *where)
    assert (tmp_path / NAME).exists()


def test_the_work_tree_the_index_and_other_branches_are_left_alone(baton: Baton, git: Git, top: Path) -> None:
    def seen() -> tuple[str, ...]:
        return git(top, "status", "--porcelain"), git(top, "rev-parse", "HEAD", "main"), git(top, "ls-files", "-s")

    before = seen()
    step(baton, "resolve")
    baton("handover", "resume")
    baton("handover", "clear", "--outcome", "completed")
    assert seen() == before


# --- import and export


def test_the_documents_own_example_comes_back_byte_for_byte(baton: Baton, tmp_path: Path) -> None:
    file, again = tmp_path / NAME, tmp_path / "again.txt"
    file.write_bytes(
        b"SESSION_ID: kairos-mcp-challenge-abc123\ncurrent_challenge: resolve_participants\n"
        b"chain_uri: kairos://mem/step1-uuid-...\nstep_index: 1\n"
        b'participants: {"Adam": "adam.smith@company.com", "Candy": null}\nupdated_at: 2025-11-25T14:30:00Z\n'
    )
    done = baton("import", "kairos", str(file), "--json")
    assert (done.json["SESSION_ID"], done.json["changed"]) == ("kairos-mcp-challenge-abc123", True)
    assert baton("import", "kairos", str(file), "--json").json["changed"] is False
    baton("export", "kairos", str(again))
    assert again.read_bytes() == file.read_bytes()
    assert baton("handover", "show").out.encode() == file.read_bytes()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_version_of_before_can_be_exported(baton: Baton, tmp_path: Path) -> None:
    step(baton, "resolve")
    step(baton, "confirm")
    baton("export", "kairos", str(tmp_path / NAME), "--at", "~1")
    assert "resolve" in (tmp_path / NAME).read_text()
