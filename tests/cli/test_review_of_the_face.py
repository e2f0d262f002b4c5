"""What a review of the command's face found: configuration that cannot be read, and words that a person must see."""

from __future__ import annotations

import hashlib
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
from baton_git.interfaces.context.settings import _is_safe


def global_config(tmp_path, text):
    path = tmp_path / "gitconfig"
    path.write_text(text)
    return {"GIT_CONFIG_GLOBAL": str(path)}


# --- 1. git's configuration cannot be read


@pytest.mark.parametrize("text", ["[user\n", "[include]\n path = broken\n", '[user]\n name = "x\n'])
def test_a_broken_git_configuration_is_an_error_and_nothing_is_written_elsewhere(baton, git, top, tmp_path, text):
    (tmp_path / "broken").write_text("[oops\n")
    env = global_config(tmp_path, f"[baton]\n namespace = mine\n{text}")
    done = baton("followup", "add", "x", env=env, code=1)
    assert done.err.startswith("baton: git config: ")
    assert "fix the git configuration" in done.err
    assert git(top, "for-each-ref", "refs/heads/baton/") == ""


def test_a_git_that_fails_in_silence_is_not_taken_for_one_that_knows_nothing(baton, top, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "bin/git").chmod(0o755)
    done = baton("followup", "add", "x", env={"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}, code=1)
    assert "git config: it failed without a word" in done.err


# --- 2. safe.directory


def safe(*values):
    pairs = {f"GIT_CONFIG_KEY_{n}": "safe.directory" for n in range(len(values))}
    return {"GIT_CONFIG_COUNT": str(len(values)), **pairs, **{f"GIT_CONFIG_VALUE_{n}": v for n, v in enumerate(values)}}


SAFE = [
    (("{top}", "/elsewhere"), True),
    (("/elsewhere", "{top}"), True),
    (("*", "/elsewhere"), True),
    (("{parent}/*", "/elsewhere"), True),
    (("{parent}",), False),
    (("{parent}/wo*",), False),
    (("{top}/*",), False),
    (("{top}", ""), False),
    (("*", "", "/elsewhere"), False),
    (("", "{top}"), True),
    ((), False),
]


@pytest.mark.parametrize(("values", "trusted"), SAFE)
def test_all_safe_directories_count_as_they_do_for_git(baton, top, values, trusted):
    if os.geteuid() != 0:
        pytest.skip("giving a file away needs root")
    for path in (top, top / ".git"):
        os.chown(path, 65534, 65534)
    env = safe(*(one.format(top=top, parent=top.parent) for one in values))
    assert baton("status", env=env, code=None).code == (0 if trusted else 1)


def test_a_key_without_a_value_resets_and_a_tilde_is_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert _is_safe(tmp_path / "x", ["~/x"])
    assert not _is_safe(tmp_path / "x", ["~/x", None])
    assert _is_safe(tmp_path / "x", ["/*"])
    assert not _is_safe(tmp_path / "x", ["~nobody-of-this-name/x", "x", "."])


def test_a_repository_cannot_declare_itself_safe(baton, git, top):
    if os.geteuid() != 0:
        pytest.skip("giving a file away needs root")
    git(top, "config", "safe.directory", "*")
    for path in (top, top / ".git"):
        os.chown(path, 65534, 65534)
    assert "belongs to another user" in baton("status", code=1).err


# --- 3. boot goes on


@pytest.mark.parametrize(
    ("key", "value", "default"),
    [("baton.ttlDays", "soon", "7 is used"), ("baton.threshold", "0", "3 is used"),
     ("baton.refPrefix", "../evil/", "refs/heads/baton/ is used")],
)  # fmt: skip
def test_a_bad_setting_does_not_stop_a_session_and_is_named(baton, git, top, key, value, default):
    git(top, "config", key, value)
    begun = baton("boot", "--json").json
    assert any(key.lower() in one.lower() and default in one for one in begun["problems"])
    assert default in begun["brief"]
    assert baton("followup", "add", "x", code=2).err.lower().startswith(f"baton: {'git config ' * ('P' not in key)}")


@pytest.mark.parametrize(("name", "value"), [("BATON_AGENT", "a b"), ("BATON_SESSION", "a\nb")])
def test_a_bad_variable_does_not_stop_a_session_and_a_bad_option_does(baton, name, value):
    begun = baton("boot", "--json", env={name: value}).json
    assert any(f"{name} is passed over" in one for one in begun["problems"])
    assert begun["session"] != value
    assert baton("boot", f"--{name[6:].lower()}", value, code=2).out == ""
    baton("status", env={name: value}, code=2)


# --- 4. seconds


@pytest.mark.parametrize("seconds", ["inf", "nan", "-inf", "1e9", "-1", "61", "x"])
def test_a_time_that_cannot_be_waited_for_is_refused(baton, filled, seconds):
    for words in (("verify", "--budget", seconds), ("boot", "--check-budget", seconds)):
        done = baton(*words, code=2)
        assert "budget" in done.err


# --- 5. the user's own store


def test_folders_of_one_name_have_states_of_their_own_outside_of_a_repository(baton, tmp_path):
    names = []
    for parent in ("x", "y"):
        folder = tmp_path / parent / "api"
        folder.mkdir(parents=True)
        baton("followup", "add", f"of {parent}", cwd=folder)
        answer = baton("read", cwd=folder).json
        assert [one["item"] for one in answer["baton"]["follow_ups"]] == [f"of {parent}"]
        assert answer["namespace"] == f"api-{hashlib.sha256(os.path.realpath(folder).encode()).hexdigest()[:6]}"
        names.append(answer["namespace"])
    assert len(set(names)) == 2
    (tmp_path / "link").symlink_to("x")
    assert baton("read", cwd=tmp_path / "link/api").json["namespace"] == names[0]


# --- 6. and 7. what a person is shown is what is stored


def test_nothing_of_a_record_steers_the_terminal_of_the_one_who_confirms(baton, top):
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


@pytest.mark.parametrize("other", [{"pattern": "PAT-2"}, {"rule": "Look"}, {"what": "else"}])
def test_a_word_for_one_rule_is_none_for_another(other):
    one = Pattern.model_validate({
        "id": "PAT-1", "what": "w", "first_seen": "2026-11-01", "last_seen": "2026-11-01",
        "status": "rule_candidate", "proposed_rule": "Look first",
    })  # fmt: skip
    now = datetime(2026, 11, 21, tzinfo=UTC)
    said = Confirmed("Ada", "terminal", "PAT-1", "Look first", "w")
    with pytest.raises(NotAllowed, match="changed while you were asked") as refused:
        apply_graduation(State().put(one), one, said._replace(**other), now)
    assert not isinstance(refused.value, NeedsHuman)
    assert "run it again" in refused.value.hint
    assert apply_graduation(State().put(one), one, said, now).get(Pattern, "PAT-1").status == "graduated"


# --- 8. a decision that a person vouches for


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
def test_another_word_vouches_for_nothing(baton, top, typed):
    code, _ = typing(top, *DECISION, asked="to confirm", typed=typed)
    assert code in (1, 130)
    assert baton("read").json["baton"] is None


# --- 9. trust shows what it approves


@pytest.fixture
def risky(baton):
    """An open loop with a command that hides its end from a terminal."""
    argv = ["sh", "-c", "touch 'x'; true\x1b[8m \u202e"]
    baton("loop", "add", "a", "--expect", "b", "--id", "OL-9", "--verify-command", "--", *argv)
    return argv


SHOWN = r"""sh -c $'touch \'x\'; true\x1b[8m \u202e'"""


def test_without_a_terminal_the_exact_command_is_shown_and_approved(baton, risky):
    done = baton("trust", "OL-9", "--yes")
    assert f"it would run: {SHOWN}\n" in done.err
    assert f"approved: {SHOWN}\n" in done.err
    assert baton("trust", "--list", "--json").json["waiting"] == {}
    listed = baton("trust").out
    assert SHOWN in listed
    assert "\x1b" not in listed


@pytest.mark.parametrize(("typed", "code"), [(b"y\n", 0), (b"n\n", 1), (b"\n", 1)])
def test_at_a_terminal_a_person_is_asked(baton, top, risky, typed, code):
    found, screen = typing(top, "trust", "OL-9", asked="Approve? [y/N]", typed=typed)
    assert found == code
    assert screen.index(SHOWN) < screen.index("Approve?")
    assert "\x1b" not in screen
    approved = [one["argv"] for one in baton("trust", "--list", "--json").json["approved"]]
    assert approved == ([risky] if code == 0 else [])


@pytest.mark.parametrize("words", [("OL-9",), ("--", "true"), ("--from", "origin")])
def test_without_a_terminal_nothing_is_approved_unless_the_command_says_so(baton, git, top, risky, words):
    git(top, "remote", "add", "origin", "https://example.org/x.git")
    before = baton("trust", "--list").out
    done = baton("trust", *words, code=1)
    assert "nobody can be asked here, so nothing is approved" in done.err
    assert "--yes" in done.err
    assert baton("trust", "--list").out == before
    baton("trust", "--yes", *words)
    assert baton("trust", "--list").out != before


def test_a_remote_is_believed_until_that_is_revoked_or_its_address_changes(baton, git, top):
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


def test_a_command_line_reads_back_as_its_arguments():
    argv = ["a b", "it's", "", "\x1b\x07\n\\'", "名", "\u202e\u00a0", "$(x)"]
    line = f"printf '%s\\0' {shell_line(argv)}"
    env = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True, env=env)
    assert done.stdout.decode().split("\0")[:-1] == argv
    assert shell_line(argv).isprintable()


def test_an_option_before_the_command_says_where_it_stands(baton):
    done = baton("--repo", ".", "status", code=2)
    assert "--repo stands after the command" in done.err


def test_the_answer_of_a_read_is_told_from_a_document(baton):
    baton("followup", "add", "x")
    done = baton("write", "--file", "-", given=baton("read").out, code=1)
    assert "jq .baton" in done.err


def test_a_log_that_finds_nothing_says_so(baton):
    baton("followup", "add", "x")
    assert baton("log", "--record", "nope").err == "no commit matches\n"
