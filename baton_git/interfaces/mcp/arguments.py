"""What the tools take, and how it is told to a model: in few words, since all of it is in every request."""

from __future__ import annotations

from typing import Any

Session = str | None
"""The session that acts; the server's instructions say what it is, once for all tools."""

Json = dict[str, Any]

_NOISE = ("title", "additionalProperties", "default", "minimum", "maximum")


def shorten_schema(schema: Json) -> Json:
    """The schema without what a model can do without: titles, nulls and defaults of what may be left out, bounds (who
    oversteps one is told)."""
    plain = {name: value for name, value in schema.items() if name not in _NOISE}
    if "properties" in plain:
        plain["properties"] = {name: shorten_schema(one) for name, one in plain["properties"].items()}
    if isinstance(plain.get("items"), dict):
        plain["items"] = shorten_schema(plain["items"])
    return _without_null(plain)


def _without_null(schema: Json) -> Json:
    """A value or null as that value: who has none leaves it out."""
    choices = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    if len(choices) != 1:
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    return {**shorten_schema(choices[0]), **rest}


def untold(schema: Json) -> Json:
    """The schema without `session`, which all that write take: the instructions say it once."""
    told = {name: one for name, one in schema["properties"].items() if name != "session"}
    return {**schema, "properties": told}
