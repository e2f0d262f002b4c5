"""`--json FIELDS`: select fields of a result, or of the items in its list."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel

from baton_git.core.errors import InvalidArgument


def select_fields(data: Any, fields: Sequence[str], known: Collection[str] = ()) -> Any:
    """Return only these fields of a result; without fields, return the whole result.

    The name `a.b` is the field `b` of the object `a`. If the result is an object with all of the fields, return an
    object. If the result is or contains a list of objects, and these objects have the fields, return a list of objects.

    Args:
        known: field names that are valid even if this result does not have them; their value is then null.

    Raises:
        InvalidArgument: a field does not exist, or the fields belong to different objects.
    """
    if not fields:
        return data
    heads = dict.fromkeys(name.partition(".")[0] for name in fields).keys()
    if isinstance(data, dict) and heads <= set(data):
        return _pick(data, fields)
    lists = list(_find_lists(data))
    are_empty = not any(lists)
    for items in lists:
        if heads <= {*_names_of(items), *known} or (are_empty and not known):
            return [_pick(item, fields) for item in items]
    if isinstance(data, dict) and heads <= {*data, *known}:
        return _pick(data, fields)
    names = [
        *(data if isinstance(data, dict) else ()),
        *(name for items in lists for name in _names_of(items)),
        *known,
    ]
    unknown = [name for name in heads if name not in names]
    if not unknown:
        raise InvalidArgument(
            f"--json: the fields {', '.join(heads)} are not all of the same object",
            hint="name fields of the result, or fields of the items in one of its lists",
        )
    raise unknown_field(unknown[0], names)


def list_fields(model: type[BaseModel]) -> list[str]:
    """Return the names of a model's fields, and of the fields of the items in its lists."""
    items = (get_args(info.annotation)[:1] for info in model.model_fields.values())
    models = (arg for args in items for arg in args if isinstance(arg, type) and issubclass(arg, BaseModel))
    return list(dict.fromkeys([*model.model_fields, *(name for item in models for name in item.model_fields)]))


def unknown_field(name: str, names: Collection[str]) -> InvalidArgument:
    """Return the error for a field that does not exist; `names` are the existing fields."""
    return InvalidArgument(f"--json: there is no field {name!r}", hint=f"fields: {', '.join(dict.fromkeys(names))}")


def _find_lists(data: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield the lists of objects in a result, or the result itself if it is such a list; non-empty lists first."""
    values = [data] if isinstance(data, list) else list(data.values()) if isinstance(data, dict) else []
    lists = [value for value in values if isinstance(value, list) and all(isinstance(item, dict) for item in value)]
    yield from sorted(lists, key=lambda items: not items)


def _names_of(items: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for item in items for name in item))


def _pick(item: dict[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    return {name: _value_at(item, name) for name in fields}


def _value_at(item: Any, name: str) -> Any:
    for part in name.split("."):
        item = item.get(part) if isinstance(item, dict) else None
    return item
