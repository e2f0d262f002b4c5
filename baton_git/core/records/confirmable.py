"""Which fields of a record a person's confirmation covers; declared at the field, like its merge rule."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from baton_git.core.records.base import Part

Facet = Literal["text", "closing", "check"]
"""The parts of a record that have a provenance each: what it says, that something took its place, how it is checked."""


class Covered:
    """Stands in the `Annotated` of a field whose value is part of what is confirmed.

    Args:
        facet: which part.
        only: the values that count; any other one is as good as none.
    """

    def __init__(self, facet: Facet = "text", *, only: tuple[str, ...] | None = None) -> None:
        self.facet = facet
        self.only = only


class CoveredField(NamedTuple):
    name: str
    only: tuple[str, ...] | None


@cache
def covered_fields(model: type[Part]) -> Mapping[Facet, tuple[CoveredField, ...]]:
    """By facet, the covered fields of a kind; empty for a kind that nobody confirms."""
    fields: dict[Facet, tuple[CoveredField, ...]] = {}
    for name, info in model.model_fields.items():
        for covered in info.metadata:
            if isinstance(covered, Covered):
                fields[covered.facet] = (*fields.get(covered.facet, ()), CoveredField(name, covered.only))
    return fields


def covered_values(model: type[Part], facet: Facet, data: Mapping[str, Any] | None) -> tuple[Any, ...] | None:
    """What the covered fields of a record (as plain data) say; None when they say nothing."""
    if data is None:
        return None
    fields = covered_fields(model).get(facet, ())
    values = tuple(_value(field, data) for field in fields)
    return None if all(value is None for value in values) else values


def _value(field: CoveredField, data: Mapping[str, Any]) -> Any:
    value = data.get(field.name)
    return value if field.only is None or value in field.only else None
