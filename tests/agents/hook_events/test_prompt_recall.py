"""Hooks add quotes of earlier sessions to prompts: by default, nothing twice, and without the rest of baton."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hooked_sessions import NEW, OLD, Session, context, transcript

from baton_git.agents.hook_events.hook_session import HookSessionStore, ToldText, begin_again, note_told, read_told
from baton_git.agents.registry import AGENTS
from baton_git.checks.approvals import Approvals
from baton_git.interfaces.context.process import data_home

Hook = Callable[..., Any]
PROMPT_EVENT = {"claude": "UserPromptSubmit", "codex": "UserPromptSubmit", "gemini": "BeforeAgent"}
THIRD = OLD[:-1] + "3"
LIMIT = "Refunds above 500 euros wait for a second signature, in `approve_refund`."
EARLY = "The ledger takes one entry for each refunded item, with its own tax rate."


@pytest.fixture
def told_branch(hook: Hook, session: Session, git: Any, repo: Path) -> Path:
    """Leave a session with two turns on a branch, and a later session on another branch in the same work tree."""
    git(repo, "checkout", "-q", "-b", "refunds")
    hook("SessionStart", source="startup")
    for prompt, answer in (("Refund single items.", EARLY), ("And what about large sums?", LIMIT)):
        session.say("user", prompt, gitBranch="refunds")
        session.say("assistant", [{"type": "text", "text": answer}], gitBranch="refunds")
    hook("SessionEnd", reason="other")
    return repo


def work_elsewhere(hook: Hook, git: Any, repo: Path, tmp_path: Path) -> None:
    git(repo, "checkout", "-q", "-b", "tides")
    hook("SessionStart", NEW, source="startup")
    other = Session(tmp_path, repo, NEW)
    other.say("user", "Read the tides.")
    other.say("assistant", [{"type": "text", "text": "The tide reader asks the harbour office each hour."}])
    hook("SessionEnd", NEW, reason="other")
    git(repo, "checkout", "-q", "refunds")


@pytest.mark.parametrize("agent", AGENTS)
def test_the_first_prompt_on_a_branch_gets_what_the_brief_of_another_one_lacks(
    hook: Hook, told_branch: Path, git: Any, tmp_path: Path, agent: str
) -> None:
    work_elsewhere(hook, git, told_branch, tmp_path)
    brief = context(hook("SessionStart", THIRD, agent, source="startup"))
    received = context(hook(PROMPT_EVENT[agent], THIRD, agent, prompt="continue"))
    assert "=== recall · ctx-" in received
    assert (brief + received).count(LIMIT) == 1
    assert (brief + received).count("=== brief") + (brief + received).count("=== baton ") == 1
    assert context(hook(PROMPT_EVENT[agent], THIRD, agent, prompt="and the tests")) == ""


def test_what_the_brief_told_is_not_told_again(hook: Hook, told_branch: Path) -> None:
    brief = context(hook("SessionStart", NEW, source="startup"))
    assert LIMIT in brief
    received = context(hook("UserPromptSubmit", NEW, prompt="continue"))
    assert EARLY in received
    assert LIMIT not in received


def test_after_a_compaction_it_may_be_told_again_but_not_as_to_a_first_prompt(hook: Hook, told_branch: Path) -> None:
    hook("SessionStart", NEW, source="startup")
    clear = "Does the ledger take an entry with its own tax rate for each refunded item?"
    assert EARLY in context(hook("UserPromptSubmit", NEW, prompt=clear))
    assert context(hook("UserPromptSubmit", NEW, prompt=f"{clear} Really?")) == ""
    hook("SessionStart", NEW, source="compact")
    assert context(hook("UserPromptSubmit", NEW, prompt="continue")) == ""
    assert EARLY in context(hook("UserPromptSubmit", NEW, prompt=clear))


def test_the_setting_switches_it_off_and_a_missing_one_does_not(
    hook: Hook, told_branch: Path, git: Any, tmp_path: Path
) -> None:
    work_elsewhere(hook, git, told_branch, tmp_path)
    for value, is_told in (("false", False), ("true", True), ("nonsense", False), (None, True)):
        if value is None:
            git(told_branch, "config", "--unset", "baton.recallAtPrompt")
        else:
            git(told_branch, "config", "baton.recallAtPrompt", value)
        session = f"s-{value}"
        hook("SessionStart", session, source="startup")
        assert bool(context(hook("UserPromptSubmit", session, prompt="continue"))) is is_told
    hook("SessionStart", THIRD, source="startup")
    git(told_branch, "config", "baton.recallAtPrompt", "false")  # counts for sessions that run already, too
    assert context(hook("UserPromptSubmit", THIRD, prompt="continue")) == ""


def test_commands_and_empty_prompts_get_nothing_and_are_not_the_first_prompt(hook: Hook, told_branch: Path) -> None:
    hook("SessionStart", NEW, source="startup")
    for prompt in ("", " ", "/review", "/review the refunds", "/", "/git:pr-comments 12"):
        assert hook("UserPromptSubmit", NEW, prompt=prompt) is None
    assert EARLY in context(hook("UserPromptSubmit", NEW, prompt="/src/refunds.py fails"))


def test_the_same_prompt_from_a_plugin_and_the_settings_is_answered_once(
    hook: Hook, told_branch: Path, session: Session
) -> None:
    for number in range(12):  # more than one answer has room for
        session.say("user", f"And case {number}?", gitBranch="refunds")
        words = " ".join(f"word{number}of{at}" for at in range(30))
        text = f"The rest of case {number} goes to an account: {words}."
        session.say("assistant", [{"type": "text", "text": text}], gitBranch="refunds")
    hook("SessionEnd", reason="clear")
    hook("SessionStart", NEW, source="startup")
    prompt = "Which account gets the rest of a case?"
    assert "=== recall" in context(hook("UserPromptSubmit", NEW, prompt=prompt))
    assert hook("UserPromptSubmit", NEW, prompt=prompt) is None
    assert "=== recall" in context(hook("UserPromptSubmit", NEW, prompt=f"{prompt} Again."))


def test_a_prompt_imports_no_models_and_writes_no_commit(
    hook: Hook, told_branch: Path, baton_process: Any, git: Any, tmp_path: Path
) -> None:
    hook("SessionStart", NEW, source="startup")
    payload = {
        "session_id": NEW, "transcript_path": str(transcript(tmp_path, NEW)), "cwd": str(told_branch),
        "hook_event_name": "UserPromptSubmit", "prompt": "continue",
    }  # fmt: skip
    tip = git(told_branch, "rev-parse", f"baton/{told_branch.name}")
    done = baton_process(
        "hook", "--agent", "claude", given=json.dumps(payload), env={"PYTHONPROFILEIMPORTTIME": "1"}, measured=False
    )
    assert EARLY in context(json.loads(done.out))
    assert "baton_git.recall.at_prompt" in done.err
    assert [name for name in ("pydantic", "baton_git.core.kinds", "baton_git.git.store") if name in done.err] == []
    assert git(told_branch, "rev-parse", f"baton/{told_branch.name}") == tip


def test_a_damaged_index_or_file_of_what_was_told_costs_no_prompt(hook: Hook, told_branch: Path) -> None:
    hook("SessionStart", NEW, source="startup")
    for folder in ("recall", "agents"):
        for file in (told_branch / ".git/baton" / folder).glob("*.sqlite" if folder == "recall" else "*.told"):
            file.write_bytes(b"\0nonsense\n" * 100)
    assert EARLY in context(hook("UserPromptSubmit", NEW, prompt="continue"))


def test_damage_that_only_a_search_finds_is_repaired_and_a_locked_index_is_no_unreadable_state(
    hook: Hook, told_branch: Path
) -> None:
    hook("SessionStart", NEW, source="startup")
    hook("UserPromptSubmit", NEW, prompt="hello")
    [path] = (told_branch / ".git/baton/recall").glob("*.sqlite")
    with closing(sqlite3.connect(path)) as index:
        index.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [(root,)] = index.execute("SELECT rootpage FROM sqlite_master WHERE name = 'passages'")
        [(size,)] = index.execute("PRAGMA page_size")
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    prompt = "Does the ledger take an entry with its own tax rate for each refunded item?"
    assert EARLY in context(hook("UserPromptSubmit", NEW, prompt=prompt))
    with closing(sqlite3.connect(path, isolation_level=None)) as index:
        index.execute("PRAGMA journal_mode = DELETE")
        index.execute("BEGIN EXCLUSIVE")
        assert hook("UserPromptSubmit", NEW, prompt=f"{prompt} Again.") is None
    assert "another process is building the recall index" in (told_branch / ".git/baton/agents.log").read_text()


def test_sessions_of_a_remote_are_quoted_once_the_user_trusts_it(
    hook: Hook, told_branch: Path, git: Any, baton: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare, clone = tmp_path / "origin.git", tmp_path / "clone" / told_branch.name
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    git(told_branch, "config", "baton.shareTurns", "true")
    hook("SessionStart", THIRD, source="startup")
    Session(tmp_path, told_branch, THIRD).say("user", "Which sums need no signature?")
    hook("Stop", THIRD, last_assistant_message="Sums of gift cards need none, since they are paid already.")
    hook("SessionEnd", THIRD, reason="other")
    git(told_branch, "remote", "add", "origin", str(bare))
    git(told_branch, "push", "-q", "origin", "HEAD")
    baton("sync")
    subprocess.run(["git", "clone", "-q", "-b", "refunds", str(bare), str(clone)], check=True)
    monkeypatch.chdir(clone)
    work_here = {"folder": clone, "source": "startup"}
    hook("SessionStart", NEW, **work_here)
    monkeypatch.chdir(clone)
    prompt = "Do sums of gift cards need a signature, or are they paid already?"
    assert context(hook("UserPromptSubmit", NEW, folder=clone, prompt=prompt)) == ""
    assert "gift cards" in baton("recall", "gift cards", cwd=clone).out  # now it is indexed
    hook("SessionStart", "again", **work_here)
    monkeypatch.chdir(clone)
    assert context(hook("UserPromptSubmit", "again", folder=clone, prompt=prompt)) == ""
    Approvals(data_home() / "baton" / "approved.json", clone / ".git").trust_remote("origin", str(bare), "2026-11-28")
    monkeypatch.chdir(clone)
    (clone / ".git/baton/recall").rename(clone / ".git/gone")
    hook("SessionStart", "later", **work_here)  # indexes it
    monkeypatch.chdir(clone)
    told = context(hook("UserPromptSubmit", "later", folder=clone, prompt=prompt))
    assert re.search(rf"## {OLD[:8]} claude [-0-9]+ \[from origin\]\n> ", told)
    assert LIMIT in told  # the brief has the last session
    with closing(sqlite3.connect(next((clone / ".git/baton/recall").glob("*.sqlite")), isolation_level=None)) as index:
        index.execute("BEGIN IMMEDIATE")  # as a long update does: a start does not wait for its end
        assert "=== b" in context(hook("SessionStart", "busy", **work_here))
    monkeypatch.chdir(clone)
    baton("forget", f"claude/{OLD}", "--kind", "handoff", "--reason", "old", cwd=clone)
    assert LIMIT in baton("recall", "second signature", cwd=clone).out
    hook("SessionStart", "last", **work_here)
    monkeypatch.chdir(clone)  # who archived it did not write it
    assert LIMIT not in context(hook("UserPromptSubmit", "last", folder=clone, prompt=prompt))


def test_texts_that_were_told_are_kept_within_limits_and_forgotten_but_for_the_prompts(tmp_path: Path) -> None:
    memory = HookSessionStore(str(tmp_path))
    assert read_told(memory, "claude", "s") == []
    begin_again(memory, "claude", "s")
    assert not Path(memory.path("claude", "s", ".told")).exists()
    note_told(memory, "claude", "s", ToldText(0.5, "", "an older brief"))
    begin_again(memory, "claude", "s")
    texts = [ToldText(1.5, "", "brief"), ToldText(2.5, "p 1", "quote"), ToldText(3.5, "p 2", "")]
    for text in texts:
        note_told(memory, "claude", "s", text)
    assert read_told(memory, "claude", "s") == texts
    begin_again(memory, "claude", "s")
    assert read_told(memory, "claude", "s") == [ToldText(3.5, "p 2", "")]
    note_told(memory, "claude", "s", ToldText(4.5, "p 3", "x" * (300 << 10)))
    note_told(memory, "claude", "s", ToldText(5.5, "p 4", "y"))
    assert read_told(memory, "claude", "s")[-1] == ToldText(5.5, "p 4", "")
