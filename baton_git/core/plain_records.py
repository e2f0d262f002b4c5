"""Recognise records that are surely valid, and changes that surely need no person, without the records' models.

A server checks each push in a new process, in which pydantic and the models take half of the time. The forms of the
records are in `record_forms.json`, derived from the models by `tests/formats/regenerate.py`. These functions only say
yes, or that the models must decide: what no form can state, such as a function that checks a value, has no form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from baton_git.core.codecs import toml
from baton_git.core.errors import InvalidDocument, InvalidName, LimitExceeded
from baton_git.core.kinds import ALL_KINDS, KINDS, Place, path_to

ARCHIVED = "archived"
"""The name of the form of an archived record."""
_GUARDED = {"pattern": ("status", "graduated_to"), "active_decision": ("status", "superseded_by")}
"""The fields beside the tier whose changes `lifecycle.hold_claims` may hold back, by kind."""
_FREE = {"pattern": ("observing", "rule_candidate"), "active_decision": ("active", "monitoring")}
"""The statuses that anyone may give to a new record, by kind."""

Read = Callable[[str], bytes | None]
"""Returns the content of the file at a path; None if there is none."""


class _Fits(Protocol):
    def __call__(self, value: Any, *details: Any) -> bool: ...


@cache
def _forms() -> dict[str, Any]:
    forms: dict[str, Any] = json.loads(Path(__file__).with_name("record_forms.json").read_bytes())
    return forms


def is_harmless(place: Place, after: Read, before: Read) -> bool:
    """Return whether the file at `place` is surely a valid record whose change from `before` anyone may make.

    The file exists in `after`. If this is False, it may still be all that.
    """
    now = _decode(place, after)
    if now is None:
        return False
    if place.kind not in KINDS:
        return True
    base = _find_base(place, before)
    return isinstance(base, dict) and _is_free(place.kind, base, now)


def _decode(place: Place, read: Read) -> dict[str, Any] | None:
    """Return the fields of the record at a place; None unless it is surely valid, and its id is that of the place."""
    text = read(path_to(place.kind, place.id, archived=place.archived))
    form = _forms().get(place.kind)
    if text is None or form is None:
        return None
    if place.archived and KINDS[place.kind].parts > 1:  # the path of an archived record does not check its id
        return None
    try:
        data: Any = toml.loads(text) if place.archived else ALL_KINDS[place.kind].codec.decode(place.id, text)
    except (InvalidDocument, LimitExceeded, UnicodeDecodeError):
        return None
    if place.archived:
        if not _fits(data, _forms()[ARCHIVED]):
            return None
        data = data["record"]
    return data if _fits(data, form) and data.get("id", "") == place.id else None


def _find_base(place: Place, before: Read) -> dict[str, Any] | None:
    """Return the fields of the record before, live or archived; none if it is new, None if it may be invalid."""
    for one in (place, place._replace(archived=not place.archived)):
        try:
            path = path_to(*one[:2], archived=one.archived)
        except InvalidName:
            return None
        if before(path) is not None:
            return _decode(one, before)
    return {}


def _is_free(kind: str, base: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Return whether surely anyone may make a new record (of the `base` {}) or this change."""

    def value(record: Mapping[str, Any], name: str) -> Any:
        return record.get(name, _forms()[kind][2].get(name))

    guarded = _GUARDED.get(kind, ())
    if base:
        return all(value(base, name) == value(now, name) for name in ("source_tier", *guarded))
    return not guarded or (value(now, "status") in _FREE[kind] and value(now, guarded[1]) is None)


# --- forms: a list of a name and its details


def _fits(value: Any, form: list[Any]) -> bool:
    return _FITS[form[0]](value, *form[1:])


def _fits_text(value: Any, least: int) -> bool:
    return type(value) is str and len(value) >= least


def _fits_whole(value: Any, least: int | None, most: int | None) -> bool:
    return type(value) is int and (least is None or value >= least) and (most is None or value <= most)


def _fits_choice(value: Any, choices: list[str]) -> bool:
    return type(value) is str and value in choices


def _fits_list(value: Any, form: list[Any], most: int | None) -> bool:
    return type(value) is list and (most is None or len(value) <= most) and all(_fits(item, form) for item in value)


def _fits_map(value: Any, form: list[Any]) -> bool:
    return type(value) is dict and all(_fits(item, form) for item in value.values())


def _fits_table(value: Any, fields: Mapping[str, list[Any]], defaults: Mapping[str, Any]) -> bool:
    """Fields that have no default, not even None, are required. Unknown fields are allowed, except odd names."""
    if type(value) is not dict or not all(name in value or name in defaults for name in fields):
        return False
    return all(
        _fits(item, fields[name]) if name in fields else not name.startswith(("_", "model"))
        for name, item in value.items()
    )


_FITS: Mapping[str, _Fits] = {
    "any": lambda value: True,
    "unknown": lambda value: False,
    "flag": lambda value: type(value) is bool,
    "optional": lambda value, form: value is None or _fits(value, form),
    "text": _fits_text,
    "whole": _fits_whole,
    "choice": _fits_choice,
    "list": _fits_list,
    "map": _fits_map,
    "table": _fits_table,
}
