"""What a server recognises as harmless without the models is valid by the models, and contains no claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from memory_folder import MemoryFolder
from strategies import json_values, keys, laws, small_tables, tables_of
from test_golden import STORED, key_of, stored

from baton_git.core import layout
from baton_git.core.codecs import toml
from baton_git.core.kinds import KIND_OF_FOLDER
from baton_git.core.plain_records import is_harmless
from baton_git.core.kinds import Place
from baton_git.core.records.base import Part
from baton_git.core.state import Key
from baton_git.namespace.provenance.claims import find_claims

Files = Mapping[str, bytes]
Table = dict[str, Any]
LOOP = {"id": "OL-1", "action": "a", "expected_outcome": "b", "created_at": "2026-06-17"}
PATTERN = {"id": "PAT-1", "what": "a", "first_seen": "2026-06-17", "last_seen": "2026-06-17"}
DECISION = {"id": "DEC-1", "what": "a", "why": "b", "created_at": "2026-06-17"}


def is_accepted(key: Key, before: Files, after: Files) -> bool:
    """Return whether the record at `key` is recognised as harmless; if so, check that the models agree."""
    harmless = is_harmless(Place(*key), after.get, before.get)
    if harmless:
        old, new = (layout.state_of(MemoryFolder(files)) for files in (before, after))
        assert isinstance(new.entry(key), Part)
        assert find_claims(old, new) == []
    return harmless


def file_of(section: str, table: Table, *, archived: bool) -> tuple[Key, Files]:
    key = Key(KIND_OF_FOLDER[section], "OL-1", archived)
    closed = {"at": "2026-06-18", "reason": "done", "record": table}
    return key, {layout.path_of(key): toml.dumps(closed if archived else table)}


def spoil(table: Table, name: str, value: Any) -> Table:
    return {**table, (sorted(table)[len(name) % len(table)] if len(name) % 2 else name): value}


changed = st.sampled_from(tuple(small_tables)).flatmap(
    lambda section: st.tuples(st.just(section), *[st.none() | small_tables[section] | tables_of[section]] * 2)
)


@given(changed, st.booleans(), st.booleans(), st.none() | st.tuples(keys, json_values))
@example(("patterns", PATTERN, {**PATTERN, "status": "graduated"}), False, False, None)
@example(("patterns", None, {**PATTERN, "status": "graduated", "source_tier": "human_confirmed"}), False, False, None)
@example(("patterns", {**PATTERN, "status": "dismissed"}, PATTERN), True, False, None)
@example(("patterns", None, {**PATTERN, "graduated_to": "rules/x.md"}), False, False, None)
@example(("active_decisions", {**DECISION, "source_tier": "llm_derived"}, DECISION), False, False, None)
@example(("active_decisions", DECISION, {**DECISION, "status": "superseded"}), False, False, None)
@example(("active_decisions", {**DECISION, "status": "monitoring"}, DECISION), True, True, None)
@example(("open_loops", {**LOOP, "source_tier": "raw_source"}, LOOP), True, False, None)
@example(("open_loops", LOOP, {**LOOP, "source_tier": "human_confirmed"}), False, True, None)
@laws
def test_what_is_harmless_is_valid_and_makes_no_claim(
    records: tuple[str, Table | None, Table | None], was: bool, now: bool, spoilt: tuple[str, Any] | None
) -> None:
    section, old, new = records
    new = {**(new or LOOP), "id": "OL-1"}
    before = {} if old is None else file_of(section, {**old, "id": "OL-1"}, archived=was)[1]
    key, after = file_of(section, new if spoilt is None else spoil(new, *spoilt), archived=now)
    is_accepted(key, before, after)


def test_the_golden_files_that_are_invalid_are_never_harmless_and_the_valid_ones_of_most_kinds_are() -> None:
    accepted = set[str]()
    for kind in STORED:
        for group in ("valid", "invalid"):
            for path in stored(kind, group):
                key = key_of(kind, group, path)
                files = {layout.path_of(key): path.read_bytes()}
                if is_accepted(key, {}, files):
                    assert group == "valid", path
                    accepted.add(kind)
    assert accepted >= {
        "open_loop", "follow_up", "pattern", "active_decision", "session", "conflict", "head", "shape", "archived",
        "handoff", "turns",
    }  # fmt: skip


def test_a_record_that_replaces_an_invalid_one_is_left_to_the_models() -> None:
    key, after = file_of("open_loops", LOOP, archived=False)
    assert is_accepted(key, {}, after)
    assert is_accepted(key, after, file_of("open_loops", {**LOOP, "action": "c"}, archived=False)[1])
    assert not is_accepted(key, {path: b"not [toml" for path in after}, after)
    assert not is_accepted(key, file_of("open_loops", {**LOOP, "action": 1}, archived=True)[1], after)
