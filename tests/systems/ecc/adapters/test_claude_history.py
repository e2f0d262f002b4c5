"""ECC's session files of Claude Code: which file a target names, and its content."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from session_snapshots import aged, around, look, put, see

from baton_git.core.errors import InvalidDocument, NotFound
from baton_git.systems.ecc.adapters import claude_history

RICH = """# Rework the login

**Date:** 2026-02-02
**Started:** 09:00
**Last Updated:** 10:00
**Branch:** login
**Worktree:** /srv/shop

---

## Current State

### Completed
- [x] Read the code
- [x] Wrote the test

### In Progress
- [ ] Rework the form
- [ ] Then the page

### Notes for Next Session
The cookie is odd.

### Context to Load
```
src/login.py
src/form.py
```
"""

HOOKED = """# Session: 2026-02-01
**Date:** 2026-02-01
**Started:** 10:00
**Last Updated:** 11:00
**Project:** shop
**Branch:** cart
**Worktree:** /srv/shop

---

<!-- ECC:SUMMARY:START -->
## Session Summary

### Tasks
- Fix the rounding
- Add a test

### Files Modified
- src/cart.py
- tests/cart.py

### Tools Used
Edit, Bash

### Stats
- Total user messages: 2
<!-- ECC:SUMMARY:END -->

### Notes for Next Session
-

### Context to Load
```
[relevant files]
```
"""

EMPTY = """# Session: 2026-02-03
**Date:** 2026-02-03

---

### Completed
- [ ]

### In Progress
- [ ]

### Notes for Next Session
-

### Context to Load
```
[relevant files]
```
"""


@pytest.fixture
def here(tmp_path: Path):
    """Create three sessions in ECC's folder, and an older one in the folder of earlier versions."""
    where = around(tmp_path)
    data = where.home / ".claude/session-data"
    put(
        data,
        {
            "2026-02-02-beef0000-session.tmp": RICH,
            "2026-02-01-a1b2c3d4-session.tmp": HOOKED,
            "2026-02-03-session.tmp": EMPTY,
            "2026-02-30-calendar-session.tmp": RICH,
            "notes.tmp": RICH,
        },
    )
    put(where.home / ".claude/sessions", {"2025-12-31-0ld-session.tmp": RICH, "2026-02-02-beef0000-session.tmp": EMPTY})
    for age, name in enumerate(("2026-02-02-beef0000", "2026-02-01-a1b2c3d4", "2026-02-03")):
        aged(data / f"{name}-session.tmp", 60 * age)
    aged(where.home / ".claude/sessions/2025-12-31-0ld-session.tmp", 9999)
    return where


def test_a_session_is_mapped_as_ecc_maps_it(here):
    found = look(here, "claude:beef0000")
    path = here.home / ".claude/session-data/2026-02-02-beef0000-session.tmp"
    assert found == {
        "schemaVersion": "ecc.session.v1",
        "adapterId": "claude-history",
        "session": {
            "id": "beef0000",
            "kind": "history",
            "state": "recorded",
            "repoRoot": "/srv/shop",
            "sourceTarget": {"type": "claude-history", "value": "beef0000"},
        },
        "workers": [
            {
                "id": "beef0000",
                "label": "Rework the login",
                "state": "recorded",
                "health": "healthy",
                "branch": "login",
                "worktree": "/srv/shop",
                "runtime": {
                    "kind": "claude-session", "command": "claude", "pid": None, "active": False, "dead": True
                },
                "intent": {"objective": "Rework the form", "seedPaths": ["src/login.py", "src/form.py"]},
                "outputs": {
                    "summary": ["Read the code", "Wrote the test"],
                    "validation": [],
                    "remainingRisks": ["The cookie is odd."],
                },
                "artifacts": {"sessionFile": str(path), "context": "src/login.py\nsrc/form.py"},
            }
        ],
        "aggregates": {"workerCount": 1, "states": {"recorded": 1}, "healths": {"healthy": 1}},
    }  # fmt: skip


def test_the_context_keeps_blank_lines_and_indentation_as_ecc_keeps_them(here):
    written = "```\n  src/login.py\n    def f(): pass\n\n- pending\n\n\n\ttabbed\nsrc/form.py   \n```\n"
    path = here.home / ".claude/session-data/2026-02-02-beef0000-session.tmp"
    path.write_text(RICH[: RICH.index("```")] + written)
    [worker] = look(here, "claude:beef0000")["workers"]
    # the values of session-inspect in ecc-universal 2.0.0 for the same file
    kept = "src/login.py\n    def f(): pass\n\n- pending\n\n\n\ttabbed\nsrc/form.py"
    assert worker["artifacts"]["context"] == kept
    assert worker["intent"]["seedPaths"] == ["src/login.py", "def f(): pass", "- pending", "tabbed", "src/form.py"]


