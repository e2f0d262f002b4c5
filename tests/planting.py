"""Records of every kind with a text planted in each of their fields, generated from the models."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from baton_git.core.kinds import KINDS
from baton_git.core.records.base import Archived, Part, Record, parse
from baton_git.core.records.work_items import Head
from baton_git.core.state import HEAD, Key, State

PLANTED = (
    """<script>alert(1)</script>"><img src=x onerror=alert(2)>' onfocus=alert(3) autofocus x='{{7*7}}{% raw %}"""
    """</title></textarea><svg onload=alert(4)><a href=javascript:alert(5)>x</a>\u202egnp.exe\x07\x1b[31m&lt;b&gt;"""
    "\x1b]0;title\x07\x9b2J\x7f\u2066\u200b\u200f\u061c\ufeff\u2028\U000e0041\r"
)
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
"""Control characters, invisible characters, line separators, and characters that change the direction of text."""
LINK = "javascript:alert(6)"
"""A dangerous URL, for texts that a page might turn into a link."""
ID = """"><img src=x onerror=alert(7)>{{7*7}}"""
TIME = "2026-11-21T10:00:00Z"
SESSION = "<b onclick=alert(8)>s</b>"

FIXED: Mapping[str, Any] = {
    "checkpoint": {"id": f"{ID}/1", "metadata.agent_id": ID}, "handoff": {"id": f"{ID}/1"},
    "turns": {"id": f"{ID}/1"},
    "snapshot": {"id": f"{ID}/{ID}", "snapshot.adapterId": ID, "snapshot.session.id": ID},
    "handover": {"state": {ID: PLANTED}, "order": [ID]}, "session": {"id": SESSION},
    "pattern": {"status": "rule_candidate", "count": 3},
    "open_loop": {"status": "failed"}, "conflict": {"record_kind": "open_loop", "record_id": ID},
}  # fmt: skip
"""Values that a model requires beyond the types of its fields: by kind and path of the field."""

NEVER_CLOSED = ("rule", "conflict", "identity", "checkpoint", "snapshot", "handover", "handoff", "turns")
"""Kinds of which no archived record is planted."""


def planted_states() -> Iterator[State]:
    """Return a state with all kinds live, then one with them archived and links planted."""
    yield state_of(PLANTED, archived=False)
    yield state_of(LINK, archived=True)


def state_of(text: str, *, archived: bool) -> State:
    """Return a state with a record of each kind whose fields contain `text`, also in the archive if `archived`."""
    state = State().put(parse(Head, {**filled(Head, text), "schema_version": 1}), HEAD)
    for kind, row in KINDS.items():
        model = row.model
        assert issubclass(model, Record)
        if archived and kind == "identity":
            continue  # fields that are set once are kept
        data = filled(model, text, FIXED.get(kind, {}))
        one = parse(model, known(data) if kind == "handover" else data)
        if archived and kind not in NEVER_CLOSED:
            closed = Archived(at=TIME, reason=text, session=SESSION, record=one.as_data())
            state = state.put(closed, Key(kind, one.id, archived=True))
        state = state.put(one)
    return state


def filled(model: type[Part], text: str, fixed: Mapping[str, Any] | None = None, path: str = "") -> dict[str, Any]:
    """Return data with every field of a model, and one unknown field."""
    fixed = {"id": ID, **(fixed or {})}
    data: dict[str, Any] = {"unknown_<b>_field": {text: [text]}}
    for name, field in model.model_fields.items():
        where = f"{path}{name}"
        data[name] = fixed[where] if where in fixed else value(field.annotation, field, text, fixed, where)
    if model.model_config.get("extra") == "forbid":
        del data["unknown_<b>_field"]
    return data


def known(data: Any) -> Any:
    """Remove the fields that are not in the model; KAIROS' format cannot represent them."""
    if not isinstance(data, dict):
        return data
    return {name: known(one) for name, one in data.items() if not name.startswith("unknown_")}


def value(annotation: Any, field: FieldInfo | None, text: str, fixed: Mapping[str, Any], where: str) -> Any:
    """Return a value of this type that contains `text` if the type allows it; `where` is the path of the field."""
    origin, args = get_origin(annotation), get_args(annotation)
    if hasattr(annotation, "__metadata__"):
        return "2026-11-21T10:00:00Z" if _is_time(annotation) else value(args[0], field, text, fixed, where)
    if origin is Literal:
        return args[0]
    if origin in (types.UnionType, Union):
        return value(args[0], field, text, fixed, where)
    if origin is tuple:
        return [value(args[0], None, text, fixed, where)]
    if origin is dict:
        return {text: value(args[1], None, text, fixed, where)}
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return filled(annotation, text, fixed, f"{where}.")
    return _plain(annotation, field, text, where)


def _is_time(annotation: Any) -> bool:
    return "AfterValidator" in repr(annotation) and annotation.__origin__ is str


def _plain(annotation: Any, field: FieldInfo | None, text: str, where: str) -> Any:
    if annotation is bool:
        return True
    if annotation in (int, float):
        return 200 if where.endswith("status") else 1
    if annotation is Any:
        return 0.5 if where.endswith("confidence") else {text: [text, None, True, 1.5]}
    if (
        where.endswith(("_at", "first_seen", "last_seen", "started", "ended"))
        and field is not None
        and _needs_time(field)
    ):
        return TIME
    return text


def _needs_time(field: FieldInfo) -> bool:
    return any("AfterValidator" in repr(one) for one in field.metadata)
