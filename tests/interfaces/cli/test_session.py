"""`baton session` and `baton import|export ecc` on the command line."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from pseudo_terminal import typing
from session_snapshots import a_recording, a_snapshot, put, worker

from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore

HISTORY = "# Rework the login\n\n**Branch:** login\n\n### Completed\n- [x] Read it\n\n### In Progress\n- [ ] The form\n"


@pytest.fixture
def home() -> Path:
    """The home directory of the test, with one session of ECC's history."""
    folder = Path(os.environ["HOME"])
    put(folder / ".claude/session-data", {"2026-02-02-beef0000-session.tmp": HISTORY})
    return folder


def test_inspect_prints_the_adapters_snapshot_unchanged(baton, home):
    done = baton("session", "inspect", "claude:latest")
    assert list(done.json) == ["schemaVersion", "adapterId", "session", "workers", "aggregates"]
    assert done.out.startswith('{\n  "schemaVersion": "ecc.session.v1",\n  "adapterId": "claude-history",')
    assert done.err == ""
    assert baton("session", "inspect", "claude:latest", "--json").out == done.out


def test_inspect_writes_only_with_write_or_record(baton, home, git, top, tmp_path):
    before = git(top, "for-each-ref")
    printed = baton("session", "inspect", "claude:beef", "--write", str(tmp_path / "a/b.json")).out
    assert (tmp_path / "a/b.json").read_text() == printed
    assert git(top, "for-each-ref") == before
    done = baton("session", "inspect", "claude:beef", "--record")
    assert done.out == printed
    assert "revision 1" in done.err


def test_inspect_records_if_the_settings_ask_for_it(baton, home, git, top):
    git(top, "config", "baton.recordSnapshots", "true")
    assert "baton:" not in baton("session", "inspect", "claude:beef", "--no-record").err
    assert "revision 1" in baton("session", "inspect", "claude:beef").err
    assert baton("session", "inspect", "recorded:claude-history/beef0000").err == ""
    assert baton("session", "inspect", "claude:beef").err.count("nothing changed") == 1


def test_a_relative_file_is_relative_to_the_current_folder(baton, home, top):
    (top / "sub").mkdir()
    printed = baton("session", "inspect", "claude:beef", "--write", "x.json", cwd=top / "sub").out
    assert (top / "sub/x.json").read_text() == printed


def test_session_record_reports_whether_anything_changed(baton, home):
    first = baton("session", "record", "claude:beef", "--json")
    assert first.json["id"] == "claude-history/beef0000"
    assert (first.json["changed"], first.json["revision"]) == (True, 1)
    again = baton("session", "record", "claude:beef", "--json")
    assert (again.json["changed"], again.json["revision"]) == (False, 1)
    assert "nothing changed" in again.err
    assert baton("session", "record", "claude:beef").out == "claude-history/beef0000\n"


def test_a_snapshot_in_json_can_be_recorded_from_a_file_or_standard_input(baton, tmp_path):
    baton("session", "record", "--file", "-", given=json.dumps(a_snapshot()))
    (tmp_path / "x.json").write_text(json.dumps(a_snapshot(worker(state="done"))))
    baton("session", "record", "--file", str(tmp_path / "x.json"))
    found = baton("session", "history", "proof", "--json").json["snapshots"]
    assert [one["snapshot"]["workers"][0]["state"] for one in found] == ["done", "running"]
    assert [one["revision"] for one in found] == [2, 1]
    assert [line.split()[0] for line in baton("session", "history", "proof").out.splitlines()] == ["REVISION", "2", "1"]
    assert baton("session", "inspect", "recorded:dmux-tmux/proof").json == a_snapshot(worker(state="done"))


def test_a_fault_names_the_field_and_nothing_is_written(baton, git, top):
    before = git(top, "for-each-ref")
    wrong = a_snapshot()
    wrong["aggregates"]["workerCount"] = 7
    done = baton("session", "record", "--file", "-", given=json.dumps(wrong), code=1)
    assert done.err == "baton: -: aggregates.workerCount is 7, but workers has 1\n"
    del wrong["workers"][0]["health"]
    done = baton("session", "record", "--file", "-", given=json.dumps(wrong), code=1)
    assert done.err == "baton: -: workers[0].health: is missing\n"
    assert git(top, "for-each-ref") == before


