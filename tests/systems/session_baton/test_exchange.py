"""Import batons from session-baton and export them; validate files and branches."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from strategies import DECISION, ITEM, LOOP, PATTERN
from world import NOW, by_hand, current, document, ids, later, stored, workspace

from baton_git.core.errors import InvalidDocument, NotFound
from baton_git.systems.session_baton.document_writing import write_document
from baton_git.systems.session_baton.documents import read_document
from baton_git.systems.session_baton.exchange import export_session_baton, import_session_baton
from baton_git.verbs.upkeep.quarantine import discard_rows, list_quarantine, list_quarantined
from baton_git.verbs.upkeep.validation import validate_branch, validate_text
from baton_git.verbs.work_items.followups import add_follow_up
from baton_git.verbs.work_items.loops import add_loop

DATA = document("foreign", open_loops=[LOOP], follow_ups=[ITEM], context="名前", extra={"a": [None]})


@pytest.fixture
def source(tmp_path):
    """Return a JSON file with a baton."""
    path = tmp_path / "baton.json"
    path.write_text(json.dumps(DATA))
    return path


def test_importing_a_file_keeps_existing_records(ws, source):
    made = add_loop(ws, NOW, action="a", expect="b")
    (found,) = import_session_baton(ws, NOW, source).batons
    assert found.result is not None
    assert set(ids(ws, "open_loops")) == {made.id, "OL-1"}
    assert current(ws)["extra"] == {"a": [None]}


def test_importing_a_file_twice_changes_nothing(ws, source):
    import_session_baton(ws, NOW, source)
    before = ws.branch.read().commit
    import_session_baton(ws, later(days=1), source)
    assert ws.branch.read().commit == before


def test_records_added_between_two_imports_are_kept(ws, source):
    import_session_baton(ws, NOW, source)
    made = add_follow_up(ws, NOW, item="here")
    source.write_text(json.dumps({**DATA, "open_loops": [{**LOOP, "status": "failed"}], "follow_ups": []}))
    import_session_baton(ws, later(days=1), source)
    assert current(ws)["open_loops"][0]["status"] == "failed"
    assert ids(ws, "follow_ups") == [made.id]
    assert stored(ws, "follow_up", "FU-1", archived=True) is not None


def test_a_claimed_graduation_of_another_system_is_held(ws, source):
    claim = {**PATTERN, "status": "graduated", "source_tier": "human_confirmed"}
    source.write_text(json.dumps(document("foreign", patterns=[claim], active_decisions=[DECISION])))
    (found,) = import_session_baton(ws, NOW, source).batons
    assert {one.field for one in found.result.held} == {"status", "source_tier"}
    assert current(ws)["patterns"][0]["status"] == "rule_candidate"
    assert ids(ws, "active_decisions") == ["DEC-1"]


@pytest.mark.parametrize("text", ["", "[]", "{", "\x00"])
def test_a_json_file_without_an_object_is_rejected(ws, source, text):
    source.write_text(text)
    with pytest.raises(InvalidDocument, match=r"baton\.json"):
        import_session_baton(ws, NOW, source)


@pytest.mark.parametrize("text", ["{}", '{"session_id": 1}', '{"name": "no baton", "version": "1"}'])
def test_an_import_that_fails_names_the_cause_and_writes_nothing(ws, source, text):
    source.write_text(text)
    (found,) = import_session_baton(ws, NOW, source).batons
    assert found.result is None
    assert found.why
    assert [(row.path, row.row) for row in list_quarantined(ws)] == [("", json.loads(text))]
    assert ws.branch.read().commit is None


def test_invalid_rows_stay_in_quarantine_until_they_are_valid(ws, source):
    token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    faulty = {**LOOP, "id": "OL-2", "status": "huh", "note": f"token={token}"}
    rows = [LOOP, faulty, "text", {**LOOP, "action": "again"}]
    data = {"open_loops": rows, "follow_ups": "none", "context": 5, "patterns": [PATTERN]}
    source.write_text(json.dumps(data))
    (found,) = import_session_baton(ws, NOW, source).batons
    assert (ids(ws, "open_loops"), ids(ws, "patterns")) == (["OL-1"], ["PAT-1"])
    assert current(ws)["session_id"] == "imported"
    assert ("session_id", "imported") in found.result.filled
    kept = list_quarantined(ws)
    assert [row.path for row in kept] == ["open_loops[1]", "open_loops[2]", "open_loops[3]", "follow_ups", "context"]
    assert kept == list(found.quarantined)
    assert "'huh'" in kept[0].why
    assert token not in json.dumps(kept)
    import_session_baton(ws, later(days=1), source)
    assert list_quarantined(ws, everything=True) == kept, "importing the same rows again adds none"
    assert discard_rows(ws, NOW, ids=[kept[1].id]).discarded == [kept[1].id]
    with pytest.raises(NotFound, match="row in quarantine"):
        discard_rows(ws, NOW, ids=[kept[1].id])
    source.write_text(json.dumps({**data, "open_loops": [LOOP, {**faulty, "status": "open"}], "follow_ups": []}))
    import_session_baton(ws, later(days=2), source)
    assert [row.path for row in list_quarantine(ws, NOW).rows] == ["context"]
    assert set(ids(ws, "open_loops")) == {"OL-1", "OL-2"}


@pytest.mark.parametrize(("storage", "name"), [("sqlite", "b.sqlite3"), ("cache", "batons"), ("json", "out.json")])
def test_written_records_are_read_back_equal(ws, open_workspace, tmp_path, storage, name):
    write_document(ws, NOW, DATA)
    if storage == "cache":
        (tmp_path / name).mkdir()
    assert export_session_baton(ws, NOW, tmp_path / name, storage).namespaces == ["x"]
    other = open_workspace(name="other.git")
    import_session_baton(other, NOW, tmp_path / name)
    time = {"updated_at": "2026-11-21T08:00:00.000000+00:00"} if storage == "sqlite" else {}
    assert current(other) == DATA | time, "only a row of a database has a time"


def test_the_time_of_an_imported_row_is_exported_until_the_baton_changes(ws, open_workspace, tmp_path):
    """Clients compare the times of rows: with the time of the import, an old baton would count as the newest one."""
    write_document(ws, NOW, DATA)
    first, second = tmp_path / "a.sqlite3", tmp_path / "b.sqlite3"
    export_session_baton(ws, NOW, first, "sqlite")
    other = open_workspace(name="other.git")
    import_session_baton(other, later(days=9), first)
    export_session_baton(other, later(days=10), second, "sqlite")
    assert read_rows(second) == read_rows(first) == [("x", "2026-11-21T08:00:00.000000+00:00")]
    add_follow_up(other, later(days=11), item="New")
    export_session_baton(other, later(days=12), second, "sqlite")
    assert read_rows(second) == [("x", "2026-12-02T08:00:00.000000+00:00")]


def read_rows(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT namespace, updated_at FROM batons").fetchall()


def test_all_namespaces_are_exported_and_imported_under_their_names(ws, open_workspace, tmp_path):
    for name in ("x", "project:y"):
        write_document(workspace(ws.branch.store, namespace=name), NOW, document("s", context=name))
    export_session_baton(ws, NOW, tmp_path / "b.db", "sqlite", everything=True)
    other = open_workspace(name="other.git")
    import_session_baton(other, NOW, tmp_path / "b.db", everything=True)
    for name in ("x", "project:y"):
        assert read_document(workspace(other.branch.store, namespace=name)).baton["context"] == name


def test_an_older_revision_can_be_exported(ws, tmp_path):
    write_document(ws, NOW, DATA)
    write_document(ws, later(minutes=1), document("foreign", context="newer"))
    export_session_baton(ws, NOW, tmp_path / "o.json", "json", at="1")
    assert json.loads((tmp_path / "o.json").read_text()) == DATA


def test_exporting_a_missing_namespace_is_an_error(ws, tmp_path):
    with pytest.raises(NotFound):
        export_session_baton(ws, NOW, tmp_path / "o.json", "json")
    assert not (tmp_path / "o.json").exists()


def test_a_missing_source_is_an_error(ws, tmp_path):
    with pytest.raises(NotFound):
        import_session_baton(ws, NOW, tmp_path / "absent")


# --- validation


def test_a_document_is_checked_with_the_path_of_each_fault():
    found = validate_text("b.json", json.dumps(document(open_loops=[{**LOOP, "verify": {"method": "x"}}])).encode())
    assert [fault.path for fault in found.faults] == ["open_loops[0].verify.method"]
    assert validate_text("b.json", json.dumps(DATA).encode()).faults == ()


def test_the_kind_of_a_file_comes_from_its_path_or_the_option():
    text = b'id = "OL-1"\naction = "a"\nexpected_outcome = "b"\ncreated_at = "c"\n'
    assert validate_text("/tmp/open_loops/OL-1.toml", text).faults == ()
    assert validate_text("OL-1.toml", text, "open_loop").faults == ()
    assert validate_text("open_loops/OL-2.toml", text).faults
    assert validate_text("what.toml", text).faults


def test_a_handover_file_is_recognised_by_its_name_and_names_its_run():
    text = b"SESSION_ID: run 1\ncurrent_challenge: find_slot\nupdated_at: 2025-11-25T14:30:00Z\n"
    for path, kind in (("/tmp/kairos-session-handover.txt", None), ("copy.txt", "handover")):
        assert validate_text(path, text, kind)[1:] == ("handover", ())
    assert validate_text("handover/copy.txt", text, "handover").faults
    (fault,) = validate_text("kairos-session-handover.txt", b"step_index: 1\n").faults
    assert fault.path == "SESSION_ID"


def test_validate_checks_the_archive_and_accepts_foreign_files(ws):
    made = add_loop(ws, NOW, action="a", expect="b")
    broken = {"open_loops/OL-9.toml": b"?", "archive/patterns/zz/p.toml": b"?", "patterns/n": b""}
    by_hand(ws, {"notes.txt": b"x", **broken})
    found = {one.path: one for one in validate_branch(ws)}
    assert {path for path, one in found.items() if one.faults} == set(broken)
    assert found[f"open_loops/{made.id}.toml"].kind == "open_loop"
    assert found["notes.txt"].kind == "other"
    assert [one for one in validate_branch(ws, "1") if one.faults] == []


def test_a_branch_that_does_not_exist_is_not_found(ws):
    with pytest.raises(NotFound):
        list(validate_branch(ws))
