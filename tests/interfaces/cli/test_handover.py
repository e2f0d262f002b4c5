"""`baton handover`, `import kairos` and `export kairos` as their users call them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pseudo_terminal import typing

from baton_git.systems.kairos import codec as kairos

Baton = Callable[..., Any]
Git = Callable[..., str]
NAME = "kairos-session-handover.txt"
TOKEN = "ghp_" + "a1B2" * 9


def step(baton: Baton, name: str, *more: str, session: str = "run-1", **options: Any) -> Any:
    """Take a step of a run with the challenge `name`."""
    return baton(
        "handover", "step", "--session", session, "--challenge", name, "--uri", f"kairos://{name}", *more, **options
    )


def state(baton: Baton, *more: str, **options: Any) -> dict[str, Any]:
    """Return the handover as `baton handover resume --json` prints it."""
    data: dict[str, Any] = baton("handover", "resume", *more, "--json", **options).json
    return data


def test_a_run_is_stored_from_its_first_step_to_its_end(baton: Baton, git: Git, top: Path) -> None:
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
    assert "the run was completed on" in shown.err


def test_resume_prints_the_run_as_text_for_an_agent(baton: Baton) -> None:
    step(baton, "resolve", "--index", "1", 'who={"Adam": "a\\u001b[31m"}', "note=two\nlines")
    done = baton("handover", "resume")
    first, *rest, age = done.out.splitlines()
    assert first.startswith("Handover run-1 (historical reference")
    assert rest == [
        "challenge: resolve", "uri: kairos://resolve", "index: 1", "partial state so far:",
        r'  who: {"Adam": "a\u001b[31m"}', r'  note: "two\nlines"',
    ]  # fmt: skip
    assert age.startswith("updated: 20")
    assert age.endswith(" s ago")
    assert "STALE" not in done.out
    assert baton("handover", "resume").out.splitlines()[:-1] == done.out.splitlines()[:-1]


@pytest.mark.parametrize(
    ("updated_at", "stale", "note"),
    [
        ("2025-11-25T14:30:00Z", True, "STALE (older than 24 h)"), ("soon", None, "age unknown"),
        ("", None, "age unknown"), ("2999-01-01T00:00:00Z", None, "a clock is wrong"),
    ],
)  # fmt: skip
def test_stale_runs_and_unknown_ages_are_reported(
    baton: Baton, tmp_path: Path, updated_at: str, stale: bool | None, note: str
) -> None:
    (tmp_path / NAME).write_text(f"SESSION_ID: run-1\nupdated_at: {updated_at}\n")
    baton("import", "kairos", str(tmp_path / NAME))
    assert state(baton)["stale"] is stale
    assert note in baton("handover", "resume").out


def test_the_second_client_gets_the_current_state(baton: Baton, git: Git, top: Path) -> None:
    step(baton, "resolve", "--index", "1")
    step(baton, "confirm", "--index", "2", "n=1")
    before = git(top, "for-each-ref")
    for more in (["--index", "2"], [], ["--from", "resolve"]):
        done = step(baton, "confirm", *more, code=3)
        assert "challenge: confirm\n" in done.out
        assert "  n: 1\n" in done.out
        assert done.err.startswith("baton: handover run-1 is at confirm, step 2, kairos://confirm, since 20")
    data = step(baton, "find_slot", "--from", "resolve", "--json", code=3).json
    assert data["error"] == "step_conflict"
    assert data["current"]["state"] == {"n": 1}
    assert git(top, "for-each-ref") == before


def test_of_many_processes_that_take_a_step_only_one_succeeds(baton: Baton, top: Path) -> None:
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


def test_resume_selects_the_run_by_uri_or_the_only_live_run(baton: Baton) -> None:
    step(baton, "resolve")
    assert state(baton)["SESSION_ID"] == "run-1"
    step(baton, "other", session="run-2")
    assert state(baton, "--uri", "kairos://other")["SESSION_ID"] == "run-2"
    done = baton("handover", "resume", code=2)
    assert "several runs are live: run-1, run-2" in done.err


# --- the run, and who works on it


def test_the_acting_session_does_not_select_the_run(baton: Baton, top: Path) -> None:
    step(baton, "resolve")
    step(baton, "other", session="run-2")
    mine = {"BATON_SESSION": "run-1"}
    baton("boot", "--session", "run-2", "--no-verify")
    for words in (["resume"], ["show"], ["step", "--stay"], ["clear", "--outcome", "completed"]):
        assert "several runs are live" in baton("handover", *words, env=mine, code=2).err
    assert "several runs are live" in baton("export", "kairos", "-", env=mine, code=2).err


def session_of_tip(git: Git, top: Path) -> str:
    """Return the session that the newest commit names."""
    return git(top, "log", "-1", "--format=%(trailers:key=Baton-Session,valueonly)", "baton/work").strip()


def test_a_named_run_does_not_hide_who_acts(baton: Baton, git: Git, top: Path) -> None:
    step(baton, "resolve")
    assert session_of_tip(git, top) == "run-1"  # no other run is known
    baton("boot", "--session", "at-work", "--no-verify")
    step(baton, "confirm")
    assert session_of_tip(git, top) == "at-work"
    step(baton, "find_slot", env={"BATON_SESSION": "mine"})
    assert session_of_tip(git, top) == "mine"
    baton("handover", "clear", "--session", "run-1", "--outcome", "completed", env={"BATON_SESSION": "mine"})
    assert session_of_tip(git, top) == "mine"
    assert "completed on" in (said := baton("handover", "resume", "--session", "run-1", code=1).err)
    assert "by session mine" in said


def test_a_run_may_have_a_name_that_is_not_a_valid_session(baton: Baton, git: Git, top: Path, tmp_path: Path) -> None:
    long = "x" * 150
    (tmp_path / NAME).write_text(f"SESSION_ID: {long}\n")
    baton("import", "kairos", str(tmp_path / NAME))
    baton("handover", "step", "--session", long, "--stay", "a=1")
    assert session_of_tip(git, top) == ""
    assert state(baton, "--session", long)["state"] == {"a": 1}


def test_a_run_named_like_its_session_is_found_by_the_short_name_that_is_shown(baton: Baton) -> None:
    """Else a step with that name would begin a second run, which looks the same in the log."""
    name = "0f1e2d3c-1111-4222-8333-444455556666"
    baton("boot", "--session", name, "--no-sync")
    step = ("handover", "step", "--uri", "kairos://x", "--session")
    assert "handover 0f1e2d3c begun" in baton(*step, name, "--challenge", "c").err
    baton(*step, "0f1e2d3c", "--challenge", "d")
    assert [run["SESSION_ID"] for run in baton("handover", "list", "--json").json["handovers"]] == [name]
    for words in (("resume",), ("clear", "--outcome", "completed"), ("show",)):
        assert baton("handover", *words, "--session", "0f1e2d3c", "--json").json["SESSION_ID"] == name
    baton(*step, "0f1e2d3d", "--challenge", "c")
    assert [run["SESSION_ID"] for run in baton("handover", "list", "--json").json["handovers"]] == ["0f1e2d3d"]


def test_a_run_without_a_name_gets_a_new_id(baton: Baton, top: Path) -> None:
    words = ["handover", "step", "--challenge", "resolve", "--uri", "kairos://1"]
    done = baton(*words, "--file", NAME, env={"BATON_SESSION": "mine"})
    id_ = done.out.strip()
    assert re.fullmatch(r"run-[0-9a-z]{6}", id_)
    assert f"SESSION_ID: {id_}\n" in (top / NAME).read_text()
    assert "it is already at this step" in baton(*words, code=3).err
    assert baton("handover", "step", "--challenge", "confirm", "--uri", "kairos://2").out == f"{id_}\n"
    baton("handover", "clear", "--outcome", "completed", "--file", NAME)
    assert "there is no live handover" in baton("handover", "step", "--stay", "a=1", code=1).err
    assert "there is no live handover" in baton(*words, "--from", "x", code=1).err
    assert baton(*words).out.strip() != id_


def test_resuming_distinguishes_an_ended_run_from_one_that_never_began(baton: Baton) -> None:
    step(baton, "resolve")
    baton("handover", "clear", "--outcome", "abandoned")
    ended = baton("handover", "resume", "--session", "run-1", "--json", code=1)
    assert (ended.json["error"], ended.json["outcome"]) == ("ended", "abandoned")
    assert "was abandoned on 20" in ended.err
    assert baton("handover", "resume", "--session", "run-2", "--json", code=1).json["error"] == "not_found"
    assert step(baton, "again", "--json", code=3).json["error"] == "step_conflict"


# --- the workspace copy


def test_the_copy_is_kept_at_the_configured_path(baton: Baton, git: Git, top: Path) -> None:
    git(top, "config", "baton.handoverFile", f".kairos/{NAME}")
    (top / "below").mkdir()
    step(baton, "resolve", cwd=top / "below")
    file = top / ".kairos" / NAME
    assert "current_challenge: resolve\n" in file.read_text()
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n").replace(b"resolve", b"confirm"))
    done = baton("handover", "resume")
    assert "imported from" in done.err
    assert "challenge: confirm" in done.out
    assert b"\r\n" in file.read_bytes()  # it equals the state on the branch, so it is not written
    assert "imported from" not in baton("handover", "resume").err
    baton("handover", "clear", "--outcome", "completed", cwd=top / "below")
    assert not file.exists()


def test_the_copy_selects_the_run(baton: Baton, top: Path) -> None:
    step(baton, "resolve", "--file", NAME)
    step(baton, "other", session="run-2")
    assert state(baton, "--file", NAME)["SESSION_ID"] == "run-1"
    (top / NAME).write_text("SESSION_ID: run-3\ncurrent_challenge: x\n")
    assert state(baton, "--file", NAME)["SESSION_ID"] == "run-3"
    text = (top / NAME).read_bytes()
    done = baton("handover", "resume", "--session", "run-2", "--file", NAME, "--json")
    assert (done.json["SESSION_ID"], done.json["file_problem"]) == (
        "run-2",
        f"{NAME} contains run run-3, so it was not updated",
    )
    assert done.err == f"{NAME} contains run run-3, so it was not updated\n"
    assert (top / NAME).read_bytes() == text
    done = baton("handover", "step", "--session", "run-2", "--stay", "--file", NAME)
    assert f"{NAME} contained run run-3, which is still in git; now it contains run-2" in done.err
    assert "SESSION_ID: run-2\n" in (top / NAME).read_text()


def test_a_broken_copy_is_reported_in_one_line_and_never_replaced(baton: Baton, git: Git, top: Path) -> None:
    step(baton, "resolve", "--file", NAME)
    (top / NAME).write_text("chain_uri: kairos://1\nstep_index: 2\n")
    before = git(top, "for-each-ref")
    fault = f"{NAME}: SESSION_ID: is missing: the file ends at line 2 without it"
    for words in (["step", "--stay"], ["clear", "--outcome", "completed"]):
        done = baton("handover", *words, "--file", NAME, code=1)
        assert done.err == f"baton: {fault}\n"
        assert done.out == ""
    for word in ("resume", "show"):
        done = baton("handover", word, "--file", NAME)
        assert done.err == f"the copy was not imported, so this is the state in git: {fault}\n"
        assert "resolve" in done.out
        assert baton("handover", word, "--file", NAME, "--json").json["file_problem"] == fault
    assert (top / NAME).read_text() == "chain_uri: kairos://1\nstep_index: 2\n"
    assert git(top, "for-each-ref") == before


def test_a_late_edit_of_a_run_that_has_ended_is_a_conflict_and_changes_nothing(
    baton: Baton, git: Git, top: Path
) -> None:
    step(baton, "resolve", "--file", NAME)
    text = (top / NAME).read_text()
    baton("handover", "clear", "--session", "run-1", "--outcome", "completed")
    (top / NAME).write_text(text + "more: 1\n")
    before = git(top, "for-each-ref")
    step_two = ["step", "--session", "run-2", "--challenge", "x", "--uri", "u"]
    for words in (["handover", "clear", "--outcome", "completed"], ["handover", *step_two]):
        assert "run-1 was completed on 20" in baton(*words, "--file", NAME, code=3).err
    assert baton("import", "kairos", NAME, "--json", code=3).json["outcome"] == "completed"
    assert "run-1 was completed on" in baton("handover", "show", "--session", "run-1", "--file", NAME).err
    assert (top / NAME).read_text() == text + "more: 1\n"
    assert git(top, "for-each-ref") == before


def test_only_clearing_an_ended_run_again_removes_its_copy(baton: Baton, top: Path) -> None:
    step(baton, "resolve", "--file", NAME)
    baton("handover", "clear", "--outcome", "completed")
    baton("handover", "resume", "--session", "run-1", "--file", NAME, code=1)
    assert (top / NAME).exists()
    baton("handover", "clear", "--session", "run-1", "--outcome", "completed", "--file", NAME, code=1)
    assert not (top / NAME).exists()


def test_a_resume_shows_the_run_even_if_its_copy_cannot_be_written(baton: Baton, top: Path) -> None:
    step(baton, "resolve")
    (top / "file").write_text("")
    done = baton("handover", "resume", "--file", "file/x.txt", "--json")
    assert done.json["current_challenge"] == "resolve"
    assert "cannot write file/x.txt" in done.json["file_problem"]


def test_a_step_whose_copy_fails_reports_that_it_was_stored_in_git(baton: Baton, top: Path) -> None:
    (top / "file").write_text("")
    done = step(baton, "resolve", "--index", "1", "--file", "file/x.txt", "--json", code=1)
    assert "the step of run-1 is in git, but cannot write file/x.txt" in done.err
    assert "a retry would be a conflict" in done.err
    assert (done.json["error"], done.json["session"]) == ("write_failed", "run-1")
    step(baton, "resolve", "--index", "1", code=3)
    done = baton("handover", "step", "--stay", "a=1", "--file", "file/x.txt", code=1)
    assert "a retry would change nothing" in done.err
    assert state(baton)["state"] == {"a": 1}


# --- secrets


def read_all_files(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_secret_in_a_clients_file_is_stored_nowhere_else(baton: Baton, top: Path) -> None:
    step(baton, "resolve", "--file", NAME)
    text = (top / NAME).read_text().replace("updated_at", f"note: use {TOKEN}\nupdated_at")
    (top / NAME).write_text(text)
    for _ in range(2):
        assert state(baton, "--file", NAME)["state"] == {"note": "use [redacted: github token]"}
        assert (top / NAME).read_text() == text
    assert TOKEN.encode() not in read_all_files(top / ".git" / "baton")
    (top / NAME).write_text(text.replace("updated_at", "more: 1\nupdated_at"))
    baton("handover", "step", "--stay", "note=mine")
    assert state(baton, "--file", NAME)["state"] == {"note": "mine", "more": 1}
    assert state(baton)["contested"] == []
    assert TOKEN.encode() not in read_all_files(top / ".git" / "baton")


def test_a_key_or_an_id_that_is_a_secret_is_refused(baton: Baton, top: Path) -> None:
    for text in (f"SESSION_ID: run-1\n{TOKEN}: 1\n", f"SESSION_ID: {TOKEN}\n"):
        (top / NAME).write_text(text)
        assert "holds a secret (github token)" in (said := baton("import", "kairos", NAME, code=1).err)
        assert TOKEN not in said
        assert not (top / ".git" / "baton" / "handover").exists()
    assert "key of the partial state holds a secret" in step(baton, "resolve", f"{TOKEN}=1", code=1).err


# --- the terminal


def test_control_and_bidi_characters_cannot_control_a_terminal(baton: Baton, top: Path) -> None:
    step(baton, "resolve", "a=x\x9b31m  y", "b=\u202egnp.exe")
    shown = baton("handover", "resume").out
    assert r'a: "x\u009b31m  y"' in shown
    assert r"b: \u202egnp.exe" in shown
    text = baton("handover", "show").out
    assert "\x9b" not in text
    assert 'b: "\\u202egnp.exe"\n' in text
    assert kairos.loads(text.encode())["state"]["b"] == "\u202egnp.exe"
    code, screen = typing(top, "handover", "show", asked="nothing")
    assert code == 0
    assert r'b: "\u202egnp.exe"' in screen
    assert "updated_at: 20" in screen
    assert typing(top, "export", "kairos", "-", asked="nothing")[1] == screen


def test_a_conflict_leaves_the_copy_unchanged(baton: Baton, top: Path) -> None:
    step(baton, "resolve", "--file", NAME)
    step(baton, "confirm")
    before = (top / NAME).read_bytes()
    step(baton, "confirm", "--file", NAME, code=3)
    assert (top / NAME).read_bytes() == before


def test_conflicts_are_reported(baton: Baton, top: Path) -> None:
    step(baton, "resolve", "a=1", "--file", NAME)
    (top / NAME).write_text((top / NAME).read_text().replace("a: 1", "a: 2"))
    baton("handover", "step", "--stay", "a=3")
    done = baton("handover", "resume", "--file", NAME)
    assert "conflict: state.a of run-1; see baton conflicts" in done.err
    assert "CONFLICT: two clients changed state.a differently; to resolve: baton resolve C-" in done.out
    assert [one["field"] for one in state(baton)["contested"]] == ["state.a"]


def test_without_a_work_tree_the_setting_of_the_copy_needs_an_absolute_path(
    baton: Baton, git: Git, tmp_path: Path
) -> None:
    git(tmp_path, "init", "-q", "--bare", "b.git")
    git(tmp_path / "b.git", "config", "baton.handoverFile", NAME)
    bare = ["--repo", str(tmp_path / "b.git"), "--create"]
    assert "there is no work tree" in step(baton, "resolve", *bare, code=2).err
    git(tmp_path / "b.git", "config", "baton.handoverFile", str(tmp_path / NAME))
    step(baton, "resolve", *bare)
    assert (tmp_path / NAME).exists()


def test_the_work_tree_the_index_and_other_branches_are_left_alone(baton: Baton, git: Git, top: Path) -> None:
    def read_state() -> tuple[str, ...]:
        return git(top, "status", "--porcelain"), git(top, "rev-parse", "HEAD", "main"), git(top, "ls-files", "-s")

    before = read_state()
    step(baton, "resolve")
    baton("handover", "resume")
    baton("handover", "clear", "--outcome", "completed")
    assert read_state() == before


# --- import and export


def test_the_example_of_the_kairos_document_round_trips_byte_for_byte(baton: Baton, tmp_path: Path) -> None:
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


def test_an_older_revision_of_a_run_can_be_exported(baton: Baton, tmp_path: Path) -> None:
    step(baton, "resolve")
    step(baton, "confirm")
    baton("export", "kairos", str(tmp_path / NAME), "--at", "~1")
    assert "resolve" in (tmp_path / NAME).read_text()


@pytest.mark.parametrize(
    "existing", ["a note\n", "SESSION_ID: run-2\n", "x" * (17 << 20)], ids=["note", "run", "large"]
)
def test_an_export_replaces_nothing_but_the_file_of_its_run(baton: Baton, tmp_path: Path, existing: str) -> None:
    step(baton, "resolve")
    file = tmp_path / NAME
    for replaced in ("", " \n", "SESSION_ID: run-1\na: 1\n"):
        file.write_text(replaced)
        baton("export", "kairos", str(file))
        assert "current_challenge: resolve\n" in file.read_text()
    file.write_text(existing)
    done = baton("export", "kairos", str(file), code=1)
    assert "exists and is not a handover file of run-1" in done.err
    assert "--force" in done.err
    assert file.read_text() == existing
    baton("export", "kairos", str(file), "--force")
    assert "current_challenge: resolve\n" in file.read_text()


def test_an_export_to_standard_output_equals_the_file(baton: Baton, tmp_path: Path, top: Path) -> None:
    step(baton, "resolve", "a=é")
    baton("export", "kairos", str(tmp_path / NAME))
    done = baton("export", "kairos", "-")
    assert (done.out, done.err) == ((tmp_path / NAME).read_text(), "")
    assert baton("export", "kairos", "-", "--json").json == {"SESSION_ID": "run-1", "path": "-", "text": done.out}
    assert not (top / "-").exists()


def test_importing_something_that_is_not_a_file_is_an_error(baton: Baton, top: Path) -> None:
    (top / "x.txt").write_text("")
    assert "there is no handover in 'x.txt/y'" in (said := baton("import", "kairos", "x.txt/y", code=1).err)
    assert "space" not in said  # the hint is not that of a full disk
    assert baton("import", "kairos", ".", code=2).err == "baton: . is a folder, not a handover file\n"


def test_an_error_names_the_field_whose_value_is_not_utf_8(baton: Baton) -> None:
    step(baton, "resolve")
    for value in ("a=\udcff", 'a={"b": ["\udcff"]}', "a=[1,\udcff"):
        assert baton("handover", "step", "--stay", value, code=1).err.startswith("baton: state.a: ")
    done = step(baton, "\udcff", code=1)
    assert done.err.startswith("baton: current_challenge: holds '\\udcff', half of a surrogate pair")


# --- the verbs that all records have


def test_log_diff_undo_and_rollback_work_for_runs(baton: Baton, top: Path) -> None:
    step(baton, "resolve", "--index", "1", "a=1", "--file", NAME)
    step(baton, "confirm", "a=2", "--file", NAME)
    log = baton("log", "--record", "run-1", "--json").json["commits"]
    assert len(log) == 2, log
    shown = baton("diff", "1", "2").out
    assert "state.a" in shown
    assert "step" in shown
    assert "made by session run-1" in baton("undo", code=1).err
    baton("undo", "2")
    assert (state(baton)["current_challenge"], state(baton)["state"]) == ("resolve", {"a": 1})
    baton("handover", "clear", "--outcome", "abandoned")
    baton("rollback", "2")
    assert (state(baton)["current_challenge"], state(baton)["state"]) == ("confirm", {"a": 2})
    baton("handover", "clear", "--outcome", "completed")
    ended = baton("handover", "resume", "--session", "run-1", "--json", code=1).json
    assert ended["outcome"] == "completed"
