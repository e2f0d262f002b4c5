"""The schemas are generated from the models, are the same each time, and equal those in `formats/`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from looped_cases import for_each
from json_schema import KNOWN, faults
from record_forms import FILE, forms_text
from regenerate import FORMATS, page, schema_text

from baton_git.core import kinds
from baton_git.core.errors import NotFound
from baton_git.core.records.base import merge_rule
from baton_git.core.records.work_items import Baton, FollowUp, Pattern
from baton_git.verbs.upkeep.schemas import DECISIONS, RECORDS, SCHEMAS, make_schema


def tables(data: Any) -> Iterator[dict[str, Any]]:
    """Yield all tables with properties inside a schema."""
    if isinstance(data, dict):
        if isinstance(data.get("properties"), dict) and data.get("type") == "object":
            yield data
        for value in data.values():
            yield from tables(value)


def fields(kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for table in tables(make_schema(kind)):
        yield from table["properties"].items()


def test_the_documented_kinds_are_those_of_the_layout() -> None:
    assert {*kinds.KINDS, *kinds.SINGLETONS, "archived", "baton", "ecc_session"} == set(RECORDS)
    assert set(SCHEMAS) - set(RECORDS) == {DECISIONS}


@for_each("kind", SCHEMAS)
def test_the_schema_in_formats_is_the_one_of_the_models(kind: str) -> None:
    stored = (FORMATS / kind / "schema.json").read_text(encoding="utf-8")
    assert stored == schema_text(kind), "run: python tests/formats/regenerate.py"


@for_each("kind", RECORDS)
def test_the_page_in_formats_has_the_fields_of_the_models(kind: str) -> None:
    text = (FORMATS / kind / "README.md").read_text(encoding="utf-8")
    assert text == page(kind, text), "run: python tests/formats/regenerate.py"
    assert all(f"| `{name}` |" in text for name in make_schema(kind)["properties"])


@for_each("kind", RECORDS)
def test_a_schema_names_its_kind_and_dialect(kind: str) -> None:
    found = make_schema(kind)
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert found["$id"] == f"urn:baton-git:format:1:{kind}"
    assert found["title"] == kind
    assert found["description"]
    assert found["type"] == "object"


@for_each("kind", RECORDS)
def test_every_property_is_described_and_every_table_takes_unknown_fields(kind: str) -> None:
    undescribed = [name for name, field in fields(kind) if not field.get("description")]
    closed = [table for table in tables(make_schema(kind)) if table["additionalProperties"] is not True]
    closed = [table for table in closed if "schemaVersion" not in table["properties"]]  # ECC's contract requires closed tables
    assert (undescribed, closed) == ([], [])


@for_each("kind", SCHEMAS)
def test_schemas_use_only_keywords_that_the_checker_of_these_tests_supports(kind: str) -> None:
    def words(data: Any) -> Iterator[str]:
        if not isinstance(data, dict):
            return
        yield from data
        for name in ("properties", "$defs"):
            for one in data.get(name, {}).values():
                yield from words(one)
        for one in (data.get("items"), data.get("additionalProperties"), *data.get("anyOf", ())):
            yield from words(one)

    assert set(words(make_schema(kind))) <= KNOWN


@for_each("kind", [*kinds.KINDS, *kinds.SINGLETONS])
def test_the_schema_has_exactly_the_declared_merge_rules(kind: str) -> None:
    model = kinds.ALL_KINDS[kind].model
    properties = make_schema(kind)["properties"]
    assert set(properties) == set(model.model_fields)
    for name, field in properties.items():
        rule = merge_rule(model, name)
        declared = rule.schema_value() if type(rule).__name__ != "MergeRule" else None
        assert field.get("x-merge") == declared, name


def test_merge_rules_are_written_as_in_the_contract() -> None:
    assert make_schema("follow_up")["properties"]["defer_count"]["x-merge"] == "counter"
    assert make_schema("pattern")["properties"]["recent_occurrences"]["x-merge"] == {"recent": 5}
    assert make_schema("pattern")["properties"]["recent_occurrences"]["maxItems"] == 5
    assert make_schema("active_decision")["properties"]["evidence"]["x-merge"] == "set"
    assert make_schema("open_loop")["properties"]["last_check"]["x-merge"] == {"beside": ["status", "at"]}
    assert make_schema("session")["properties"]["wrote_document"]["x-merge"] == "either"
    assert make_schema("shape")["properties"]["order"]["x-merge"] == "either"


def test_the_schema_of_decisions_names_its_kind_and_dialect() -> None:
    found = make_schema(DECISIONS)
    assert (found["$id"], found["title"], found["type"]) == ("urn:baton-git:format:1:decisions", DECISIONS, "array")
    assert all(field.get("description") for table in tables(found) for field in table["properties"].values())
    assert all(table["additionalProperties"] is False for table in tables(found))


def test_required_fields_are_those_of_session_baton() -> None:
    required = {kind: set(make_schema(kind)["required"]) for kind in ("open_loop", "follow_up", "pattern", "baton")}
    assert required == {
        "open_loop": {"id", "action", "expected_outcome", "created_at"},
        "follow_up": {"id", "item", "first_seen"},
        "pattern": {"id", "what", "first_seen", "last_seen"},
        "baton": {"session_id"},
    }


def test_defaults_in_the_schema_are_those_that_records_have() -> None:
    for model in (FollowUp, Pattern, Baton):
        kind = getattr(model, "kind", "baton")
        for name, field in make_schema(kind)["properties"].items():
            default = model.model_fields[name].get_default(call_default_factory=True, validated_data={})
            if "default" in field:
                assert field["default"] == (list(default) if isinstance(default, tuple) else default), name


def test_changing_a_returned_schema_does_not_affect_later_ones() -> None:
    make_schema("head")["properties"].clear()
    assert make_schema("head")["properties"]


def test_an_unknown_kind_is_not_found_and_the_hint_lists_the_kinds() -> None:
    with pytest.raises(NotFound) as caught:
        make_schema("checkpointz")
    assert "there is no kind 'checkpointz'" in str(caught.value)
    assert all(kind in caught.value.hint for kind in SCHEMAS)


@pytest.mark.parametrize("session", ["", " ", "x" * 129])
def test_the_schema_of_the_document_refuses_the_sessions_that_the_code_refuses(session: str) -> None:
    document = make_schema("baton")
    assert list(faults({"session_id": session}, document, document))
    assert list(faults({"session_id": "s", "parent_session": session}, document, document))
    assert not list(faults({"session_id": "s", "parent_session": None}, document, document))

def test_the_forms_are_those_of_the_models() -> None:
    stored_text = FILE.read_text(encoding="utf-8")
    assert stored_text == forms_text(), "run: python tests/formats/regenerate.py"
    assert stored_text.count('["unknown"]') == 1  # the field `heuristic` of a handoff, which is a constant
