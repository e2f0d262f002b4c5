"""The golden merges of `formats/`: base, ours and theirs of one record, what becomes of them, and what is contested."""

from __future__ import annotations

import json as plain
from typing import Any

import pytest
from regenerate import FORMATS

from baton_git import layout
from baton_git.merge import apply, decide, merge_fields
from baton_git.records.base import Part, alike, parse
from baton_git.records.conflict import Conflict
from baton_git.state import Key, State

ROWS = {**layout.SINGLES, **layout.FOLDERS}
FILES = sorted(FORMATS.glob("*/merge/*.json"))
CASES = [
    pytest.param(file.parts[-3], plain.loads(file.read_bytes()), id=f"{file.parts[-3]}-{file.stem}") for file in FILES
]


def test_there_are_golden_merges_of_most_kinds() -> None:
    assert len(FILES) >= 20
    kinds = {file.parts[-3] for file in FILES}
    assert kinds >= {"open_loop", "follow_up", "pattern", "active_decision", "head", "rule", "session"}


@pytest.mark.parametrize(("kind", "case"), CASES)
def test_fields_merge_as_the_golden_file_says(kind: str, case: dict[str, Any]) -> None:
    model = ROWS[kind].model
    result, contested = merge_fields(model, case["base"], case["ours"], case["theirs"])
    assert alike(result, case["result"])
    assert [one.field for one in contested] == case["contested"]
    mirrored, again = merge_fields(model, case["base"], case["theirs"], case["ours"], prefer="ours")
    assert alike(mirrored, case["result"])
    assert [one.field for one in again] == case["contested"]


@pytest.mark.parametrize(("kind", "case"), CASES)
def test_states_merge_as_the_golden_file_says(kind: str, case: dict[str, Any]) -> None:
    key = Key(kind, case["base"].get("id", ""))
    states = [State().put(parse(ROWS[kind].model, case[side]), key) for side in ("base", "ours", "theirs")]
    result = apply(states[1], decide(*states))
    entry = result.entry(key)
    assert isinstance(entry, Part)
    if not alike(case["ours"], case["theirs"]):
        assert alike(entry.given(), case["result"])
    assert sorted(one.field for one in result.records(Conflict)) == sorted(case["contested"])
