"""The golden merges of `formats/`: merges of one record by field, and of whole trees, with the merge decisions."""

from __future__ import annotations

import json as plain
from base64 import b64decode, b64encode
from typing import Any

import pytest
from looped_cases import for_each
from json_schema import faults
from memory_folder import MemoryFolder
from regenerate import FORMATS

from baton_git.core import kinds, layout
from baton_git.core.merge import RULES, Decision, apply, decide, merge_fields
from baton_git.core.records.base import Part, alike, parse
from baton_git.core.records.conflict import Conflict
from baton_git.verbs.upkeep.schemas import DECISIONS, make_schema
from baton_git.core.state import HEAD, SHAPE, Key, State

ROWS = kinds.ALL_KINDS
FILES = sorted(path for path in FORMATS.glob("*/merge/*.json") if path.parts[-3] != DECISIONS)
CASES = [
    pytest.param(file.parts[-3], plain.loads(file.read_bytes()), id=f"{file.parts[-3]}-{file.stem}") for file in FILES
]
TREES = sorted((FORMATS / DECISIONS / "merge").glob("*.json"))
MERGES = [pytest.param(plain.loads(file.read_bytes()), id=file.stem) for file in TREES]
SIDES = ("base", "ours", "theirs")


def test_there_are_golden_merges_of_most_kinds() -> None:
    assert len(FILES) >= 36
    kinds = {file.parts[-3] for file in FILES}
    assert kinds >= {"open_loop", "follow_up", "pattern", "active_decision", "head", "shape", "rule", "session"}


def test_there_are_golden_merges_of_whole_trees_with_every_action() -> None:
    assert len(TREES) >= 20
    actions = {one["action"] for case in TREES for one in plain.loads(case.read_bytes())["decisions"]}
    assert actions == {"take", "merge", "rekey", "keep"}


def versions_of(case: dict[str, Any]) -> tuple[int, ...]:
    """Return the versions of the rules to which a case applies: all, unless it names one."""
    return (case["rules"],) if "rules" in case else RULES


RULED_CASES = [
    # a parameter set types its values as objects
    pytest.param(*case.values, rules, id=f"{case.id}-{rules}") for case in CASES for rules in versions_of(case.values[1])  # type: ignore[arg-type]
]


@for_each(("kind", "case", "rules"), RULED_CASES)
@for_each("sides", [("ours", "theirs"), ("theirs", "ours")])
def test_fields_merge_as_in_the_golden_file(
    kind: str, case: dict[str, Any], rules: int, sides: tuple[str, str]
) -> None:
    ours, theirs = (case[side] for side in sides)
    result, contested = merge_fields(ROWS[kind].model, case["base"], ours, theirs, rules=rules)
    assert alike(result, case["result"])
    assert [one.field for one in contested] == case["contested"]
    for one in contested:
        assert alike(one.ours, value_at(result, one.field))


def value_at(data: dict[str, Any], field: str) -> tuple[Any, ...]:
    """Return a tuple with the value of a field (a dotted name if it is nested), empty if it is absent."""
    name, _, rest = field.partition(".")
    if name not in data:
        return ()
    return value_at(data[name], rest) if rest and field not in data else (data.get(field, data[name]),)


@for_each(("kind", "case", "rules"), RULED_CASES)
@for_each("sides", [("ours", "theirs"), ("theirs", "ours")])
def test_states_merge_as_in_the_golden_file(
    kind: str, case: dict[str, Any], rules: int, sides: tuple[str, str]
) -> None:
    key = Key(kind, case["ours"].get("id", ""))
    cases = [case[side] for side in ("base", *sides)]
    states = [State() if one is None else State().put(parse(ROWS[kind].model, one), key) for one in cases]
    result = apply(states[1], decide(*states, rules=rules))
    entry = result.entry(key)
    assert isinstance(entry, Part)
    if not alike(case["ours"], case["theirs"]):
        assert alike(entry.as_data(), case["result"])
    assert sorted(one.field for one in result.records(Conflict)) == sorted(case["contested"])


# --- whole trees

Tree = dict[str, Any]
"""Path → text, or `{"base64": …}` for bytes that are not UTF-8 text."""


def state_of(tree: Tree) -> State:
    return layout.state_of(MemoryFolder({path: content(text) for path, text in tree.items()}))


def content(text: Any) -> bytes:
    return text.encode() if isinstance(text, str) else b64decode(text["base64"])


def tree_of(state: State) -> Tree:
    keys = [HEAD, SHAPE]
    keys += [Key(kind, id_, old) for kind in kinds.KINDS for old in (False, True)
             for id_ in sorted(state.ids(kind, archived=old))]  # fmt: skip
    found = {key: entry for key in keys if (entry := state.entry(key)) is not None}
    return {path: as_json(text) for path, text in layout.encode(found).items() if text is not None}


def as_json(text: bytes) -> Any:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(text).decode()}


def as_data(decisions: list[Decision]) -> list[dict[str, Any]]:
    return [one.as_data() for one in decisions]


@for_each("case", MERGES)
def test_trees_merge_as_in_the_golden_file(case: dict[str, Any]) -> None:
    base, ours, theirs = (state_of(case[side]) for side in SIDES)
    decisions = decide(base, ours, theirs, prefer=case.get("prefer"))
    assert alike(as_data(decisions), case["decisions"])
    assert tree_of(apply(ours, decisions)) == case["result"]


@for_each("case", MERGES)
def test_the_mirrored_merge_gives_the_same_tree(case: dict[str, Any]) -> None:
    base, ours, theirs = (state_of(case[side]) for side in SIDES)
    prefer = {"ours": "theirs", "theirs": "ours"}.get(case.get("prefer", ""))
    if prefer is None:
        assert tree_of(apply(theirs, decide(base, theirs, ours))) == case["result"]


@for_each("case", MERGES)
def test_the_decisions_fit_their_schema(case: dict[str, Any]) -> None:
    assert not list(faults(case["decisions"], make_schema(DECISIONS), make_schema(DECISIONS)))
    base, ours, theirs = (state_of(case[side]) for side in SIDES)
    mirrored = as_data(decide(base, theirs, ours))
    assert not list(faults(mirrored, make_schema(DECISIONS), make_schema(DECISIONS)))


@for_each(
    "wrong",
    [{}, [{}], [{"kind": "x", "id": "", "action": "take"}], [{"kind": "rule", "id": "P", "action": "drop"}],
     [{"kind": "rule", "id": "P", "action": "take", "more": 1}],
     [{"kind": "rule", "id": "P", "action": "take", "to": {"kind": "rule"}}],
     [{"kind": "rule", "id": "P", "action": "keep", "contested": [{"field": "x"}]}]],
)  # fmt: skip
def test_the_schema_of_decisions_rejects_invalid_decisions(wrong: Any) -> None:
    assert list(faults(wrong, make_schema(DECISIONS), make_schema(DECISIONS)))


@for_each("case", MERGES)
def test_every_file_of_the_trees_has_the_path_of_a_record(case: dict[str, Any]) -> None:
    assert all(layout.key_at(path) for side in (*SIDES, "result") for path in case[side])
