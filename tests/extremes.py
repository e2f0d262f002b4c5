"""Records of every kind whose scalars are all at one end of what their fields allow, generated from the models."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from baton_git.core.errors import InvalidDocument
from baton_git.core.kinds import KINDS
from baton_git.core.records.base import Archived, Part, Record, parse
from baton_git.core.records.work_items import Head
from baton_git.core.state import HEAD, Key, State

LONGEST = 10**4300 - 1
"""The largest integer that a record may hold."""
BIGGEST = 1.7976931348623157e308


class End(NamedTuple):
    """One end of all scalars. Texts contain a time, so that every field with a time is covered, whatever its name."""

    text: str
    whole: int
    fraction: float
    flag: bool
    pick: int
    """The index of the value that a field of fixed values has."""


ENDS = {
    "first": End("0001-01-01T00:00:00Z", -(2**63) - 1, -BIGGEST, False, 0),
    "last": End("9999-12-31T23:59:59Z", 2**63, BIGGEST, True, -1),
    "longest": End("9999-12-31T23:59:59.999999Z", LONGEST, BIGGEST, True, -1),
    "longest negative": End("0001-01-01T00:00:00.000001Z", -LONGEST, -BIGGEST, False, 0),
    "first day": End("0001-01-01", -(2**63), -0.0, False, 0),
    "last day": End("9999-12-31", 2**63, 5e-324, True, -1),
    "empty": End("", 0, 0.0, False, 0),
    "long": End("word " * 400, 2**63 - 1, 1e308, True, -1),
}

NEEDED: Mapping[str, Any] = {
    "snapshot.adapterId": "end", "snapshot.session.id": "end", "metadata.agent_id": "end", "record_kind": "open_loop",
    "snapshot.workers.state": "active", "snapshot.workers.health": "healthy",
    "snapshot.aggregates": {"workerCount": 1, "states": {"active": 1}, "healths": {"healthy": 1}},
    "schema_version": 1, "identity_updates.new_beliefs.confidence": 1,
}  # fmt: skip
"""Values that a model requires beyond the types of its fields, by the path of the field."""


def id_of(kind: str) -> str:
    """Return the id of the records of a kind. Kinds with ids of two parts have the part `end` first."""
    info = KINDS[kind]
    return "/".join(["end"] * (info.parts - 1) + [f"{info.prefix or kind.upper()}-end"])


def states(end: End) -> Iterator[State]:
    """Yield states with every kind live and archived: one state for each value of a field such as `status`."""
    for turn in range(max(_count_choices(info.model) for info in KINDS.values())):
        state = State().put(make(Head, end, "", turn), HEAD)
        for kind, info in KINDS.items():
            if turn >= _count_choices(info.model):
                continue
            model = info.model
            assert issubclass(model, Record)
            id_ = id_of(kind) if turn == 0 else f"{id_of(kind)}{turn}"
            record = make(model, end, id_, turn)
            state = state.put(record)
            if not info.has_fixed_fields and kind not in ("conflict", "rule"):
                at = end.text if end.text[:1].isdigit() else "2026-11-21"
                closed = Archived(at=at, reason=end.text, session=end.text, record=record.as_data())
                state = state.put(closed, Key(kind, id_, archived=True))
        yield state


def make(model: type[Part], end: End, id_: str, turn: int) -> Any:
    """Return a record with all scalars at `end`; a scalar that the model refuses there keeps a plain value."""
    data = _fill(model, end, turn, {**NEEDED, "id": id_, "snapshot.session.id": id_.rpartition("/")[2]}, "")
    try:
        return parse(model, data)
    except InvalidDocument as error:
        for fault in error.faults:
            _set(data, fault.path, "2026-11-21T10:00:00Z")
        return parse(model, data)


def _set(data: Any, path: str, value: str) -> None:
    *tables, name = re.findall(r"[^.\[\]]+", path)
    for table in tables:
        data = data[int(table) if isinstance(data, list) else table]
    data[name] = value


def _count_choices(model: type[Part]) -> int:
    """Return how many values the fields of fixed values at the top of a model have."""
    return max([len(_choices(field.annotation)) for field in model.model_fields.values()], default=1) or 1


def _choices(annotation: Any) -> tuple[Any, ...]:
    while hasattr(annotation, "__metadata__"):
        annotation = annotation.__origin__
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def _fill(model: type[Part], end: End, turn: int, fixed: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return data with every field of a model."""
    data: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        where = f"{path}{name}"
        choices = _choices(field.annotation)
        if where in fixed:
            data[name] = fixed[where]
        elif choices and not path:
            data[name] = choices[min(turn, len(choices) - 1)]
        else:
            data[name] = _value(field.annotation, field.metadata, end, turn, fixed, where)
    return data


def _value(annotation: Any, limits: Any, end: End, turn: int, fixed: Mapping[str, Any], where: str) -> Any:
    origin, args = get_origin(annotation), get_args(annotation)
    if hasattr(annotation, "__metadata__"):
        return _value(args[0], [*limits, *annotation.__metadata__], end, turn, fixed, where)
    if origin is Literal:
        return args[end.pick]
    if origin in (types.UnionType, Union):
        return _value(args[0], limits, end, turn, fixed, where)
    if origin is tuple:
        return [_value(args[0], (), end, turn, fixed, where)]
    if origin is dict:
        return {"end": _value(args[1], (), end, turn, fixed, where)}
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return _fill(annotation, end, turn, fixed, f"{where}.")
    return _scalar(annotation, _flat(limits), end)


def _flat(limits: Any) -> list[Any]:
    """Return limits, with those inside of fields."""
    return [inner for limit in limits for inner in (_flat(limit.metadata) if isinstance(limit, FieldInfo) else [limit])]


def _scalar(annotation: Any, limits: list[Any], end: End) -> Any:
    if annotation is bool:
        return end.flag
    if annotation is float:
        return end.fraction
    if annotation is int:
        least = max([limit.ge for limit in limits if hasattr(limit, "ge")], default=None)
        most = min([limit.le for limit in limits if hasattr(limit, "le")], default=None)
        number = end.whole if least is None else max(end.whole, least)
        return number if most is None else min(number, most)
    if annotation is Any:
        return {"time": end.text, "number": end.fraction, "whole": end.whole, "flag": end.flag}
    shortest = max([limit.min_length for limit in limits if hasattr(limit, "min_length")], default=0)
    return end.text or "x" * shortest
