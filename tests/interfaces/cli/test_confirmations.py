"""What a person must see and type before a rule, a decision, a command or a remote is trusted."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime

import pytest
from pseudo_terminal import typing

from baton_git.core.errors import NeedsHuman, NotAllowed
from baton_git.core.lifecycle import Confirmed, apply_graduation
from baton_git.core.output import shell_line
from baton_git.core.records.work_items import Pattern
from baton_git.core.state import State


def test_records_cannot_control_the_terminal_during_confirmation(baton, top):
    rule = "Delete\x1b[2K\rit \u202e" + "all " * 800 + "END"
    baton("pattern", "record", "Assumed\x1b[1A", "--id", "PAT-1")
    baton("pattern", "propose", "PAT-1", "--rule", rule)
    code, screen = typing(top, "pattern", "graduate", "PAT-1", asked="to confirm", typed=b"PAT-1\n")
    assert code == 0
    shown = screen.replace("\r\n", "\n")
    assert not {"\x1b", "\r", "\u202e"} & set(shown)
    assert "Delete [2K it all" in shown
    assert "all END" in shown


@pytest.mark.parametrize(
    "change", [("pattern", "propose", "PAT-1", "--rule", "Another"), ("write", "--file", "-")], ids=["rule", "what"]
)
def test_a_rule_that_changes_while_the_question_waits_is_not_confirmed(baton, filled, top, change):
    data = baton("read").json["baton"]
    data["patterns"][0]["what"] = "Something else"
    code, screen = typing(
        top, "pattern", "graduate", "PAT-1", asked="to confirm", typed=b"PAT-1\n",
        before=lambda: baton(*change, given=json.dumps(data)) and None,
    )  # fmt: skip
    assert code == 1
    assert "the rule changed while you were asked" in screen
    assert baton("read").json["baton"]["patterns"][0]["status"] == "rule_candidate"


def test_rules_that_were_approved_elsewhere_are_confirmed_once_at_import(baton, top):
    """`baton import session-baton` shows the rules and asks. Without a terminal they stay candidates."""
    pattern = {
        "what": "w",
        "first_seen": "d",
        "last_seen": "d",
        "status": "graduated",
        "source_tier": "human_confirmed",
    }
    patterns = [{**pattern, "id": f"PAT-{number}", "proposed_rule": f"Do {number}"} for number in (1, 2)]
    patterns.append({**pattern, "id": "PAT-3", "source_tier": "llm_derived"})
    (top / "b.json").write_text(json.dumps({"session_id": "s", "patterns": patterns, "open_loops": [5]}))
    words = ("import", "session-baton", "b.json")
    assert "at a terminal: baton pattern graduate ID" in baton(*words, cwd=top).err
    assert "in the quarantine" not in baton("import", "quarantine").err
    (finding,) = [row for row in baton("doctor", "imports", "--json").json["findings"] if row["check"] == "imports"]
    assert "1 imported row did not fit: open_loops[0]: must be a table" in finding["summary"]
    code, screen = typing(top, *words, asked="to confirm all", typed=b"yes\n")
    assert code == 0, screen
    assert "the rule: Do 2" in screen
    status = {row["id"]: row["status"] for row in baton("read").json["baton"]["patterns"]}
    assert status == {"PAT-1": "graduated", "PAT-2": "graduated", "PAT-3": "rule_candidate"}
    assert "a person approved these rules" not in baton(*words, cwd=top).err


@pytest.mark.parametrize("other", [{"pattern": "PAT-2"}, {"rule": "Look"}, {"what": "else"}])
def test_a_confirmation_is_valid_for_only_one_rule(other):
    pattern = Pattern.model_validate({
        "id": "PAT-1", "what": "w", "first_seen": "2026-11-01", "last_seen": "2026-11-01",
        "status": "rule_candidate", "proposed_rule": "Look first",
    })  # fmt: skip
    now = datetime(2026, 11, 21, tzinfo=UTC)
    confirmation = Confirmed("Ada", "terminal", "PAT-1", "Look first", "w")
    with pytest.raises(NotAllowed, match="changed while you were asked") as refused:
        apply_graduation(State().put(pattern), pattern, confirmation._replace(**other), now)
    assert not isinstance(refused.value, NeedsHuman)
    assert "run it again" in refused.value.hint
    assert (
        apply_graduation(State().put(pattern), pattern, confirmation, now).get(Pattern, "PAT-1").status == "graduated"
    )


# --- a decision that a person vouches for


DECISION = ("decision", "add", "Use\x1b[2K X", "--why", "because", "--evidence", "e1", "--tier", "human_confirmed")


def test_no_decision_is_human_confirmed_without_a_person(baton, baton_process, filled):
    before = baton("read").json["commit"]
    for call in (baton, baton_process):
        done = call(*DECISION, given="yes\nyes\n", code=1)
        assert "only when a person vouches for it" in done.err
    assert call(*DECISION, "--json", code=1).json["error"] == "needs_human"
    assert baton("read").json["commit"] == before


def test_a_person_who_types_yes_vouches_for_a_decision(baton, top):
    code, screen = typing(top, *DECISION, asked="to confirm", typed=b"yes\n")
    assert code == 0
    assert "Decision: Use [2K X" in screen
    assert "Evidence: e1" in screen
    (decision,) = baton("read").json["baton"]["active_decisions"]
    assert decision["source_tier"] == "human_confirmed"


@pytest.mark.slow
@pytest.mark.parametrize("typed", [b"y\n", b"\n", b"no\n", b"\x04"])
def test_another_typed_word_does_not_confirm_a_decision(baton, top, typed):
    code, _ = typing(top, *DECISION, asked="to confirm", typed=typed)
    assert code in (1, 130)
    assert baton("list", "decision", "--json").json["records"] == []


# --- trust shows what it approves


@pytest.fixture
def risky(baton):
    """Create the open loop OL-9 with a command whose end a terminal would hide; return the command."""
    argv = ["sh", "-c", "touch 'x'; true\x1b[8m \u202e"]
    baton("loop", "add", "a", "--expect", "b", "--id", "OL-9", "--verify-command", "--", *argv)
    return argv


SHOWN = r"""sh -c $'touch \'x\'; true\x1b[8m \u202e'"""


def test_trust_with_yes_shows_the_exact_command_that_it_approves(baton, risky):
    done = baton("trust", "OL-9", "--yes")
    assert f"the check of OL-9 would run: {SHOWN}\n" in done.err
    assert f"approved: {SHOWN}\n" in done.err
    assert baton("trust", "--list", "--json").json["waiting"] == {}
    listed = baton("trust").out
    assert SHOWN in listed
    assert "\x1b" not in listed


@pytest.mark.parametrize(("typed", "code"), [(b"y\n", 0), (b"n\n", 1), (b"\n", 1)])
def test_at_a_terminal_trust_asks_before_it_approves(baton, top, risky, typed, code):
    status, screen = typing(top, "trust", "OL-9", asked="Approve? [y/N]", typed=typed)
    assert status == code
    assert screen.index(SHOWN) < screen.index("Approve?")
    assert "\x1b" not in screen
    approved = [one["argv"] for one in baton("trust", "--list", "--json").json["approved"]]
    assert approved == ([risky] if code == 0 else [])


@pytest.mark.parametrize("words", [("OL-9",), ("--", "true"), ("--from", "origin")])
def test_without_a_terminal_approval_needs_yes(baton, git, top, risky, words):
    git(top, "remote", "add", "origin", "https://example.org/x.git")
    before = baton("trust", "--list").out
    done = baton("trust", *words, code=1)
    assert "there is no terminal for the confirmation, so nothing was approved" in done.err
    assert "--yes" in done.err
    assert baton("trust", "--list").out == before
    baton("trust", "--yes", *words)
    assert baton("trust", "--list").out != before


def test_the_approval_of_a_remote_is_listed_and_can_be_revoked(baton, git, top):
    git(top, "remote", "add", "origin", "https://ada:secret@example.org/x.git")
    done = baton("trust", "--yes", "--from", "origin")
    assert done.err.endswith("approved: origin (https://***@example.org/x.git)\n")
    assert baton("trust", "--yes", "--from", "origin", "--json").json == {"remote": "origin", "approved": False}
    listed = baton("trust", "--list", "--json").json["remotes"]
    assert [(one["name"], one["url"]) for one in listed] == [("origin", "https://example.org/x.git")]
    git(top, "remote", "remove", "origin")
    assert baton("trust", "--revoke", "--from", "origin", "--json").json == {"remote": "origin", "revoked": True}
    assert baton("trust", "--list", "--json").json["remotes"] == []
    assert "there is no remote 'origin'" in baton("trust", "--revoke", "--from", "origin", code=1).err
    assert "there is no remote 'nope'" in baton("trust", "--yes", "--from", "nope", code=1).err


def test_a_printed_command_line_parses_to_its_arguments():
    argv = ["a b", "it's", "", "\x1b\x07\n\\'", "名", "\u202e\u00a0", "$(x)"]
    line = f"printf '%s\\0' {shell_line(argv)}"
    env = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True, env=env)
    assert done.stdout.decode().split("\0")[:-1] == argv
    assert shell_line(argv).isprintable()


def test_a_namespace_is_not_deleted_if_the_answer_is_no(baton, top):
    baton("loop", "add", "Deployed", "--expect", "it answers", "--id", "OL-1")
    code, screen = typing(top, "namespace", "delete", "work", asked="[y/N]", typed=b"n\n")
    assert (code, "nothing was changed" in screen, "interrupted" in screen) == (1, True, False)
    assert baton("show", "OL-1").out
