"""The OpenAPI document: every path is described, with examples and errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from baton_git.interfaces.http.openapi import make_document
from baton_git.interfaces.http.verb_operations import verb_operations


@pytest.fixture(scope="module")
def document(_shared: Any) -> Any:
    return _shared.get("/openapi.json").json()


def operations(document: Any) -> Iterator[tuple[str, str, Any]]:
    for path, methods in document["paths"].items():
        for method, one in methods.items():
            yield path, method, one


def ours(document: Any) -> list[tuple[str, str, Any]]:
    return [one for one in operations(document) if one[0].startswith("/v1/") and not one[0].startswith("/v1/baton/")]


def test_every_operation_has_a_summary_and_its_errors(document: Any) -> None:
    found = ours(document)
    assert len(found) > 40
    for path, method, one in found:
        assert one["summary"][0].isupper(), path
        assert one["tags"], path
        problems = {
            status for status, told in one["responses"].items() if "application/problem+json" in told.get("content", {})
        }
        assert {"401", "403", "404", "409", "413", "422", "500", "503"} <= problems, path
        assert ("412" in problems) == (method == "post"), path


def test_every_parameter_and_every_field_of_a_request_is_described(document: Any) -> None:
    schemas = document["components"]["schemas"]
    for path, _, one in ours(document):
        assert all(told.get("description") for told in one.get("parameters", ())), path
        body = one.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        for choice in (body, *body.get("anyOf", ())):
            name = choice.get("$ref", "").rpartition("/")[2]
            fields = schemas[name].get("properties", {}) if name else {}
            assert all("description" in told or "$ref" in told for told in fields.values()) or name == "Clearing", name


def test_every_example_fits_its_schema(document: Any) -> None:
    tried = 0
    for name, schema in document["components"]["schemas"].items():
        for field, told in schema.get("properties", {}).items():
            validator = Draft202012Validator({**told, "components": document["components"]})
            for example in told.get("examples", ()):
                assert not list(validator.iter_errors(example)), (name, field)
                tried += 1
    assert tried > 50


def test_the_token_is_declared(document: Any) -> None:
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    assert document["security"] == [{"bearer": []}, {}]
    assert make_document(verb_operations()[:1], is_guarded=True)["security"] == [{"bearer": []}]
    assert document["paths"]["/health"]["get"]["security"] == []


def test_tags_are_described(document: Any) -> None:
    used = {tag for _, _, one in operations(document) for tag in one.get("tags", ())}
    assert {one["name"] for one in document["tags"]} == used


def test_the_page_of_the_formats_has_every_path(document: Any, request: pytest.FixtureRequest) -> None:
    page = (request.config.rootpath / "formats" / "http.md").read_text()
    for path, method, _ in ours(document):
        assert f"`{method.upper()} {path}`".replace(":path}", "}") in page, path