def test_unknown_targets_and_unknown_adapters_are_named(baton):
    done = baton("session", "inspect", "nothing-here", code=1)
    assert done.err.splitlines()[0] == "baton: No session adapter matched target: 'nothing-here'"
    done = baton("session", "inspect", "x", "--adapter", "nobody", code=2)
    assert done.err.splitlines()[0] == "baton: Unknown session adapter: 'nobody'"
    done = baton("session", "record", "claude:nothing", code=1)
    assert done.err.splitlines()[0] == "baton: there is no Claude session 'nothing'"


def test_list_shows_what_can_be_opened_newest_first(baton, home):
    put(home / ".claude/sessions", {"2025-02-02-a1b2-session.tmp": "# Old\n"})
    old = time.time() - 9999
    os.utime(home / ".claude/sessions/2025-02-02-a1b2-session.tmp", (old, old))
    baton("init")
    found = baton("session", "list", "--json").json["sessions"]
    assert [(one["adapter"], one["target"], one["title"]) for one in found] == [
        ("claude-history", "claude:beef0000", "The form"), ("claude-history", "claude:a1b2", "Old"),
    ]  # fmt: skip
    assert len(baton("session", "list", "--limit", "1").out.splitlines()) == 2  # with the titles
    assert "The form  claude:beef0000" in baton("session", "list", "--adapter", "claude-history").out
    assert baton("session", "list", "--adapter", "baton").out == ""


def test_list_shows_what_was_recorded(baton, home):
    baton("session", "record", "claude:beef")
    baton("session", "record", "--file", "-", given=json.dumps(a_snapshot(worker(), worker("w2"))))
    found = baton("session", "list", "--recorded", "--json").json
    assert {one["id"]: one["workers"] for one in found} == {"claude-history/beef0000": 1, "dmux-tmux/proof": 2}
    shown = baton("session", "list", "--recorded").out
    assert "recorded: The form  claude-history/beef0000" in shown
    assert "active: 2 workers   dmux-tmux/proof" in shown
    assert len(baton("session", "list", "--recorded", "--adapter", "dmux-tmux").out.splitlines()) == 2


def test_adapters_are_listed_in_the_form_of_ecc(baton):
    assert baton("session", "adapters").out.splitlines()[1].split()[:2] == ["claude-history", "claude-history,"]
    done = baton("session", "adapters", "--json")
    assert list(done.json) == ["adapters"]
    assert done.json["adapters"][1] == {
        "id": "dmux-tmux",
        "description": "Workers of ECC's orchestrator in tmux panes and work trees",
        "targetTypes": ["plan", "session"],
    }
    assert [one["id"] for one in done.json["adapters"]][-1] == "baton"


