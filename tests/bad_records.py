"""Records that are almost valid: the fields of each kind, with values that its file format can hardly represent."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from planting import FIXED, filled

from baton_git.core.kinds import ALL_KINDS, KINDS, SINGLETONS
from baton_git.core.layout import path_of
from baton_git.core.state import Key

HUGE = "0x" + "f" * 4000
"""An integer that Python can read but refuses to write in decimal: it has 4,816 digits."""

VALUES = (
    HUGE, f"-0x{'f' * 3600}"[1:], "9" * 4300, "9" * 4301, f"0b{'1' * 20_000}", "9223372036854775808",
    "-9223372036854775809", "1e308", "1e400", "-0.0", "nan", "-inf", "0000-01-01", "0001-01-01", "9999-12-31",
    "9999-12-31T23:59:59.999999-23:59", "0001-01-01T00:00:00+23:59", "00:00:00", '"9999-12-31T23:59:59-23:59"',
    '"0001-01-01T00:00:00+14:00"', r'"\u202e\u0000\u001b[2J"', r'"\uFFFF\U000E0041\u2028\uFEFF"', r'"\ud800"', '""',
    "{}", "[]", "[[]]", "[{}]", '[1, "a", {}]', '{"$null" = true}', f'{{"$int" = "{"9" * 4300}"}}',
    f'{{"$int" = "-{"9" * 4300}"}}', f'{{"$int" = "{"9" * 4301}"}}', '{"$ref" = 1}', '{a.b."c d"."" = 1}',
    "[" * 60 + "]" * 60, "[" * 200 + "]" * 200, "{a = " * 140 + "1" + "}" * 140, "true", "1", "-1", "0", '"x"',
    f'"{"y" * 5000}"', '"2026-11-21T10:00:00Z"',
)  # fmt: skip
"""Field values, as they are written in TOML."""

KEYS = (
    '""', r'"\u202e"', '"a.b"', "model_fields_set", '"__class__"', "given", "replace", "kind", '"$$x"', r'"\u0000"',
    f'"{"k" * 3000}"', "id", "dated", "self", r'"\U000E0001"', "a.b.c", '"$x"', "record", "x",
)  # fmt: skip
"""Names of fields that a model or a codec could mistake for its own, as they are written in TOML."""


@cache
def fields_of(kind: str) -> dict[str, Any]:
    """Return every field of a kind with a value."""
    return filled(ALL_KINDS[kind].model, "text", FIXED.get(kind, {}))


def places() -> list[Key]:
    """Return a live and an archived key of every kind."""
    ids = {kind: str(fields_of(kind)["id"]) for kind in KINDS}
    closed = [Key(kind, id_.replace("/", "."), archived=True) for kind, id_ in ids.items()]
    return [*(Key(kind, id_) for kind, id_ in ids.items()), *closed, *(Key(kind) for kind in SINGLETONS)]


def text_of(key: Key, changes: dict[str, str]) -> bytes:
    """Return the file of the record at `key`, with the fields in `changes` set to the given TOML values."""
    if key.kind == "handover" and not key.archived:
        return "".join(f"{name}: {text}\n" for name, text in {"SESSION_ID": key.id, **changes}.items()).encode()
    fields = {**fields_of(key.kind), **({"id": key.id} if key.kind in KINDS else {})}
    lines = {_key(name): _value(value) for name, value in fields.items()} | changes
    body = "".join(f"{name} = {text}\n" for name, text in lines.items())
    if key.archived:
        body = f'at = "2026-11-21T10:00:00Z"\nreason = "done"\n[record]\n{body}'
    return body.encode()


def files(keys: list[Key], changes: list[dict[str, str]]) -> dict[str, bytes]:
    """Return the files of the records at these keys, each with its changes, by path."""
    return {path_of(key): text_of(key, one) for key, one in zip(keys, changes, strict=True)}


def _key(name: str) -> str:
    return json.dumps(f"${name}" if name.startswith("$") else name)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(name)} = {_value(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return '{"$null" = true}' if value is None else json.dumps(value)
