"""Derive `record_forms.json`, by which `plain_records` recognises valid records, from the schemas of pydantic."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from baton_git.core import plain_records
from baton_git.core.codecs import json
from baton_git.core.kinds import ALL_KINDS
from baton_git.core.records.base import Archived

FILE = Path(plain_records.__file__).with_name("record_forms.json")
UNKNOWN = ["unknown"]
CHECKED_BY_PATH = ("Handoff", "SharedTurns")
"""Models whose function checks only that the id has two parts, which each path of such a record guarantees."""
LEFT_OUT = ("rule", "checkpoint", "identity", "handover", "snapshot")
"""Kinds with rules of their own: a person confirms rules, identities are immutable, or a function checks the record."""

Schema = Mapping[str, Any]


def forms_text() -> str:
    models: dict[str, type[Any]] = {kind: info.model for kind, info in ALL_KINDS.items() if kind not in LEFT_OUT}
    models[plain_records.ARCHIVED] = Archived
    forms = {kind: form_of_model(model) for kind, model in models.items()}
    return json.dumps(forms, indent=None) + "\n"


def form_of_model(model: type[Any]) -> list[Any]:
    schema = TypeAdapter(model).core_schema
    definitions = {}
    if schema["type"] == "definitions":
        definitions = {one["ref"]: one for one in schema["definitions"]}
        schema = schema["schema"]
    form = _Deriving(definitions).form(schema)
    assert form[0] == "table", model
    return form


class _Deriving:
    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self.definitions = definitions

    def form(self, schema: Schema) -> list[Any]:
        """Return the form of a schema; `UNKNOWN` if it has a detail that no form states."""
        make = getattr(self, f"_{schema['type'].replace('-', '_')}", None)
        return UNKNOWN if make is None else make(schema)

    def _known(self, schema: Schema, *details: str) -> bool:
        return not schema.keys() - {"type", "metadata", "ref", "serialization", "strict", *details}

    def _any(self, schema: Schema) -> list[Any]:
        return ["any"]

    def _bool(self, schema: Schema) -> list[Any]:
        return ["flag"] if self._known(schema) else UNKNOWN

    def _str(self, schema: Schema) -> list[Any]:
        return ["text", schema.get("min_length", 0)] if self._known(schema, "min_length") else UNKNOWN

    def _int(self, schema: Schema) -> list[Any]:
        return ["whole", schema.get("ge"), schema.get("le")] if self._known(schema, "ge", "le") else UNKNOWN

    def _literal(self, schema: Schema) -> list[Any]:
        known = self._known(schema, "expected") and all(type(one) is str for one in schema["expected"])
        return ["choice", list(schema["expected"])] if known else UNKNOWN

    def _nullable(self, schema: Schema) -> list[Any]:
        return ["optional", self.form(schema["schema"])] if self._known(schema, "schema") else UNKNOWN

    def _dict(self, schema: Schema) -> list[Any]:
        known = self._known(schema, "keys_schema", "values_schema") and schema["keys_schema"]["type"] == "str"
        return ["map", self.form(schema.get("values_schema", {"type": "any"}))] if known else UNKNOWN

    def _tuple(self, schema: Schema) -> list[Any]:
        known = self._known(schema, "items_schema", "variadic_item_index", "max_length")
        if not known or len(schema["items_schema"]) != 1 or schema.get("variadic_item_index") != 0:
            return UNKNOWN
        return ["list", self.form(schema["items_schema"][0]), schema.get("max_length")]

    def _definition_ref(self, schema: Schema) -> list[Any]:
        return self.form(self.definitions[schema["schema_ref"]])

    def _function_after(self, schema: Schema) -> list[Any]:
        inner = schema["schema"]
        is_known = inner["type"] == "model" and inner["cls"].__name__ in CHECKED_BY_PATH
        return self.form(inner) if is_known else UNKNOWN

    def _model(self, schema: Schema) -> list[Any]:
        known = self._known(schema, "cls", "schema", "config", "custom_init", "root_model")
        if not known or schema.get("custom_init") or schema.get("root_model"):
            return UNKNOWN
        return self.form(schema["schema"])

    def _model_fields(self, schema: Schema) -> list[Any]:
        if not self._known(schema, "fields", "model_name", "computed_fields") or schema.get("computed_fields"):
            return UNKNOWN
        fields, defaults = {}, {}
        for name, field in schema["fields"].items():
            inner = field["schema"]
            if inner["type"] == "default":
                default, inner = inner.get("default"), inner["schema"]
                defaults[name] = default if isinstance(default, str | int) else None
            is_plain = not field.keys() - {"type", "schema", "metadata", "serialization_exclude"}
            fields[name] = self.form(inner) if is_plain else UNKNOWN
        return ["table", fields, defaults]
