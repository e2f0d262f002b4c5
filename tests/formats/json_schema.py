"""Check data against the few keywords of JSON Schema that our schemas use, without a library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_TYPES: dict[str, Any] = {
    "string": str, "object": dict, "array": list, "integer": int, "null": type(None), "boolean": bool,
    "number": (int, float),
}  # fmt: skip
KNOWN = {
    "$schema", "$id", "$defs", "$comment", "$ref", "title", "description", "default", "x-merge", "type", "enum",
    "anyOf", "properties", "required", "additionalProperties", "items", "maxItems", "minLength", "maxLength", "pattern",
    "minimum", "maximum", "const", "propertyNames",
}  # fmt: skip
"""The keywords that a schema may use. Before adding one here, support it in `faults`."""


def faults(data: Any, schema: dict[str, Any], root: dict[str, Any], path: str = "") -> Iterator[str]:
    """Return the paths in `data` that `schema` does not allow, each with its fault."""
    if "$ref" in schema:
        yield from faults(data, root["$defs"][schema["$ref"].rpartition("/")[2]], root, path)
    if "anyOf" in schema and all(any(faults(data, one, root, path)) for one in schema["anyOf"]):
        yield f"{path}: none of anyOf"
    if "type" in schema and not _is(data, schema["type"]):
        yield f"{path}: no {schema['type']}"
        return
    if "enum" in schema and data not in schema["enum"]:
        yield f"{path}: not in {schema['enum']}"
    if "const" in schema and data != schema["const"]:
        yield f"{path}: not {schema['const']}"
    yield from (f"{path}: {word}" for word in ("text", "number", "list") if not _WITHIN[word](data, schema))
    if isinstance(data, dict):
        yield from _table(data, schema, root, path)
    if isinstance(data, list):
        for number, item in enumerate(data):
            yield from faults(item, schema.get("items", {}), root, f"{path}[{number}]")


def _table(data: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], path: str) -> Iterator[str]:
    yield from (f"{path}.{name}: missing" for name in schema.get("required", ()) if name not in data)
    fields = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    for name, value in data.items():
        yield from faults(name, schema.get("propertyNames", {}), root, f"{path}.{name}")
        field = fields.get(name, others)
        if field is False:
            yield f"{path}.{name}: unknown"
        if isinstance(field, dict):
            yield from faults(value, field, root, f"{path}.{name}")


def _is(data: Any, name: str) -> bool:
    return isinstance(data, _TYPES[name]) and (name == "boolean" or not isinstance(data, bool))


def _text(data: Any, schema: dict[str, Any]) -> bool:
    if not isinstance(data, str):
        return True
    long_enough = schema.get("minLength", 0) <= len(data) <= schema.get("maxLength", len(data))
    return long_enough and re.search(schema.get("pattern", ""), data) is not None


def _number(data: Any, schema: dict[str, Any]) -> bool:
    if not isinstance(data, int):
        return True
    return bool(schema.get("minimum", data) <= data <= schema.get("maximum", data))


def _list(data: Any, schema: dict[str, Any]) -> bool:
    return not isinstance(data, list) or len(data) <= schema.get("maxItems", len(data))


_WITHIN = {"text": _text, "number": _number, "list": _list}
