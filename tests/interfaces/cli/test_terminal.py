"""Interaction at a terminal: graduation, colours, completion, and the demonstration."""

from __future__ import annotations

import os
import sys

import pytest
from pseudo_terminal import at_terminal, typing, typing_here

from baton_git.interfaces.cli import printing


def test_a_person_who_types_the_id_graduates_a_pattern(baton, filled, git, top):
    code, screen = typing(top, "pattern", "graduate", "PAT-1", typed=b"PAT-1\n")
    assert code == 0
    assert "The rule would be: Look first" in screen
    (pattern,) = baton("read").json["baton"]["patterns"]
    assert (pattern["status"], pattern["source_tier"]) == ("graduated", "human_confirmed")
    rule = git(top, "show", "baton/work:rules/PAT-1.md")
    assert "Look first" in rule
    assert "Confirmed by Ada (terminal)" in rule


def test_progress_is_shown_on_a_terminal_only(baton, filled, git, top, monkeypatch):
    monkeypatch.setattr(printing, "PROGRESS_AFTER", 0)
    git(top, "init", "-q", "--bare", str(top.parent / "hub.git"))
    for path in ("a", "b"):
        baton("loop", "add", path, "--expect", "x", "--verify-file", path)
    baton("export", "session-baton", str(top.parent / "out.json"))
    for words, shown in (
        (("verify",), "checking: 2 of"),
        (("gc",), "packing: "),
        (("import", "session-baton", str(top.parent / "out.json")), "importing: 1 of 1 100%"),
        (("sync", "../hub.git"), "objects: "),
    ):
        screen = typing_here(monkeypatch, top, *words)[1]
        assert shown in screen, words
        *_, last = screen.rpartition(shown)
        assert "\r" in last  # the line is overwritten
    baton("loop", "add", "c", "--expect", "x", "--verify-file", "c")
    assert "checking" not in baton("verify", code=None).err
    assert "checking" not in typing_here(monkeypatch, top, "verify", TERM="dumb")[1]


@pytest.mark.slow
@pytest.mark.parametrize("typed", [b"yes\n", b"y\n", b"\n", b"PAT-2\n", b"pat-1\n", b"\x04"])
def test_another_typed_word_does_not_graduate_a_pattern(baton, filled, top, typed):
    before = baton("read").json["commit"]
    code, _ = typing(top, "pattern", "graduate", "PAT-1", typed=typed)
    assert code in (1, 130)
    assert baton("read").json["commit"] == before


def test_an_interrupted_question_does_not_graduate_a_pattern(baton, filled, top):
    before = baton("read").json["commit"]
    code, screen = typing(top, "pattern", "graduate", "PAT-1", typed=b"\x03")
    assert code == 130
    assert "interrupted" in screen
    assert baton("read").json["commit"] == before


def test_piped_input_cannot_confirm_a_graduation(baton, baton_process, filled):
    before = baton("read").json["commit"]
    for call in (baton, baton_process):
        done = call("pattern", "graduate", "PAT-1", given="PAT-1\nPAT-1\n", code=1)
        assert "graduates only when a person confirms it" in done.err
    assert baton("read").json["commit"] == before


def test_a_terminal_for_output_only_does_not_count_as_a_terminal(baton, filled, top):
    """An agent may show its output on a terminal without typing anything: its standard input is a pipe."""
    line = f"echo PAT-1 | {sys.executable} -m baton_git pattern graduate PAT-1"
    process, terminal = at_terminal(top, ["/bin/sh", "-c", line])
    while True:
        try:
            if not os.read(terminal, 4096):
                break
        except OSError:
            break
    os.close(terminal)
    assert process.wait() == 1
    assert baton("read").json["baton"]["patterns"][0]["status"] == "rule_candidate"


def test_a_diff_is_coloured_at_a_terminal(filled, top):
    code, screen = typing(top, "diff", "1")
    assert code == 0
    assert "\x1b[32m" in screen


# --- the demonstration


@pytest.mark.slow
def test_the_demo_runs_completely_and_leaves_no_files(baton_process, tmp_path):
    done = baton_process("demo", env={"TMPDIR": str(tmp_path)})
    for text in ("VERIFIED", "now elevated", "rule candidate", "graduates only when a person confirms it", "undo"):
        assert text in done.out
    assert len(done.out.splitlines()) < 120
    assert "lines of JSON)" in done.out
    assert list(tmp_path.iterdir()) == [tmp_path / "work"]