@pytest.mark.parametrize("value", ["claude:latest", "claude-history:latest", "history: latest "])
def test_latest_is_the_file_that_changed_last(here, value):
    found = look(here, value)
    assert found["session"]["id"] == "beef0000"
    assert found["session"]["sourceTarget"] == {"type": "claude-history", "value": "latest"}


@pytest.mark.parametrize(
    ("value", "id_"),
    [
        ("claude:beef", "beef0000"), ("claude:a1b2c3d4", "a1b2c3d4"), ("claude:0ld", "0ld"),
        ("claude:2026-02-01-a1b2c3d4-session.tmp", "a1b2c3d4"), ("claude:2026-02-01-a1b2c3d4-session", "a1b2c3d4"),
        ("claude:2026-02-03", "2026-02-03-session"), ("claude:2026-02-03-session", "2026-02-03-session"),
    ],
)  # fmt: skip
def test_a_target_may_be_a_short_id_a_file_name_or_a_date(here, value, id_):
    assert look(here, value)["session"]["id"] == id_
    assert look(here, value.removeprefix("claude:"), adapter="claude-history")["session"]["id"] == id_


def test_of_two_files_with_one_name_the_one_in_eccs_folder_is_used(here):
    assert look(here, "claude:beef0000")["workers"][0]["label"] == "Rework the login"


def test_of_several_matches_the_exact_one_or_the_newest_wins(here):
    data = here.home / ".claude/session-data"
    put(data, {"2026-02-04-beef-session.tmp": HOOKED, "2026-02-05-beef0001-session.tmp": EMPTY})
    aged(data / "2026-02-04-beef-session.tmp", 9000)
    aged(data / "2026-02-05-beef0001-session.tmp", 8000)
    assert look(here, "claude:beef")["session"]["id"] == "beef"
    assert look(here, "claude:beef0")["session"]["id"] == "beef0000"


def test_an_alias_names_a_file(here):
    path = here.home / ".claude/session-data/2026-02-01-a1b2c3d4-session.tmp"
    aliases = {"version": "1.0", "aliases": {"cart": {"sessionPath": str(path)}, "list": {"sessionPath": str(path)}}}
    put(here.home / ".claude", {"session-aliases.json": json.dumps(aliases)})
    found = look(here, "claude:cart")
    assert found["session"]["id"] == "a1b2c3d4"
    assert found["session"]["sourceTarget"] == {"type": "claude-alias", "value": "cart"}
    assert look(here, "cart", type_="claude-alias") == found
    with pytest.raises(NotFound):
        look(here, "claude:list")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"aliases": []}', '{"aliases": {"cart": 1}}', "[" * 3000])
def test_an_invalid_file_of_aliases_is_ignored(here, text):
    put(here.home / ".claude", {"session-aliases.json": text})
    found = see(here, "claude:beef")
    assert found.snapshot.session.id == "beef0000"
    assert len(found.problems) == ("1}" not in text)
    with pytest.raises(NotFound, match="'cart'") as caught:
        look(here, "claude:cart")
    assert ("session-aliases.json" in caught.value.hint) == ("1}" not in text)


def test_a_broken_alias_names_its_file(here):
    aliases = {"gone": {"sessionPath": "/nowhere/2026-02-01-x-session.tmp"}, "odd": {"sessionPath": "/nowhere/x.tmp"}}
    put(here.home / ".claude", {"session-aliases.json": json.dumps({"aliases": aliases})})
    with pytest.raises(NotFound, match="session file of the alias gone: '/nowhere/2026-02-01-x-session"):
        look(here, "claude:gone")
    with pytest.raises(InvalidDocument, match=r"/nowhere/x\.tmp"):
        look(here, "claude:odd")


def test_the_path_of_a_session_file_is_a_target(here):
    put(here.cwd, {"2026-03-01-feed-session.tmp": RICH, "other.tmp": RICH})
    found = look(here, "2026-03-01-feed-session.tmp")
    path = str(here.cwd / "2026-03-01-feed-session.tmp")
    assert found["session"]["sourceTarget"] == {"type": "session-file", "value": path}
    assert look(here, path, type_="session-file") == found
    with pytest.raises(InvalidDocument, match=r"other.tmp: is not the name of a session file"):
        look(here, "other.tmp")


@pytest.mark.parametrize("value", ["claude:nothing", "claude:", "history:", "claude:../x", "claude:\0"])
def test_a_target_without_a_match_is_named_in_the_error(here, value):
    with pytest.raises(NotFound):
        look(here, value)


