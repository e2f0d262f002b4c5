"""The golden files of ECC's canonical snapshot: each clause of its contract, in bare JSON as on its wire."""

from __future__ import annotations

import json as plain
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from looped_cases import for_each
from json_schema import faults as schema_faults
from regenerate import FORMATS

from baton_git.systems.ecc.record import parse_snapshot
from baton_git.namespace.branch import Branch
from baton_git.core.codecs import json
from baton_git.core.errors import InvalidDocument
from baton_git.systems.ecc.recording_files import parse_recording, make_recording_path, encode_recording
from baton_git.core.layout import decode, encode
from baton_git.core.names import Namespace
from baton_git.systems.ecc.recordings import export_ecc, import_ecc
from baton_git.verbs.upkeep.validation import validate_text
from baton_git.namespace.workspace import Actor, Workspace
from baton_git.core.records.base import Part, alike, parse
from baton_git.systems.ecc.record import Snapshot
from baton_git.verbs.upkeep.schemas import make_schema
from baton_git.core.state import Key
from baton_git.git.store import Repository, Store

KIND = "ecc_session"
BEYOND = {
    "another-worker-count", "another-state-counted", "a-state-counted-wrong", "a-state-not-counted",
    "a-health-too-many", "two-workers-of-one-id",
}  # fmt: skip
"""Invalid snapshots whose fault no schema can express."""


def files(group: str) -> list[Any]:
    found = sorted(path for path in (FORMATS / KIND / group).glob("*.json") if not path.name.endswith(".error.json"))
    return [pytest.param(path, id=path.stem) for path in found]


def test_there_are_golden_files() -> None:
    assert len(files("valid")) >= 11
    assert len(files("invalid")) >= 35


@for_each("path", files("valid"))
def test_a_valid_snapshot_round_trips(path: Path) -> None:
    data = json.loads(path.read_bytes())
    assert alike(parse_snapshot(data).as_data(), data)
    assert not list(schema_faults(data, make_schema(KIND), make_schema(KIND)))
    assert validate_text(str(path), path.read_bytes(), KIND).faults == ()


@for_each("path", files("valid"))
def test_a_valid_snapshot_round_trips_through_its_stored_file(path: Path) -> None:
    data = json.loads(path.read_bytes())
    id_ = f"{data['adapterId']}/{data['session']['id']}"
    at = "2026-11-21T08:00:00Z"
    record = parse(Snapshot, {"id": id_, "created_at": at, "recorded_at": at, "snapshot": data})
    [(name, text)] = encode({Key("snapshot", id_): record}).items()
    assert text is not None
    again = decode(Key("snapshot", id_), name, text)
    assert isinstance(again, Part), again
    assert alike(again.as_data()["snapshot"], data)


@for_each("path", files("invalid"))
def test_an_invalid_snapshot_has_exactly_the_expected_faults(path: Path) -> None:
    wanted = plain.loads(path.with_suffix(".error.json").read_bytes())
    with pytest.raises(InvalidDocument) as caught:
        parse_snapshot(json.loads(path.read_bytes()))
    assert caught.value.code == wanted["code"]
    found = caught.value.faults
    assert sorted(one.path for one in found) == sorted(one["path"] for one in wanted["faults"]), found
    for one in wanted["faults"]:
        assert any(fault.path == one["path"] and fault.message.startswith(one["message"]) for fault in found), found
    assert validate_text(str(path), path.read_bytes(), KIND).faults == found


@for_each("path", files("invalid"))
def test_the_schema_refuses_what_it_can_express(path: Path) -> None:
    try:
        data = json.loads(path.read_bytes())
    except InvalidDocument:
        return  # no data at all: nothing that a schema could judge
    assert bool(list(schema_faults(data, make_schema(KIND), make_schema(KIND)))) != (path.stem in BEYOND)


RECORDINGS = sorted((FORMATS / KIND / "recordings").glob("*/*.json"))


def test_there_are_recordings() -> None:
    assert RECORDINGS


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_golden_recording_has_its_path_and_round_trips(path: Path, tmp_path: Path) -> None:
    found = parse_recording(path.read_bytes())
    assert path.relative_to(FORMATS / KIND / "recordings") == make_recording_path(found.adapterId, found.sessionId)
    assert encode_recording(found) == path.read_bytes()
    with Store(Repository.create_bare(tmp_path / "state.git")) as store:
        ws = Workspace(Branch(store, Namespace("x")), Actor("Ada <ada@example.org>"))
        [done] = import_ecc(ws, datetime(2026, 11, 21, 8, 0, tzinfo=UTC), path).recordings
        assert done.added == len(found.history)
        [written] = export_ecc(ws, datetime(2026, 11, 21, 8, 0, tzinfo=UTC), tmp_path).files
    assert written.read_bytes() == path.read_bytes()


def test_every_expectation_has_its_file() -> None:
    for path in (FORMATS / KIND / "invalid").glob("*.error.json"):
        assert path.with_name(path.name.replace(".error", "")).exists(), path
