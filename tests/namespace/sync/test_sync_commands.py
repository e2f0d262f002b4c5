"""The commands `baton sync`, `review`, `conflicts` and `resolve`, and sessions that sync automatically."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pseudo_terminal import typing

import baton_git
from baton_git.core.errors import NeedsHuman

Baton = Callable[..., Any]
Git = Callable[..., str]
REF = "refs/heads/baton/work"


@pytest.fixture
def here(top: Path, bare: Path, git: Git) -> Path:
    """Return the repository `top` with the remote `origin`."""
    git(top, "remote", "add", "origin", str(bare))
    return top


@pytest.fixture
def there(tmp_path: Path, bare: Path, git: Git) -> Path:
    """Return another clone. Its folder has the same name, so its namespace has the same name, too."""
    folder = tmp_path / "b" / "work"
    git(tmp_path, "init", "-q", "-b", "main", str(folder))
    git(folder, "remote", "add", "origin", str(bare))
    return folder


def add(baton: Baton, where: Path, id_: str, action: str = "deployed") -> None:
    baton("loop", "add", action, "--expect", "it answers", "--id", id_, cwd=where)


@pytest.fixture
def synced(baton: Baton, here: Path, there: Path) -> tuple[Path, Path]:
    """Return two clones that both have the loop `OL-1`."""
    baton("init")
    add(baton, here, "OL-1")
    baton("sync")
    baton("sync", cwd=there)
    return here, there


def ids(baton: Baton, where: Path) -> set[str]:
    return {one["id"] for one in baton("read", cwd=where).json["baton"]["open_loops"]}


def test_records_are_synced_from_one_clone_to_the_other_and_back(baton: Baton, synced: tuple[Path, Path]) -> None:
    here, there = synced
    assert ids(baton, there) == {"OL-1"}
    add(baton, there, "OL-2")
    add(baton, here, "OL-3")
    assert "1 commit sent to origin" in baton("sync", cwd=there).err
    done = baton("sync", "--json")
    [one] = done.json["namespaces"]
    assert [action["kind"] for action in one["actions"]] == ["merge", "send"]
    baton("sync", cwd=there)
    assert ids(baton, there) == ids(baton, here) == {"OL-1", "OL-2", "OL-3"}
    assert "up to date with" in baton("sync").err


def test_a_clone_under_another_name_keeps_its_namespace_when_that_is_deleted_elsewhere(
    baton: Baton, synced: tuple[Path, Path], bare: Path, tmp_path: Path, git: Git
) -> None:
    elsewhere = tmp_path / "elsewhere"
    git(tmp_path, "clone", "-q", str(bare), str(elsewhere))
    assert "origin/baton/work has it; to create it from there: baton boot" in baton("status", cwd=elsewhere, code=1).err
    baton("boot", "--session", "s1", cwd=elsewhere)
    add(baton, elsewhere, "OL-2")
    git(elsewhere, "push", "-q", "origin", "--delete", "baton/work")
    (elsewhere / ".git/baton/synced/no namespace").touch()
    assert ids(baton, elsewhere) == {"OL-1", "OL-2"}
    assert "deleted on the remote" in baton("sync", cwd=elsewhere, code=3).err
    assert git(elsewhere, "for-each-ref", "--format=%(refname)", "refs/heads/baton") == REF


@pytest.mark.slow
def test_a_namespace_renamed_on_the_remote_is_renamed_in_another_clone_with_the_command_that_sync_names(
    baton: Baton, synced: tuple[Path, Path], bare: Path, tmp_path: Path, git: Git
) -> None:
    here, _ = synced
    elsewhere = tmp_path / "elsewhere"
    git(tmp_path, "clone", "-q", str(bare), str(elsewhere))
    baton("boot", "--session", "s1", cwd=elsewhere)
    add(baton, elsewhere, "OL-2")
    baton("namespace", "rename", "work", "shop", "--remote", "origin", "--yes")
    add(baton, here, "OL-3")
    baton("sync")
    refused = baton("sync", cwd=elsewhere, code=3).err
    assert "if it was renamed, rename it here too: baton namespace rename work NEW" in refused
    baton("namespace", "rename", "work", "shop", cwd=elsewhere)
    assert git(elsewhere, "config", "baton.namespace").strip() == "shop"
    baton("sync", cwd=elsewhere)
    baton("sync")
    assert ids(baton, elsewhere) == ids(baton, here) == {"OL-1", "OL-2", "OL-3"}


def test_a_dry_run_prints_what_would_be_done(baton: Baton, synced: tuple[Path, Path], git: Git) -> None:
    here, there = synced
    add(baton, there, "OL-2")
    baton("sync", cwd=there)
    add(baton, here, "OL-3")
    before = git(here, "rev-parse", REF), git(here, "ls-remote", "origin")
    done = baton("sync", "--dry-run", "--json")
    assert [action["kind"] for action in done.json["namespaces"][0]["actions"]] == ["merge", "send"]
    done = baton("sync", "--dry-run")
    assert "merge both sides, 1 commit\n" in done.err
    assert "OL-2  added" in done.out
    assert (git(here, "rev-parse", REF), git(here, "ls-remote", "origin")) == before


def test_a_rewritten_branch_is_reported_with_two_solutions(baton: Baton, synced: tuple[Path, Path], git: Git) -> None:
    here, there = synced
    add(baton, here, "OL-2")
    baton("sync")
    git(there, "push", "-q", "--force", "origin", f"{REF}:{REF}")
    done = baton("sync", "--json", code=3)
    [one] = done.json["namespaces"]
    assert one["error"] == "unsettled"
    assert "--settle merge" in done.err
    baton("boot", "--session", "s1", "--no-verify")
    baton("wrap", "--context", "still working")
    assert git(here, "ls-remote", "origin", REF).split()[0] == git(there, "rev-parse", REF)
    baton("sync", "--settle", "merge")
    baton("sync", cwd=there)
    assert ids(baton, there) == {"OL-1", "OL-2"}


def test_being_offline_is_not_an_error_and_the_next_session_pushes(
    baton: Baton, synced: tuple[Path, Path], bare: Path, git: Git
) -> None:
    here, there = synced
    git(here, "remote", "set-url", "origin", "git://127.0.0.1:1/x.git")
    add(baton, here, "OL-2")
    assert "working offline, 1 commit pending" in baton("sync").err
    begun = baton("boot", "--session", "s1", "--no-verify", "--json").json
    assert any("working offline" in one for one in begun["news"])
    assert "working offline" in begun["brief"]
    ended = baton("wrap", "--context", "on a train")
    assert "working offline, 3 commits pending" in ended.err
    assert "pending" in baton("status").out
    git(here, "remote", "set-url", "origin", str(bare))
    baton("boot", "--session", "s2", "--no-verify")
    assert "commits sent to origin" in baton("wrap", "--context", "home again").err
    baton("sync", cwd=there)
    assert "OL-2" in ids(baton, there)


def test_a_missing_remote_repository_does_not_stop_a_session(
    baton: Baton, synced: tuple[Path, Path], bare: Path
) -> None:
    here, _ = synced
    bare.rename(bare.with_name("elsewhere.git"))
    add(baton, here, "OL-2")
    begun = baton("boot", "--session", "s1", "--no-verify", "--json").json
    assert any("origin" in one for one in begun["news"])
    assert "origin" in baton("wrap", "--context", "x").err
    baton("sync", code=1)


def test_without_a_remote_there_is_nothing_to_sync_with(baton: Baton, top: Path) -> None:
    baton("init")
    assert "git remote add" in baton("sync", code=1).err
    assert baton("boot", "--no-verify", "--json").json["news"] == []
    assert baton("wrap", "--context", "x", "--json").json["news"] == []
    assert "no remote" in baton("sync", "--remote", "nowhere", code=1).err


def test_a_rejected_push_is_reported(baton: Baton, synced: tuple[Path, Path], bare: Path) -> None:
    here, _ = synced
    hook = bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'not on a Sunday' >&2\nexit 1\n")
    hook.chmod(0o755)
    add(baton, here, "OL-2")
    done = baton("sync", code=1)
    assert "not on a Sunday" in done.err
    baton("wrap", "--context", "x")


def test_all_fetches_namespaces_that_only_the_remote_has(baton: Baton, synced: tuple[Path, Path]) -> None:
    here, there = synced
    baton("loop", "add", "x", "--expect", "y", "-n", "Other: one", "--create", cwd=there)
    baton("sync", "--all", cwd=there)
    done = baton("sync", "--all", "--json")
    assert {one["namespace"] for one in done.json["namespaces"]} == {"work", "Other: one"}
    assert len(baton("read", "-n", "Other: one", cwd=here).json["baton"]["open_loops"]) == 1


# --- review


WAITING = "2 records of origin (2 commits) wait for a person's review: baton review --remote origin"


@pytest.fixture
def waiting(baton: Baton, synced: tuple[Path, Path], git: Git) -> Path:
    """Let the loops OL-2 and OL-3 wait for a review in `top`."""
    here, there = synced
    git(here, "config", "remote.origin.batonPolicy", "review")
    add(baton, there, "OL-2", "SECRET PLAN \x1b[31m")
    add(baton, there, "OL-3")
    baton("sync", cwd=there)
    assert f"{WAITING} (the remote's policy is review)" in baton("sync").err
    return here


def test_waiting_changes_are_announced_but_not_injected(baton: Baton, waiting: Path) -> None:
    begun = baton("boot", "--session", "s1", "--no-verify", "--json").json
    assert WAITING in begun["brief"]
    assert "SECRET PLAN" not in json.dumps(begun)
    assert baton("list").err == f"{WAITING}\n"
    status = baton("status")
    assert "2 commits from origin (reasons: baton sync; commits: baton review)" in status.out
    assert "SECRET PLAN" not in status.out
    assert baton("status", "--json").json["waiting"] == {"origin": 2}
    shown = baton("review")
    assert "open loop OL-2" in shown.out
    assert "SECRET PLAN" in shown.out
    assert "\x1b[31m" not in shown.out


def test_records_are_reviewed_with_options(baton: Baton, waiting: Path) -> None:
    assert [one["id"] for one in baton("review", "--json").json["waiting"]] == ["OL-2", "OL-3"]
    done = baton("review", "--reject", "OL-2", "--json")
    assert done.json["rejected"] == ["OL-2"]
    assert done.json["remaining"] == 1
    assert "OL-2" not in baton("review").out
    assert "1 accepted, 0 rejected, 0 left" in baton("review", "--accept-all").err
    assert ids(baton, waiting) == {"OL-1", "OL-3"}
    assert "sent to origin" in baton("sync").err
    assert "nothing from origin waits" in baton("review").err


@pytest.mark.parametrize("sign", ["--agent", "BATON_AGENT", "CLAUDECODE"])
@pytest.mark.parametrize(
    "words",
    [(), ("--json",), ("--accept-all",), ("--accept", "OL-2"), ("--reject-all",), ("--reject", "OL-2")],
    ids=str,
)
def test_an_agent_neither_sees_nor_decides_what_waits(
    baton: Baton, waiting: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], sign: str
) -> None:
    options = ("--agent", "claude") if sign == "--agent" else ()
    if not options:
        monkeypatch.setenv(sign, "claude")
    is_deciding = words not in ((), ("--json",))
    done = baton("review", *words, *options, code=1 if is_deciding else 0)
    assert "SECRET PLAN" not in done.out + done.err
    assert "an agent is acting here" in done.out + done.err
    assert "only a person may review, on the page" in done.out + done.err
    assert is_deciding or "OL-2" in done.out
    assert ids(baton, waiting) == {"OL-1"}


def test_an_agent_does_not_pass_by_a_review_with_the_address_of_the_remote(
    baton: Baton, waiting: Path, bare: Path
) -> None:
    refused = baton("sync", str(bare), "--agent", "claude", code=1).err
    assert "an address has the policy auto" in refused
    assert ids(baton, waiting) == {"OL-1"}
    baton("sync", str(bare), code=None)
    assert ids(baton, waiting) == {"OL-1", "OL-2", "OL-3"}


def test_an_agent_at_a_terminal_is_not_asked_to_review(waiting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    code, screen = typing(waiting, "review")
    assert code == 0, screen
    assert "OL-2" in screen
    assert "SECRET PLAN" not in screen
    assert "skip or quit" not in screen


def test_a_program_of_an_agent_neither_sees_nor_decides_what_waits(waiting: Path) -> None:
    with baton_git.open(waiting, agent="claude") as namespace:
        found = namespace.show_review()
        assert [(item.id, item.changes) for item in found.waiting] == [("OL-2", []), ("OL-3", [])]
        with pytest.raises(NeedsHuman, match="an agent is acting here"):
            namespace.decide_review(accept_all=True)


def test_contradicting_and_invalid_review_options_are_rejected(baton: Baton, waiting: Path) -> None:
    baton("review", "--accept-all", "--reject-all", code=2)
    baton("review", "--accept", "OL-9", code=1)
    baton("review", "--accept", "OL-2", "--reject", "OL-2", code=2)
    assert "there is no remote 'nope'" in baton("review", "--remote", "nope", code=1).err
    assert ids(baton, waiting) == {"OL-1"}


def test_review_at_a_terminal_asks_for_each_record(baton: Baton, waiting: Path) -> None:
    code, screen = typing(waiting, "review", asked="skip or quit", typed=b"a\n")
    assert code == 0, screen
    assert "2 accepted" in screen
    assert "\x1b[31m" not in screen
    assert ids(baton, waiting) == {"OL-1", "OL-2", "OL-3"}


def test_quitting_a_review_changes_nothing(baton: Baton, waiting: Path) -> None:
    code, screen = typing(waiting, "review", asked="skip or quit", typed=b"q\n")
    assert code == 0, screen
    assert "nothing was decided" in screen
    assert ids(baton, waiting) == {"OL-1"}


def test_an_invalid_policy_is_reported_with_the_valid_ones(baton: Baton, waiting: Path, git: Git) -> None:
    git(waiting, "config", "remote.origin.batonPolicy", "revue")
    done = baton("sync", code=2)
    assert "auto, review, signed" in done.err
    assert any("batonPolicy" in one for one in baton("boot", "--no-verify", "--json").json["news"])


# --- conflicts


def test_a_conflict_is_listed_resolved_and_synced(baton: Baton, synced: tuple[Path, Path], git: Git) -> None:
    here, there = synced
    baton("followup", "add", "Refactor", "--id", "FU-1")
    baton("sync")
    baton("sync", cwd=there)
    for where, text in ((here, "here"), (there, "there")):
        baton("followup", "defer", "FU-1", "--reason", text, cwd=where)
    baton("sync")
    baton("sync", "--dry-run", cwd=there)
    first = baton("sync", cwd=there, code=3).err
    assert "1 conflict: " in first
    later = [baton(*words, code=3).err for words in (("sync",), ("wrap", "--context", "two reasons"))]
    assert [told.count("(baton conflicts)") for told in (first, *later)] == [1, 1, 1]
    baton("boot")
    listed = baton("conflicts", "--json").json["conflicts"]
    assert listed, git(here, "log", "--stat", REF)
    assert "baton resolve" in baton("conflicts").err
    assert baton("list", "conflicts").out.splitlines()[1].startswith("follow-up FU-1, ")
    assert re.search(r"^ *conflicts +\d+ follow-up$", baton("status").out, re.MULTILINE)
    for one in listed:
        baton("resolve", one["id"], "--ours")
    baton("sync")
    baton("sync", cwd=there)
    assert baton("conflicts", "--json", cwd=there).json["conflicts"] == []
    baton("resolve", "C-0", "--ours", code=1)
    baton("resolve", "C-0", code=2)


# --- several sessions at once


def test_sessions_at_the_same_time_see_each_other_and_lose_nothing(baton: Baton, top: Path) -> None:
    baton("init")
    for session in ("s1", "s2"):
        baton("boot", "--session", session, "--no-verify")
    revision = baton("status", "--json").json["revision"]
    documents = [baton("read", "--session", one).json["baton"] for one in ("s1", "s2")]
    for session, document in zip(("s1", "s2"), documents, strict=True):
        loop = {"id": f"OL-{session}", "action": "a", "expected_outcome": "b", "created_at": "2026-11-21"}
        document |= {"session_id": session, "open_loops": [loop], "context": f"by {session}"}
        baton("write", "--session", session, "-f", "-", given=json.dumps(document))
    assert baton("status", "--json").json["revision"] > revision + 1
    assert ids(baton, top) == {"OL-s1", "OL-s2"}
    active = {one["id"] for one in baton("status", "--json").json["active_sessions"]}
    assert active == {"s1", "s2"}
    baton("wrap", "--session", "s1", "--context", "one")
    assert [one["id"] for one in baton("status", "--json").json["active_sessions"]] == ["s2"]


def test_a_waiting_rule_is_accepted_by_typing_its_id_at_a_terminal(
    baton: Baton, synced: tuple[Path, Path], git: Git
) -> None:
    here, there = synced
    git(here, "config", "remote.origin.batonPolicy", "review")
    for _ in range(3):
        baton("pattern", "record", "Guessed", "--id", "PAT-1", "--rule", "look", cwd=there)
    assert typing(there, "pattern", "graduate", "PAT-1", typed=b"PAT-1\n")[0] == 0
    baton("sync", cwd=there)
    baton("sync")
    for words in (("--accept-all",), ("--accept", "PAT-1")):
        assert "only a person may accept" in baton("review", *words, code=1).err
    code, screen = typing(here, "review", "--accept-all", typed=b"yes\n")
    assert code == 1, screen
    code, screen = typing(here, "review", "--accept-all", typed=b"PAT-1\n")
    assert code == 0, screen
    assert "look" in screen
    assert "graduated" in baton("read", "--json").out


def test_a_conflict_says_which_side_was_written_here_and_what_was_made_unreadable(
    baton: Baton, synced: tuple[Path, Path], git: Git, tmp_path: Path
) -> None:
    here, there = synced
    git(there, "config", "baton.machine", "elsewhere")
    baton("sync", cwd=there)
    baton("edit", "OL-1", "--action", "deployed there", cwd=there)
    baton("edit", "OL-1", "--action", "deployed here", cwd=here)
    baton("sync", cwd=there)
    baton("sync", cwd=here, code=3)
    baton("sync", cwd=there, code=3)
    for folder, words in ((here, "deployed here"), (there, "deployed there")):
        lines = baton("conflicts", cwd=folder).out.splitlines()
        written = next(at for at, line in enumerate(lines) if words in line)
        assert [at for at, line in enumerate(lines) if "(this machine)" in line] == [written + 1]


def test_a_record_that_one_side_made_unreadable_is_not_told_as_removed(
    baton: Baton, synced: tuple[Path, Path], git: Git, tmp_path: Path
) -> None:
    here, there = synced
    git(here, "worktree", "add", "-q", str(tmp_path / "state"), "baton/work")
    (tmp_path / "state" / "open_loops" / "OL-1.toml").write_text("no [[[ toml")
    git(tmp_path / "state", "commit", "-q", "-a", "-m", "break it")
    git(here, "worktree", "remove", "--force", str(tmp_path / "state"))
    baton("edit", "OL-1", "--action", "deployed there", cwd=there)
    baton("sync", cwd=there)
    baton("sync", cwd=here, code=3)
    assert "open loop OL-1, made unreadable on one side" in baton("boot", cwd=here).out
    assert "made unreadable on one side, changed on the other" in baton("ready", cwd=here).out


def test_several_remotes_without_an_origin_are_named_and_the_synced_one_is_used(
    baton: Baton, git: Git, top: Path, bare: Path
) -> None:
    git(top, "remote", "add", "fork", str(top.parent / "nowhere"))
    git(top, "remote", "add", "up", str(bare))
    add(baton, top, "OL-1")
    for words in (("sync",), ("review",)):
        said = baton(*words, code=2).err
        assert "several remotes" in said
        assert "fork, up" in said
        assert "--remote fork" in said
        assert "git config baton.remote fork" in said
    baton("sync", "--remote", "up")
    add(baton, top, "OL-2")
    assert "sent to up" in baton("sync").err
    assert [row["is_default"] for row in baton("remote", "list", "--json").json["remotes"]] == [False, True]