def test_without_a_history_there_is_no_latest_one(tmp_path):
    with pytest.raises(NotFound):
        look(around(tmp_path), "claude:latest")


def test_the_folder_of_claude_can_be_elsewhere(here, tmp_path):
    put(tmp_path / "elsewhere/session-data", {"2026-04-01-cafe-session.tmp": RICH})
    moved = around(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / "elsewhere"))
    assert look(moved, "claude:latest")["session"]["id"] == "cafe"


# --- files that ECC's own reader reads wrongly


def test_notes_of_the_stop_hook_are_read(here):
    worker = look(here, "claude:a1b2")["workers"][0]
    assert worker["intent"]["objective"] == "Fix the rounding"
    assert worker["outputs"]["summary"] == ["Fix the rounding", "Add a test"]
    assert worker["artifacts"]["tasks"] == ["Fix the rounding", "Add a test"]
    assert worker["artifacts"]["filesModified"] == ["src/cart.py", "tests/cart.py"]
    assert worker["artifacts"]["toolsUsed"] == ["Edit", "Bash"]


def test_placeholders_are_left_out_of_the_snapshot(here):
    for target in ("claude:a1b2", "claude:2026-02-03"):
        worker = look(here, target)["workers"][0]
        assert worker["outputs"]["remainingRisks"] == []
        assert worker["intent"]["seedPaths"] == []
        assert worker["artifacts"]["context"] is None
    assert look(here, "claude:2026-02-03")["workers"][0]["outputs"]["summary"] == []


def test_a_blank_line_does_not_end_a_section(here):
    spaced = RICH.replace("\n- [", "\n\n- [").replace("odd.\n", "odd.\n\nAsk Bea.\n\n#### Later\n- more\n")
    spaced = spaced.replace("src/login.py\n", "src/login.py\n\n")
    put(here.cwd, {"2026-03-01-feed-session.tmp": spaced})
    worker = look(here, "2026-03-01-feed-session.tmp")["workers"][0]
    assert worker["outputs"]["summary"] == ["Read the code", "Wrote the test"]
    assert worker["intent"]["objective"] == "Rework the form"
    assert worker["outputs"]["remainingRisks"] == ["The cookie is odd.\n\nAsk Bea.\n\n#### Later\n- more"]
    assert worker["intent"]["seedPaths"] == ["src/login.py", "src/form.py"]


def test_a_session_without_text_still_has_an_objective(here):
    put(here.cwd, {"2026-03-01-feed-session.tmp": "nothing of note\n"})
    worker = look(here, "2026-03-01-feed-session.tmp")["workers"][0]
    assert worker["intent"]["objective"] == "Session feed"
    assert worker["label"] == "2026-03-01-feed-session.tmp"
    assert (worker["branch"], worker["worktree"]) == (None, None)


def test_windows_line_ends_and_bytes_that_are_no_text_are_read(here):
    (here.cwd / "2026-03-01-feed-session.tmp").write_bytes(RICH.replace("\n", "\r\n").encode() + b"\xff\r\n")
    worker = look(here, "2026-03-01-feed-session.tmp")["workers"][0]
    assert worker["outputs"]["summary"] == ["Read the code", "Wrote the test"]
    assert worker["branch"] == "login"


def test_an_empty_file_is_no_session(here):
    put(here.cwd, {"2026-03-01-feed-session.tmp": "\n"})
    with pytest.raises(InvalidDocument, match="is empty"):
        look(here, "2026-03-01-feed-session.tmp")


@pytest.mark.parametrize("content", [b"", b" \n", b"\0\0# Title\n", bytes(range(128, 256)) * 9])
def test_empty_and_binary_sessions_are_not_listed(here, content):
    path = here.home / ".claude/session-data/2026-03-01-bad-session.tmp"
    path.write_bytes(content)
    aged(path, -60)
    assert "claude:bad" not in [one.target for one in claude_history.sessions(here)]
    found = see(here, "claude:latest")
    assert found.snapshot.session.id == "beef0000"
    [problem] = found.problems
    assert str(path) in problem.why
    with pytest.raises(InvalidDocument, match=r"is empty|is not text"):
        look(here, "claude:bad")


def test_the_history_is_listed_newest_first(here):
    found = list(claude_history.sessions(here))
    assert [one.target for one in found] == [
        "claude:beef0000", "claude:a1b2c3d4", "claude:2026-02-03-session", "claude:0ld",
    ]  # fmt: skip
    assert [one.title for one in found][:2] == ["Rework the form", "Fix the rounding"]
    assert found[0].updated_at == "2026-11-21T08:00:00.000Z"
    for one in found:
        assert look(here, one.target)["session"]["id"] == one.id
