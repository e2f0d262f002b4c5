"""Edit a record in the user's editor: the saved text is stored, and a text with faults is kept and shown again."""

from __future__ import annotations

import stat

from pseudo_terminal import typing

EDITOR = """#!/bin/sh
if grep -q 'should be' "$1"; then sed -i 's/^ttl_days = .*/ttl_days = 9/' "$1"; else {first} "$1"; fi
"""


def set_editor(top, monkeypatch, first):
    """Set an editor that runs the command `first`, and corrects the text if it is shown again with a fault."""
    editor = top.parent / "an editor"
    editor.write_text(EDITOR.format(first=first))
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("GIT_EDITOR", f"'{editor}'")


def edits(top):
    """Return the files of texts that were edited but not stored."""
    return list((top / ".git" / "baton" / "edits").iterdir())


def test_a_text_with_a_fault_is_edited_again_until_it_has_none(baton, filled, top, monkeypatch):
    set_editor(top, monkeypatch, "sed -i 's/^ttl_days = .*/ttl_days = -3/'")
    code, screen = typing(top, "edit", "OL-1", asked="again?", typed=b"y\n")
    assert code == 0, screen
    assert "ttl_days: input should be greater than or equal to 0, not -3" in screen
    assert baton("record", "loop", "OL-1", "--json").json["record"]["ttl_days"] == 9
    assert edits(top) == []


def test_cancelling_the_editor_keeps_the_text(baton, filled, top, monkeypatch):
    set_editor(top, monkeypatch, "echo 'action = [' >>")
    code, screen = typing(top, "edit", "OL-1", asked="again?", typed=b"n\n")
    (kept,) = edits(top)
    assert code == 1
    assert "your text is in" in screen
    assert kept.read_text().endswith("action = [\n")


def test_an_unchanged_text_changes_nothing(baton, filled, top, monkeypatch):
    set_editor(top, monkeypatch, "true")
    before = baton("read").json["commit"]
    code, _ = typing(top, "edit", "OL-1", asked="nothing", typed=b"")
    assert (code, baton("read").json["commit"], edits(top)) == (0, before, [])
