"""Snapshots are recorded: the record has the latest one, the history all that differ. Also: ECC's recording files."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from going_back import rollback_record, rollback_to, undo_revision
from looped_cases import for_each
from session_snapshots import a_snapshot, put, worker
from world import NOW, by_hand, files, later, stored

from baton_git.core.errors import (
    Ambiguous,
    Busy,
    Corrupt,
    InvalidArgument,
    InvalidDocument,
    InvalidName,
    LimitExceeded,
    NotFound,
    WriteFailed,
)
from baton_git.core.policy import Policy
from baton_git.git.files import atomic_files
from baton_git.namespace.workspace import Workspace
from baton_git.systems.ecc import recording_files
from baton_git.systems.ecc.record import parse_snapshot
from baton_git.systems.ecc.recording_files import make_recording_path, parse_recording
from baton_git.systems.ecc.recordings import export_ecc, import_ecc
from baton_git.systems.ecc.snapshots import Recorded, find_recorded, list_history, list_recorded, record_latest
from baton_git.verbs.revisions.history import Filter, read_log

PROOF = "dmux-tmux/proof"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def record_snapshot(ws: Workspace, data: dict[str, Any], minutes: float = 0) -> Recorded:
    return record_latest(ws, later(minutes=minutes), parse_snapshot(data))


def states(ws: Workspace, id_: str = PROOF) -> list[str]:
    """Return the state of the only worker in each snapshot of the history, newest first."""
    return [one.snapshot.workers[0].state for one in list_history(ws, id_)]


def at(minutes: int) -> dict[str, Any]:
    """Return a snapshot that differs for each number."""
    return a_snapshot(worker(state=f"step-{minutes}"))


# --- recording


def test_a_new_snapshot_replaces_the_previous_one_in_the_record(ws):
    first = record_snapshot(ws, at(1))
    assert (first.id, first.changed) == (PROOF, True)
    record_snapshot(ws, at(2), minutes=5)
    assert [path for path in files(ws) if path.startswith("snapshots/")] == ["snapshots/dmux-tmux/proof.toml"]
    kept = stored(ws, "snapshot", PROOF)
    assert (kept.created_at, kept.recorded_at) == ("2026-11-21T08:00:00Z", "2026-11-21T08:05:00Z")
    assert kept.snapshot.as_data() == at(2)
    assert "id" not in files(ws)["snapshots/dmux-tmux/proof.toml"].decode().split("[snapshot]")[0]


def test_an_unchanged_snapshot_adds_nothing(ws):
    record_snapshot(ws, at(1))
    before = ws.branch.read()
    again = record_snapshot(ws, at(1), minutes=60)
    assert not again.changed
    assert ws.branch.read().commit == before.commit
    assert stored(ws, "snapshot", PROOF).recorded_at == "2026-11-21T08:00:00Z"


def test_the_history_has_each_snapshot_with_its_time_and_revision_newest_first(ws):
    for minute in (1, 2, 2, 3):
        record_snapshot(ws, at(minute), minutes=minute)
    found = list_history(ws, PROOF)
    assert [(one.recorded_at, one.revision) for one in found] == [
        ("2026-11-21T08:03:00Z", 3), ("2026-11-21T08:02:00Z", 2), ("2026-11-21T08:01:00Z", 1),
    ]  # fmt: skip
    assert [one.snapshot.as_data() for one in found] == [at(3), at(2), at(1)]
    assert found[0].commit == ws.branch.read().commit


def test_a_snapshot_that_returns_is_a_new_history_entry_as_in_ecc(ws):
    for minute, body in enumerate((1, 2, 1)):
        record_snapshot(ws, at(body), minutes=minute)
    assert states(ws) == ["step-1", "step-2", "step-1"]


def test_the_history_of_a_session_leaves_out_all_other_changes(ws):
    record_snapshot(ws, at(1))
    record_snapshot(ws, a_snapshot(id_="other"), minutes=1)
    by_hand(ws, {"notes.txt": b"mine\n"}, minutes=2)
    record_snapshot(ws, at(2), minutes=3)
    assert states(ws) == ["step-2", "step-1"]
    assert len(list_history(ws, "other")) == 1


def test_sessions_with_similar_or_unusual_names_are_separate(ws):
    names = ["a/b", "a_b", "A_b", "..", "名前", "con", "x" * 60]
    for name in names:
        record_snapshot(ws, a_snapshot(id_=name))
    assert {one.snapshot.session.id for one in list_recorded(ws)} == set(names)
    for name in names:
        assert list_history(ws, f"dmux-tmux/{name}")[0].snapshot.session.id == name


def test_the_latest_snapshot_stays_the_newest_if_the_clock_is_set_back(ws):
    record_snapshot(ws, at(1), minutes=60)
    record_snapshot(ws, at(2), minutes=0)
    assert stored(ws, "snapshot", PROOF).snapshot.workers[0].state == "step-2"
    assert states(ws) == ["step-2", "step-1"]


def test_secrets_are_redacted_and_reading_again_adds_nothing(ws):
    data = a_snapshot(worker(artifacts={"log": f"token {SECRET}"}))
    done = record_snapshot(ws, data)
    assert SECRET.encode() not in b"".join(files(ws).values())
    assert [(str(key), one.path) for key, one in done.written.redactions] == [
        (f"snapshot {PROOF}", "snapshot.workers[0].artifacts.log")
    ]
    assert not record_snapshot(ws, data, minutes=1).changed


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (a_snapshot(id_=SECRET), InvalidDocument),
        (a_snapshot(adapter="a/b"), InvalidDocument),
        (a_snapshot(id_="x" * 300), InvalidName),
        (a_snapshot(adapter="x" * 300), InvalidName),
    ],
)
def test_snapshots_that_cannot_be_stored_are_rejected(ws, data, error):
    with pytest.raises(error):
        record_snapshot(ws, data)
    assert ws.branch.read().commit is None


def test_oversized_input_is_rejected_and_nothing_is_written(ws, tmp_path):
    large = a_snapshot(worker(artifacts={"log": "many words " * 30000}))
    with pytest.raises(LimitExceeded):
        record_snapshot(ws, large)
    [done] = import_ecc(
        ws, NOW, write_recording(tmp_path, make_recording([(time(1), at(1)), (time(2), large)]))
    ).recordings
    assert "the limit is 262,144 bytes" in done.why
    assert ws.branch.read().commit is None


def test_a_record_that_cannot_be_read_is_not_overwritten(ws):
    record_snapshot(ws, at(1))
    by_hand(ws, {"snapshots/dmux-tmux/proof.toml": b"what is this\n"})
    with pytest.raises(Corrupt):
        record_snapshot(ws, at(2), minutes=1)
    assert files(ws)["snapshots/dmux-tmux/proof.toml"] == b"what is this\n"


# --- finding


def test_a_recorded_session_is_found_by_its_id_its_session_or_a_prefix(ws):
    record_snapshot(ws, a_snapshot(id_="proof-1"))
    record_snapshot(ws, a_snapshot(id_="proof-2"))
    record_snapshot(ws, a_snapshot(id_="proof-2", adapter="other"))
    record_snapshot(ws, a_snapshot(id_="demo"))
    state = ws.branch.read().state
    for text in ("dmux-tmux/proof-1", "proof-1", "dmux-tmux/proof-1", "other/p"):
        assert find_recorded(state, text).snapshot.session.id.startswith("proof")
    assert find_recorded(state, "de").id == "dmux-tmux/demo"
    assert find_recorded(state, "other").id == "other/proof-2"
    for text in ("proof", "proof-2", "dmux-tmux/p"):
        with pytest.raises(Ambiguous):
            find_recorded(state, text)
    for text in ("", "nobody", "dmux-tmux/nobody"):
        with pytest.raises(NotFound):
            find_recorded(state, text)
    with pytest.raises(NotFound):
        list_history(ws, "nobody")


# --- ECC's recording files

Snapshots = list[tuple[str, dict[str, Any]]]


def make_recording(snapshots: Snapshots, *, updated: str = "", created: str = "", **more: Any) -> dict[str, Any]:
    last = snapshots[-1]
    return {
        "schemaVersion": "ecc.session.recording.v1",
        "adapterId": last[1]["adapterId"],
        "sessionId": last[1]["session"]["id"],
        "createdAt": created or snapshots[0][0],
        "updatedAt": updated or last[0],
        "latest": last[1],
        "history": [{"recordedAt": time, "snapshot": data} for time, data in snapshots],
        **more,
    }


def time(minute: int, day: int = 20) -> str:
    return f"2026-11-{day}T10:{minute:02}:00.123Z"


def write_recording(folder: Path, data: dict[str, Any], name: str = "") -> Path:
    path = folder / (name or make_recording_path(data["adapterId"], data["sessionId"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=2) + "\n")
    return path


def write_recording_of_three(folder: Path) -> Path:
    """Write a recording of three snapshots, the first with the state `step-1`."""
    return write_recording(folder, make_recording([(time(n), at(n)) for n in (1, 2, 3)], updated=time(50)))


def test_a_recording_becomes_a_record_and_one_revision_for_each_snapshot(ws, tmp_path):
    [done] = import_ecc(ws, NOW, write_recording_of_three(tmp_path)).recordings
    assert (done.id, done.added, done.why) == (PROOF, 3, "")
    assert [(one.recorded_at, one.revision) for one in list_history(ws, PROOF)] == [
        (time(3), 3), (time(2), 2), (time(1), 1)
    ]  # fmt: skip
    kept = stored(ws, "snapshot", PROOF)
    assert (kept.created_at, kept.recorded_at, kept.updated_at) == (time(1), time(3), time(50))
    assert {entry.op for entry in ws.branch.history()} == {"import", "root"}


def test_exporting_again_writes_the_same_file(ws, tmp_path):
    path = write_recording_of_three(tmp_path / "ecc")
    import_ecc(ws, NOW, tmp_path / "ecc")
    assert export_ecc(ws, NOW, tmp_path / "out").files == [tmp_path / "out/dmux-tmux/proof.json"]
    assert (tmp_path / "out/dmux-tmux/proof.json").read_text() == path.read_text()


def test_importing_again_adds_nothing_even_if_updated_at_is_newer(ws, tmp_path):
    path = write_recording_of_three(tmp_path)
    import_ecc(ws, NOW, path)
    before = ws.branch.read().commit
    write_recording(tmp_path, make_recording([(time(n), at(n)) for n in (1, 2, 3)], updated=time(59)))
    for _ in range(2):
        [done] = import_ecc(ws, later(minutes=5), path).recordings
        assert (done.added, done.revision) == (0, None)
    assert ws.branch.read().commit == before


def test_importing_again_adds_only_new_snapshots(ws, tmp_path):
    import_ecc(ws, NOW, write_recording_of_three(tmp_path))
    path = write_recording(tmp_path, make_recording([(time(n), at(n)) for n in (1, 2, 3, 4)]))
    [done] = import_ecc(ws, later(minutes=5), path).recordings
    assert done.added == 1
    assert states(ws) == ["step-4", "step-3", "step-2", "step-1"]


def test_importing_older_snapshots_does_not_replace_a_newer_one(ws, tmp_path):
    record_snapshot(ws, at(9))
    [done] = import_ecc(ws, later(minutes=5), write_recording_of_three(tmp_path)).recordings
    assert done.added == 3
    kept = stored(ws, "snapshot", PROOF)
    assert (kept.snapshot.workers[0].state, kept.recorded_at) == ("step-9", "2026-11-21T08:00:00Z")
    assert kept.created_at == time(1)
    assert states(ws) == ["step-9", "step-3", "step-2", "step-1"]
    assert import_ecc(ws, later(minutes=6), tmp_path).recordings[0].added == 0
    export_ecc(ws, NOW, tmp_path / "out")
    written = json.loads((tmp_path / "out/dmux-tmux/proof.json").read_text())
    assert written["latest"] == at(9)
    assert [one["recordedAt"] for one in written["history"]] == [time(1), time(2), time(3), "2026-11-21T08:00:00Z"]


def test_an_unchanged_snapshot_is_not_imported(ws, tmp_path):
    path = write_recording(
        tmp_path, make_recording([(time(1), at(1)), (time(2), at(1)), (time(3), at(2)), (time(4), at(1))])
    )
    [done] = import_ecc(ws, NOW, path).recordings
    assert done.added == 3
    assert states(ws) == ["step-1", "step-2", "step-1"]
    assert import_ecc(ws, NOW, path).recordings[0].added == 0


def test_the_order_of_a_history_is_that_of_the_file(ws, tmp_path):
    data = make_recording([(time(2), at(2)), (time(1), at(1)), (time(3), at(3))])
    import_ecc(ws, NOW, write_recording(tmp_path, data))
    assert states(ws) == ["step-3", "step-1", "step-2"]


def test_a_latest_snapshot_missing_from_the_history_is_imported_too(ws, tmp_path):
    data = make_recording([(time(1), at(1))], updated=time(7), latest=at(7))
    [done] = import_ecc(ws, NOW, write_recording(tmp_path, data)).recordings
    assert done.added == 2
    assert stored(ws, "snapshot", PROOF).recorded_at == time(7)
    assert states(ws) == ["step-7", "step-1"]


def test_secrets_of_a_recording_are_redacted_and_it_is_recognised_again(ws, tmp_path):
    path = write_recording(
        tmp_path, make_recording([(time(1), a_snapshot(worker(artifacts={"log": f"token {SECRET}"})))])
    )
    [done] = import_ecc(ws, NOW, path).recordings
    assert len(done.redactions) == 1
    assert SECRET.encode() not in b"".join(files(ws).values())
    assert import_ecc(ws, NOW, path).recordings[0].added == 0


def test_readable_files_of_a_folder_are_imported_and_the_others_reported(ws, tmp_path):
    write_recording_of_three(tmp_path)
    write_recording(tmp_path, make_recording([(time(1), a_snapshot(adapter="claude-history", id_="a b"))]))
    (tmp_path / "claude-history/bad.json").write_text("{")
    found = import_ecc(ws, NOW, tmp_path).recordings
    assert {one.id: bool(one.why) for one in found} == {
        PROOF: False, "claude-history/a b": False, str(tmp_path / "claude-history/bad.json"): True
    }  # fmt: skip
    assert {one.id for one in list_recorded(ws)} == {PROOF, "claude-history/a b"}


def test_a_recording_that_cannot_be_stored_does_not_affect_others(ws, tmp_path):
    write_recording(tmp_path, make_recording([(time(1), a_snapshot(id_="y" * 240))]), "x/long.json")
    write_recording_of_three(tmp_path)
    found = {one.id: one.why for one in import_ecc(ws, NOW, tmp_path).recordings}
    assert found[PROOF] == ""
    assert found[f"dmux-tmux/{'y' * 240}"]


Spoil = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("spoil", "field"),
    [
        (lambda data: data.pop("latest"), "latest: is missing"),
        (lambda data: data.pop("createdAt"), "createdAt: is missing"),
        (lambda data: data.update(schemaVersion="ecc.session.recording.v2"), "schemaVersion"),
        (lambda data: data.update(createdAt="long ago"), "createdAt: 'long ago' is not an ISO 8601 time"),
        (lambda data: data["history"][1].update(recordedAt=7), r"history\[1\].recordedAt"),
        (lambda data: data["history"][1]["snapshot"].pop("workers"), r"history\[1\].snapshot.workers: is missing"),
        (lambda data: data["latest"]["aggregates"].update(workerCount=2), "latest: aggregates.workerCount is 2"),
        (lambda data: data.update(sessionId="other"), "latest is of dmux-tmux/proof, not of dmux-tmux/other"),
        (lambda data: data.update(note="mine"), "note: is no field of ecc.session.recording.v1"),
        (lambda data: data["history"][0].update(note=1), r"history\[0\].note: is no field of ecc.session.recording.v1"),
        (lambda data: data["latest"].update(note=1), "latest.note: is no field of ecc.session.v1"),
        (lambda data: data["history"][0]["snapshot"].update(note=1), "snapshot.note: is no field of ecc.session.v1"),
        (lambda data: data["history"][0]["snapshot"].update(adapterId="x"), r"history\[0\].snapshot is of x/proof"),
    ],
)  # fmt: skip
def test_a_recording_with_a_fault_is_refused_with_the_field_and_nothing_is_written(ws, tmp_path, spoil: Spoil, field):
    data = copy.deepcopy(make_recording([(time(n), at(n)) for n in (1, 2, 3)]))
    spoil(data)
    path = tmp_path / "x.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InvalidDocument, match=field):
        import_ecc(ws, NOW, path)
    assert ws.branch.read().commit is None


@for_each("text", ["", "[]", "null", "{", '"x"'])
def test_invalid_recordings_are_rejected(text):
    with pytest.raises(InvalidDocument):
        parse_recording(text.encode())


def test_an_empty_import_is_reported(ws, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFound):
        import_ecc(ws, NOW, tmp_path / "empty")
    with pytest.raises(NotFound):
        import_ecc(ws, NOW, tmp_path / "nowhere")


@for_each(
    ("session", "name"),
    [
        ("a b", "a_b.json"), (" ~a/b~ ", "a_b.json"), ("..", "...json"), ("名前", "unknown.json"), ("__x__", "x.json"),
        ("A-1._z", "A-1._z.json"),
    ],
)  # fmt: skip
def test_recordings_have_the_file_names_of_ecc(session, name):
    assert make_recording_path("dmux-tmux", session) == Path("dmux-tmux", name)


@pytest.mark.parametrize("adapter", ["..", ".", " .. "])
def test_no_name_escapes_the_folder(adapter):
    with pytest.raises(InvalidArgument):
        make_recording_path(adapter, "x")


def test_two_sessions_that_would_share_a_file_are_refused_and_the_others_are_written(ws, tmp_path):
    for id_ in ("a b", "a/b", "c"):
        record_snapshot(ws, a_snapshot(id_=id_))
    done = export_ecc(ws, NOW, tmp_path / "out")
    assert done.files == [tmp_path / "out/dmux-tmux/c.json"]
    assert [(one.id, one.why) for one in done.refused] == [
        (f"dmux-tmux/{id_}", "2 sessions would share the file dmux-tmux/a_b.json") for id_ in ("a b", "a/b")
    ]
    assert "--id" in done.refused[0].hint
    [path] = export_ecc(ws, NOW, tmp_path / "out", "a b").files
    assert json.loads(path.read_text())["sessionId"] == "a b"
    [refused] = export_ecc(ws, NOW, tmp_path / "out", "a/b").refused
    assert "is the recording of another session, 'a b'" in refused.why
    assert json.loads(path.read_text())["sessionId"] == "a b"


def test_an_empty_export_is_reported(ws, tmp_path):
    record_snapshot(ws, at(1))
    record_snapshot(ws, a_snapshot(id_="other"))
    with pytest.raises(NotFound):
        export_ecc(ws, NOW, tmp_path / "out", "nobody")
    by_hand(ws, {"snapshots/dmux-tmux/proof.toml": b"what is this\n"})
    done = export_ecc(ws, NOW, tmp_path / "out")
    assert [one.id for one in done.refused] == [PROOF]
    assert done.files == [tmp_path / "out/dmux-tmux/other.json"]
    with pytest.raises(Corrupt):
        list_history(ws, PROOF)
    by_hand(ws, {"snapshots/dmux-tmux/proof.toml": None, "snapshots/dmux-tmux/other.toml": None})
    with pytest.raises(NotFound):
        export_ecc(ws, NOW, tmp_path / "out")


def test_a_file_of_ecc_is_replaced_only_if_git_has_all_of_it(ws, tmp_path):
    path = write_recording_of_three(tmp_path)
    record_snapshot(ws, at(9))
    before = path.read_bytes()
    done = export_ecc(ws, NOW, tmp_path)
    assert done.files == []
    [refused] = done.refused
    assert refused.why == f"{path} has 3 snapshots that this namespace lacks"
    assert "import it first" in refused.hint
    assert path.read_bytes() == before
    import_ecc(ws, later(minutes=1), path)
    assert export_ecc(ws, NOW, tmp_path).files == [path]
    assert len(json.loads(path.read_text())["history"]) == 4
    assert export_ecc(ws, NOW, tmp_path).files == [path]


def test_an_export_keeps_eccs_newer_updated_at(ws, tmp_path):
    import_ecc(ws, NOW, write_recording_of_three(tmp_path))
    path = write_recording(tmp_path, make_recording([(time(n), at(n)) for n in (1, 2, 3)], updated=time(59)))
    export_ecc(ws, NOW, tmp_path)
    assert json.loads(path.read_text())["updatedAt"] == time(59)


def test_a_file_that_is_not_a_recording_is_replaced_only_with_force(ws, tmp_path):
    record_snapshot(ws, at(1))
    path = tmp_path / "dmux-tmux/proof.json"
    put(tmp_path, {"dmux-tmux/proof.json": "{"})
    [refused] = export_ecc(ws, NOW, tmp_path).refused
    assert str(path) in refused.why
    assert "overwrite it with --force" in refused.hint
    assert path.read_text() == "{"
    assert export_ecc(ws, NOW, tmp_path, force=True).refused == []
    assert json.loads(path.read_text())["latest"] == at(1)


def test_a_recording_too_large_to_be_read_again_is_refused_and_the_others_are_written(ws, tmp_path, monkeypatch):
    record_snapshot(ws, at(1))
    record_snapshot(ws, a_snapshot(worker(artifacts={"log": "x" * 3000}), id_="large"))
    monkeypatch.setattr(atomic_files, "MAX_BYTES", 3000)
    done = export_ecc(ws, NOW, tmp_path)
    assert done.files == [tmp_path / "dmux-tmux/proof.json"]
    assert [one.id for one in done.refused] == ["dmux-tmux/large"]


# --- undo and rollback


def export_only_recording(ws: Workspace, folder: Path) -> dict[str, Any]:
    [path] = export_ecc(ws, NOW, folder, force=True).files
    data: dict[str, Any] = json.loads(path.read_text())
    return data


def test_after_an_undo_or_a_rollback_the_current_snapshot_is_the_newest_of_the_history(ws, tmp_path):
    for minute in (1, 2, 3):
        record_snapshot(ws, at(minute), minutes=minute)
    undo_revision(ws, later(minutes=4))
    assert states(ws) == ["step-2", "step-3", "step-2", "step-1"]
    assert list_history(ws, PROOF)[0].recorded_at == "2026-11-21T08:02:00Z"
    data = export_only_recording(ws, tmp_path)
    assert data["latest"] == data["history"][-1]["snapshot"] == at(2)
    assert data["updatedAt"] >= data["history"][-1]["recordedAt"]
    record_snapshot(ws, at(4), minutes=5)
    assert states(ws) == ["step-4", "step-2", "step-3", "step-2", "step-1"]
    rollback_to(ws, later(minutes=6), "1")
    assert states(ws)[:2] == ["step-1", "step-4"]
    assert next(entry.op for entry in ws.branch.history()) == "rollback"


def test_a_snapshot_that_returns_is_exported_and_imported_the_same_way(ws, open_workspace, tmp_path):
    for minute in (1, 2, 3):
        record_snapshot(ws, at(minute), minutes=minute)
    undo_revision(ws, later(minutes=4))
    export_only_recording(ws, tmp_path)
    other = open_workspace(name="other.git")
    import_ecc(other, later(minutes=9), tmp_path)
    assert states(other) == states(ws) == ["step-2", "step-3", "step-2", "step-1"]
    assert import_ecc(other, later(minutes=10), tmp_path).recordings[0].revision is None
    assert import_ecc(ws, later(minutes=10), tmp_path).recordings[0].revision is None


def test_importing_again_after_an_undo_restores_the_undone_snapshot(ws, tmp_path):
    path = write_recording_of_three(tmp_path)
    import_ecc(ws, NOW, path)
    undo_revision(ws, later(minutes=1))
    assert states(ws)[0] == "step-2"
    [done] = import_ecc(ws, later(minutes=2), path).recordings
    assert (done.added, done.revision is None) == (0, False)
    assert states(ws) == ["step-3", "step-2", "step-1"]
    assert import_ecc(ws, later(minutes=3), path).recordings[0].revision is None


def test_the_latest_snapshot_of_ecc_wins_even_if_its_clock_went_back(ws, tmp_path):
    data = make_recording([(time(5), at(5)), (time(1), at(1)), (time(3), at(3))], updated=time(3))
    path = write_recording(tmp_path, data)
    import_ecc(ws, NOW, path)
    assert states(ws) == ["step-3", "step-1", "step-5"]
    assert import_ecc(ws, later(minutes=1), path).recordings[0].revision is None
    export_ecc(ws, NOW, tmp_path / "out")
    assert json.loads((tmp_path / "out/dmux-tmux/proof.json").read_text())["latest"] == at(3)
    again = make_recording([*((time(n), at(n)) for n in (5, 1, 3)), (time(2), at(2))], updated=time(2))
    assert import_ecc(ws, later(minutes=2), write_recording(tmp_path, again)).recordings[0].added == 1
    assert states(ws) == ["step-2", "step-3", "step-1", "step-5"]


def test_the_log_and_a_rollback_find_a_snapshot_by_its_id(ws):
    for minute in (1, 2):
        record_snapshot(ws, at(minute), minutes=minute)
    record_snapshot(ws, a_snapshot(id_="other"), minutes=3)
    assert [entry.revision for entry, *_ in read_log(ws, Filter(record=PROOF))] == [2, 1]
    rollback_record(ws, later(minutes=4), PROOF, "1")
    assert stored(ws, "snapshot", PROOF).snapshot.as_data() == at(1)
    assert len(list_recorded(ws)) == 2
    undo_revision(ws, later(minutes=5))
    assert states(ws) == ["step-2", "step-1", "step-2", "step-1"]


def test_a_concurrent_write_is_kept_during_an_import(ws, tmp_path, open_workspace, monkeypatch):
    other = open_workspace("s2")
    record_snapshot(ws, at(1))
    real = type(ws.branch).advance
    concurrent = []

    def late(branch, *words, **named):
        if not concurrent:
            concurrent.append(record_snapshot(other, a_snapshot(id_="meanwhile")))
        return real(branch, *words, **named)

    monkeypatch.setattr(type(ws.branch), "advance", late)
    [done] = import_ecc(ws, NOW, write_recording_of_three(tmp_path)).recordings
    assert done.added == 3
    assert {one.id for one in list_recorded(ws)} == {PROOF, "dmux-tmux/meanwhile"}


# --- many sessions


def test_the_least_recently_recorded_sessions_are_archived_and_can_be_restored(ws, tmp_path):
    ws = replace(ws, policy=Policy(sessions_kept=3))
    for number in range(5):
        record_snapshot(ws, a_snapshot(id_=f"s{number}"), minutes=number)
    assert [one.snapshot.session.id for one in list_recorded(ws)] == ["s4", "s3", "s2"]
    old = find_recorded(ws.branch.read().state, "dmux-tmux/s0")
    assert old.recorded_at == "2026-11-21T08:00:00Z"
    assert not record_snapshot(ws, a_snapshot(id_="s0"), minutes=9).changed
    assert record_snapshot(ws, a_snapshot(id_="s0", state="done"), minutes=9).changed
    assert [one.snapshot.session.id for one in list_recorded(ws)] == ["s0", "s4", "s3"]
    assert find_recorded(ws.branch.read().state, "dmux-tmux/s0").created_at == "2026-11-21T08:00:00Z"
    assert len(list_history(ws, "dmux-tmux/s0")) == 2
    assert [len(list_history(ws, f"s{number}")) for number in range(5)] == [2, 1, 1, 1, 1]
    assert len(export_ecc(ws, NOW, tmp_path / "out").files) == 5
    assert not [one for one in import_ecc(ws, later(minutes=20), tmp_path / "out").recordings if one.added or one.why]


def test_the_newest_recording_stays_live_whatever_its_time(ws):
    ws = replace(ws, policy=Policy(sessions_kept=3))
    for number in range(3):
        record_snapshot(ws, a_snapshot(id_=f"s{number}"), minutes=10 + number)
    record_snapshot(ws, a_snapshot(id_="late"), minutes=0)
    assert {one.snapshot.session.id for one in list_recorded(ws)} == {"late", "s1", "s2"}


def test_imported_records_beyond_the_newest_are_archived_too(ws, tmp_path):
    ws = replace(ws, policy=Policy(sessions_kept=3))
    for number in range(7):
        snapshots = [
            (time(2 * number), a_snapshot(id_=f"s{number}")),
            (time(2 * number + 1), a_snapshot(id_=f"s{number}", state="done")),
        ]
        write_recording(tmp_path, make_recording(snapshots))
    assert [one.added for one in import_ecc(ws, NOW, tmp_path).recordings] == [2] * 7
    assert [one.snapshot.session.id for one in list_recorded(ws)] == ["s6", "s5", "s4"]
    for text in ("dmux-tmux/s0", "s0", "dmux-tmux/s0"[:-1] + "0"):
        assert [one.snapshot.session.state for one in list_history(ws, text)] == ["done", "active"]
        assert find_recorded(ws.branch.read().state, text).snapshot.session.state == "done"
    assert not [one for one in import_ecc(ws, later(minutes=5), tmp_path).recordings if one.revision]


# --- states that cannot be written


def test_a_secret_as_session_name_is_refused_at_import(open_workspace, tmp_path):
    ws = open_workspace(SECRET)
    [done] = import_ecc(ws, NOW, write_recording_of_three(tmp_path)).recordings
    assert "secret" in done.why
    assert ws.branch.read().commit is None


@pytest.mark.parametrize("error", [Busy("others"), WriteFailed("full")])
def test_a_failed_write_is_not_reported_as_a_fault_of_a_recording(ws, tmp_path, monkeypatch, error):
    def failing(*_: object, **named: object) -> bool:
        raise error

    monkeypatch.setattr(type(ws.branch), "advance", failing)
    with pytest.raises(type(error)):
        import_ecc(ws, NOW, write_recording_of_three(tmp_path))


def test_the_number_of_files_in_an_imported_folder_is_limited(ws, tmp_path, monkeypatch):
    write_recording_of_three(tmp_path)
    write_recording(tmp_path, make_recording([(time(1), a_snapshot(id_="other"))]))
    monkeypatch.setattr(recording_files, "MAX_FILES", 1)
    with pytest.raises(InvalidArgument, match="has 2 files, the limit is 1"):
        import_ecc(ws, NOW, tmp_path)
    monkeypatch.setattr(recording_files, "MAX_FILES", 2)
    assert len(import_ecc(ws, NOW, tmp_path).recordings) == 2
