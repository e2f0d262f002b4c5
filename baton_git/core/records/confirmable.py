"""Declare which fields of a record a person's confirmation covers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from baton_git.core.records.base import Part

Facet = Literal["text", "statement", "closing", "check"]
"""A part of a record that has a provenance of its own.

The text is all that a confirmation covers. The statement is the part of it that says what the record is about: who adds
a reason or proposes a rule later changes the text, but not the statement. The closing is the supersession.
"""


class Covered:
    """Marks a field, in its `Annotated`, as covered by a confirmation.

    Args:
        facet: the part of the record that the field belongs to.
        only: the values that are covered; other values count as absent.
    """

    def __init__(self, facet: Facet = "text", *, only: tuple[str, ...] | None = None) -> None:
        self.facet = facet
        self.only = only


class CoveredField(NamedTuple):
    name: str
    only: tuple[str, ...] | None


@cache
def covered_fields(model: type[Part]) -> Mapping[Facet, tuple[CoveredField, ...]]:
    """Return the covered fields of a model by facet; empty for a kind that cannot be confirmed."""
    fields: dict[Facet, tuple[CoveredField, ...]] = {}
    for name, info in model.model_fields.items():
        for covered in info.metadata:
            if isinstance(covered, Covered):
                fields[covered.facet] = (*fields.get(covered.facet, ()), CoveredField(name, covered.only))
    return fields


def covered_values(model: type[Part], facet: Facet, data: Mapping[str, Any] | None) -> tuple[Any, ...] | None:
    """Return the values of the covered fields of a record (plain data); None if all are absent."""
    if data is None:
        return None
    fields = covered_fields(model).get(facet, ())
    values = tuple(_value(field, data) for field in fields)
    return None if all(value is None for value in values) else values


def _value(field: CoveredField, data: Mapping[str, Any]) -> Any:
    value = data.get(field.name)
    return value if field.only is None or value in field.only else None
