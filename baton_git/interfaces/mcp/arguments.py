"""Argument types and schemas of the tools. Schemas are short, because they are part of every request to the model."""

from __future__ import annotations

from typing import Any

Session = str | None
"""The session that acts. The server's instructions describe this argument once for all tools."""

Json = dict[str, Any]

_NOISE = ("title", "additionalProperties", "default", "minimum", "maximum")


def shorten_schema(schema: Json) -> Json:
    """Return a schema without the parts that a model does not need: titles, nulls, defaults and bounds.

    The bounds still apply: a call with a value out of bounds is refused with an error message.
    """
    plain = {name: value for name, value in schema.items() if name not in _NOISE}
    if "properties" in plain:
        plain["properties"] = {name: shorten_schema(field) for name, field in plain["properties"].items()}
    if isinstance(plain.get("items"), dict):
        plain["items"] = shorten_schema(plain["items"])
    return _without_null(plain)


def _without_null(schema: Json) -> Json:
    """Return the schema of an optional value without null: a model omits the argument instead of sending null."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) != 1:
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    return {**shorten_schema(choices[0]), **rest}


def drop_session(schema: Json) -> Json:
    """Return a schema without `session`, which every writing tool takes: the server's instructions describe it once."""
    properties = {name: value for name, value in schema["properties"].items() if name != "session"}
    return {**schema, "properties": properties}