def test_an_unusable_third_party_adapter_is_reported_as_a_warning(baton, tmp_path, monkeypatch):
    info = {"broken-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n"}
    put(
        tmp_path / "site",
        {**info, "broken-1.0.dist-info/entry_points.txt": "[baton_git.adapters]\nbroken = gone\n"},
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    done = baton("session", "adapters", "--json")
    assert len(done.json["adapters"]) == 6
    assert done.err == (
        "the session adapter broken cannot be used: ModuleNotFoundError: No module named 'gone'\n"
    )  # fmt: skip
    done = baton("session", "inspect", "x", "--adapter", "broken", code=2)
    assert done.err.startswith("baton: the session adapter 'broken' cannot be used: ModuleNotFoundError")


def test_our_own_sessions_can_be_inspected_and_recorded(baton):
    baton("init")
    baton("boot", "--session", "s1", "--agent", "claude")
    baton("loop", "add", "Deployed", "--expect", "it answers", "--id", "OL-1")
    baton("wrap", "--context", "Half way", "--session", "s1")
    [found] = baton("session", "inspect", "baton:latest").json["workers"]
    assert found["intent"]["objective"] == "Half way"
    assert found["outputs"]["remainingRisks"] == ["OL-1 Deployed: it answers"]
    assert baton("session", "record", "baton:s1").id == "baton/s1"
    heading, row = baton("session", "lineage").out.splitlines()
    assert heading.split() == ["WHEN", "WHO", "ABOUT", "SESSION"]
    assert row[heading.index("ABOUT") :].split() == ["Half", "way", "s1"]
    assert baton("session", "snapshots").out.splitlines()[1].split()[-3:] == ["ended", "1", "baton/s1"]


EVIL = "\x1b]0;pwned\x07\x1b[31m\x9b31m\u202e\x7f"


def is_harmless(screen: str) -> bool:
    return all(c.isprintable() or c in "\r\n\t" for c in screen)


@pytest.mark.slow
def test_texts_of_sessions_cannot_send_control_characters_to_a_terminal(baton, home, top, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")  # the remaining escapes come from the texts
    put(home / ".claude/session-data", {"2026-02-03-evil-session.tmp": f"# evil {EVIL} red\n"})
    evil = a_snapshot(worker(f"w{EVIL}", state=f"s{EVIL}", label=EVIL), id_=f"evil{EVIL}")
    put(
        tmp_path,
        {f"{EVIL}.json": json.dumps(evil), "ecc/x.json": json.dumps(a_recording(evil)), f"ecc/{EVIL}.json": "{"},
    )
    baton("session", "record", "claude:evil")
    baton("session", "record", "--file", "-", given=json.dumps(a_snapshot(id_=f"evil{EVIL}2")))
    for words in (
        ("record", "--file", str(tmp_path / f"{EVIL}.json")), ("list",), ("list", "--json"), ("list", "--recorded"),
        ("history", "claude-history/evil"), ("inspect", "claude:evil"), ("inspect", "recorded:dmux-tmux/evil"),
        ("history", "evil\x1b"), ("history", "dmux-tmux/evil"), ("inspect", f"./{EVIL}.tmp"),
        ("record", "--file", str(tmp_path / EVIL)),
    ):  # fmt: skip
        _, screen = typing(top, "session", *words)
        assert screen.strip(), words
        assert is_harmless(screen), (words, screen)
    for words in (
        ("import", "ecc", str(tmp_path / "ecc")), ("export", "ecc", str(tmp_path / EVIL)),
        ("validate", str(tmp_path / f"ecc/{EVIL}.json")),
    ):  # fmt: skip
        _, screen = typing(top, *words)
        assert screen.strip(), words
        assert is_harmless(screen), (words, screen)
    _, screen = typing(top, "log")
    assert "evil" in screen
    assert not [one for one in ("\x1b]", "\x9b", "\u202e") if one in screen]


def test_unprintable_characters_are_escaped_in_json(baton):
    data = a_snapshot(worker(label=f"名前 🙂 {EVIL} \U000e0001 end"))
    baton("session", "record", "--file", "-", given=json.dumps(data))
    done = baton("session", "inspect", "recorded:proof")
    assert is_harmless(done.out)
    assert "名前 🙂" in done.out
    assert done.json == data


def test_output_of_plugins_is_not_part_of_the_result(baton, tmp_path, monkeypatch):
    info = {"chatty-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: chatty\nVersion: 1.0\n"}
    source = (
        "from session_snapshots import a_snapshot\nprint('loading')\nID = 'chatty'\nDESCRIPTION = 'x'\n"
        "TARGET_TYPES = ()\n\ndef can_open(target, around):\n    print('asked')\n"
        "    return target.value == 'chat:1'\n\ndef open_session(target, around):\n    print('opening')\n"
        "    return a_snapshot(adapter=ID)\n\ndef sessions(around):\n    print('listing')\n    return []\n"
    )
    points = {"chatty-1.0.dist-info/entry_points.txt": "[baton_git.adapters]\nchatty = chatty_adapter\n"}
    put(tmp_path / "site", {**info, **points, "chatty_adapter.py": source})
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    done = baton("session", "inspect", "chat:1")
    assert done.json["adapterId"] == "chatty"
    assert "opening" in done.err
    assert baton("session", "list", "--json").json["sessions"] == []
    assert len(baton("session", "adapters", "--json").json["adapters"]) == 7


def test_a_folder_that_cannot_be_listed_is_reported_in_one_warning(baton, home):
    (home / ".codex").symlink_to(".codex")
    done = baton("session", "list")
    assert "claude:beef0000" in done.out
    assert done.err.startswith(f"the session adapter codex-rollout returned only a part: cannot list {home}/.codex")
    assert len(done.err.splitlines()) == 1


def test_invalid_arguments_of_session_commands_are_refused(baton, tmp_path):
    put(tmp_path, {"deep.json": "[" * 90 + "]" * 90, "big.json": "1" * 5000, "x.json": json.dumps(a_snapshot())})
    assert "not both" in baton("session", "record", "x", "--file", "y", code=2).err
    assert "--kind" in baton("validate", "--kind", "ecc_session", code=2).err
    assert "Unknown type of target: 'foo'" in baton("session", "inspect", "x", "--target-type", "foo", code=2).err
    assert "there is no file" in baton("session", "record", "--file", "nowhere.json", code=1).err
    assert "is a folder" in baton("session", "record", "--file", str(tmp_path), code=2).err
    assert (
        f"nesting of {tmp_path}/deep.json" in baton("session", "record", "--file", f"{tmp_path}/deep.json", code=1).err
    )
    said = baton("session", "record", "--file", f"{tmp_path}/big.json", code=1).err
    assert "too many digits" in said
    assert "sys." not in said
    assert "baton session record --file" in baton("session", "inspect", f"{tmp_path}/x.json", code=2).err


def test_a_session_can_be_looked_at_outside_of_any_repository(baton, home, tmp_path):
    (tmp_path / "outside").mkdir()
    assert baton("session", "inspect", "claude:latest", cwd=tmp_path / "outside").json["session"]["id"] == "beef0000"


# --- ECC's recording files


def test_recordings_round_trip(baton, tmp_path):
    data = a_recording(*(a_snapshot(worker(state=f"step-{n}")) for n in (1, 2, 3)))
    put(tmp_path / "ecc", {"dmux-tmux/proof.json": json.dumps(data, indent=2) + "\n"})
    done = baton("import", "ecc", str(tmp_path / "ecc"))
    assert done.err == "dmux-tmux/proof: 3 new (revision 3)\n"
    assert len(baton("session", "history", "proof", "--json").json["snapshots"]) == 3
    done = baton("export", "ecc", str(tmp_path / "out"), "--json")
    assert done.json == {"files": [str(tmp_path / "out/dmux-tmux/proof.json")], "refused": []}
    assert (tmp_path / "out/dmux-tmux/proof.json").read_bytes() == (tmp_path / "ecc/dmux-tmux/proof.json").read_bytes()
    again = baton("import", "ecc", str(tmp_path / "ecc"), "--json")
    assert again.json["recordings"] == [{"ok": True, "id": "dmux-tmux/proof", "added": 0, "revision": None}]
    assert again.err == "dmux-tmux/proof: nothing new\n"


def test_one_bad_recording_among_others_is_named_and_fails(baton, tmp_path):
    put(tmp_path / "ecc", {"x/a.json": json.dumps(a_recording(a_snapshot())), "x/b.json": "{}"})
    done = baton("import", "ecc", str(tmp_path / "ecc"), code=1)
    said = done.err.splitlines()
    assert said[0] == "dmux-tmux/proof: 1 new (revision 1)"
    assert said[1].startswith(f"baton: {tmp_path}/ecc/x/b.json: schemaVersion: is missing")
    assert len(baton("session", "list", "--recorded").out.splitlines()) == 2


def test_an_export_does_not_replace_a_file_with_more_history(baton, tmp_path):
    data = a_recording(*(a_snapshot(worker(state=f"step-{n}")) for n in (1, 2)))
    put(tmp_path, {"dmux-tmux/proof.json": json.dumps(data)})
    baton("session", "record", "--file", "-", given=json.dumps(a_snapshot()))
    baton("session", "record", "--file", "-", given=json.dumps(a_snapshot(id_="other")))
    done = baton("export", "ecc", str(tmp_path), "--json", code=1)
    assert done.json["files"] == [str(tmp_path / "dmux-tmux/other.json")]
    assert [one["id"] for one in done.json["refused"]] == ["dmux-tmux/proof"]
    assert "baton: dmux-tmux/proof was not written" in done.err
    assert "import it first" in done.err
    assert json.loads((tmp_path / "dmux-tmux/proof.json").read_text()) == data
    baton("import", "ecc", str(tmp_path))
    baton("export", "ecc", str(tmp_path))
    assert len(json.loads((tmp_path / "dmux-tmux/proof.json").read_text())["history"]) == 3
    baton("session", "record", "--file", "-", given=json.dumps(a_snapshot(worker(state="new"))))
    baton("export", "ecc", str(tmp_path))
    baton("undo")
    done = baton("import", "ecc", str(tmp_path))
    news = "nothing new, but the file's latest snapshot is the session's current one again"
    assert f"dmux-tmux/proof: {news} (revision" in done.err
    baton("export", "ecc", str(tmp_path), "--force")


def test_an_import_into_a_checked_out_branch_reports_it(baton, git, top, tmp_path):
    baton("init")
    git(top, "checkout", "-q", "baton/work")
    put(tmp_path, {"ecc/x.json": json.dumps(a_recording(a_snapshot()))})
    assert "has this branch checked out" in baton("import", "ecc", str(tmp_path / "ecc")).err


@pytest.mark.slow
def test_snapshots_of_two_machines_are_merged_into_one_history(baton, git, top, tmp_path):
    git(tmp_path, "init", "-q", "--bare", "hub.git")
    hub = str(tmp_path / "hub.git")
    other = tmp_path / "other" / "work"
    git(tmp_path, "clone", "-q", str(top), str(other))
    baton("session", "record", "--file", "-", given=json.dumps(a_snapshot(worker(state="step-1"))))
    baton("sync", hub)
    baton("sync", hub, cwd=other)
    time.sleep(1.1)  # times are whole seconds, and the later snapshot must win
    baton("session", "record", "--file", "-", given=json.dumps(a_snapshot(worker(state="step-2"))))
    time.sleep(1.1)
    baton("session", "record", "--file", "-", given=json.dumps(a_snapshot(worker(state="step-3"))), cwd=other)
    baton("sync", hub)
    baton("sync", hub, cwd=other)
    baton("sync", hub)
    for work_tree in (top, other):
        history = baton("session", "history", "proof", "--json", cwd=work_tree).json["snapshots"]
        assert [one["snapshot"]["workers"][0]["state"] for one in history] == ["step-3", "step-2", "step-1"]
        assert baton("session", "inspect", "recorded:proof", cwd=work_tree).json == a_snapshot(worker(state="step-3"))
        assert baton("conflicts", "--json", cwd=work_tree).json["conflicts"] == []


def test_boot_finds_the_session_of_an_agent_by_its_process_if_no_variable_names_it(baton, top, monkeypatch):
    """Gemini CLI sets a variable that names the CLI, but none that names the session. Hooks recorded its process."""
    memory = HookSessionStore(str(top / ".git"))
    for session, pid, seen in (("mine", os.getppid(), 1), ("cleared", os.getppid(), 0), ("others", 4_000_000, 2)):
        memory.save(HookSession("gemini", session, pid=pid, last_seen=f"2099-01-01T00:00:0{seen}Z"))
    assert baton("boot", "--json").json["session"] not in ("mine", "others")
    monkeypatch.setenv("GEMINI_CLI", "1")
    assert baton("boot", "--json").json["session"] == "mine"
    memory.save(HookSession("gemini", "mine", pid=os.getppid(), last_seen="2099-01-01T00:00:01Z", ended="exit"))
    assert baton("boot", "--json").json["session"] == "cleared"
