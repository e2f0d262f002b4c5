"""Base classes of all records, the merge rules that their fields declare, and what a confirmation of them covers.

Records are frozen, keep unknown fields, and write only fields that were set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError

from baton_git.core.errors import Fault, InvalidDocument

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema


class MergeRule:
    """Base of the rules. A field declares a rule as an instance in its `Annotated`."""

    def schema_value(self) -> Any:
        """Return the value of `x-merge` in the schema."""
        return type(self).__name__.lower()

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: Callable[[CoreSchema], JsonSchemaValue]
    ) -> JsonSchemaValue:
        return {**handler(core_schema), "x-merge": self.schema_value()}


class Counter(MergeRule):
    """The base plus the increase on each side.

    Without a base: the sum; if both records are copies of one record (see `RecordingRule`), the count that they share
    is added only once.
    """


class RecordingRule(NamedTuple):
    """How to recognise two records without a merge base as copies of one record, such as imports of one document.

    Each attribute is the path of a field, dotted if nested.

    Attributes:
        begins: the time at which the counting began.
        last: the time of the last count.
        entries: the list of counted entries; empty if the record has no such list.
    """

    begins: str
    last: str
    entries: str = ""


class Union(MergeRule):
    """A list as a set: the items of the base and those that either side added, less those that either side removed."""

    def schema_value(self) -> Any:
        return "set"


class Recent(MergeRule):
    """The newest `limit` entries of both sides, oldest first."""

    __match_args__ = ("limit",)

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def schema_value(self) -> Any:
        return {"recent": self.limit}


class Append(MergeRule):
    """Text with the additions of both sides."""


class Extend(Append):
    """Like `Append`, but only for texts with a common base; two independent texts are a conflict."""


class Latest(MergeRule):
    """The later of two points in time."""


class Earliest(MergeRule):
    """The earlier of two points in time."""


class Ladder(MergeRule):
    """If both sides changed the value, the one later in `steps`, which ends with the most cautious value."""

    __match_args__ = ("steps",)

    def __init__(self, *steps: str) -> None:
        self.steps = steps

    def schema_value(self) -> Any:
        return {"ladder": list(self.steps)}


class Newest(MergeRule):
    """The whole table whose field `by` is later; tables are not mixed, as each is one measurement."""

    __match_args__ = ("by",)

    def __init__(self, by: str) -> None:
        self.by = by

    def schema_value(self) -> Any:
        return {"newest": self.by}


class Beside(Newest):
    """The whole table of the side whose value of `field` won; if both have that value, the one with the later `by`."""

    __match_args__ = ("by",)

    def __init__(self, field: str, by: str) -> None:
        super().__init__(by)
        self.field = field

    def schema_value(self) -> Any:
        return {"beside": [self.field, self.by]}


class Fixed(MergeRule):
    """Set once: always the value of the base. Of two values without a base, the older one.

    `since` is the path of the date within the value.
    """

    __match_args__ = ("since",)

    def __init__(self, since: str) -> None:
        self.since = since

    def schema_value(self) -> Any:
        return {"fixed": self.since}


class Keyed(MergeRule):
    """A list of tables, identified by their field `by`: merged as a set; a table that both sides changed is merged."""

    __match_args__ = ("by",)

    def __init__(self, by: str) -> None:
        self.by = by

    def schema_value(self) -> Any:
        return {"keyed": self.by}


class Fields(MergeRule):
    """A table merged by field, with the rules that the fields of `model` declare."""

    __match_args__ = ("model",)

    def __init__(self, model: Any) -> None:
        self.model = model


class Either(MergeRule):
    """The larger value, without recording a conflict."""


CHANGED_SIDE = MergeRule()
"""The rule of a field that declares none."""


Text = StrictStr
Texts = tuple[Text, ...]
Whole = Annotated[StrictInt, Field(ge=0)]
Flag = StrictBool
Id = Annotated[StrictStr, Field(min_length=1)]
SourceTier = Annotated[
    Literal["raw_source", "llm_derived", "human_confirmed"],
    Ladder("human_confirmed", "llm_derived", "raw_source"),
]
TIERS = ("raw_source", "llm_derived", "human_confirmed")


class Part(BaseModel):
    """A frozen table of fields. Unknown fields are kept unchanged."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True, str_strip_whitespace=False)

    def as_data(self) -> dict[str, Any]:
        """Return the fields that were set as plain data (lists instead of tuples), without unset defaults."""
        return self.model_dump(exclude_unset=True, mode="json")

    def replace(self, **changes: Any) -> Self:
        """Return a validated copy with `changes`, or the same object if nothing differs; `1`, `1.0` and `true` differ.

        Raises:
            InvalidDocument: a value is invalid for its field.
        """
        if all(
            name in self.model_fields_set and _same_value(getattr(self, name), value) for name, value in changes.items()
        ):
            return self
        return parse(type(self), {**self.as_data(), **changes})


class Record(Part):
    """A part with an id and a file of its own."""

    kind: ClassVar[str]
    dated: ClassVar[str] = ""
    """The field with the date of the record, by which records are sorted."""
    recording: ClassVar[RecordingRule | None] = None
    """For kinds with counters: how to recognise two records without a merge base as copies of one record."""

    id: Id = Field(description="The id of the record, unique among the live records of its kind.")


Model = TypeVar("Model", bound=Part)


def parse(model: type[Model], data: Mapping[str, Any], *, where: str = "", at: str = "") -> Model:
    """Validate `data` and return it as a record.

    Args:
        model: the model of the record.
        data: the fields as plain data.
        where: the name of the document for error messages, such as a file name.
        at: the path of `data` in its document (`open_loops[2]`), a prefix for the paths of faults.

    Raises:
        InvalidDocument: at least one field is invalid; there is one fault for each.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise InvalidDocument(faults_of(error, at), where=where) from error


def faults_of(error: ValidationError, at: str = "") -> list[Fault]:
    """Return the faults of a pydantic error; `at` is a prefix for their paths."""
    return [
        Fault(format_path((at, *fault["loc"]) if at else fault["loc"]), _describe_fault(dict(fault)))
        for fault in error.errors()
    ]


def faults_of_input(error: ValidationError) -> list[Fault]:
    """Return the faults of a verb's input: as `faults_of`, but with `is empty` for an empty text.

    The faults of records keep pydantic's message about it, which is in the golden files.
    """
    return [
        fault._replace(message="is empty") if _is_empty_text(dict(details)) else fault
        for fault, details in zip(faults_of(error), error.errors(), strict=True)
    ]


def _is_empty_text(details: dict[str, Any]) -> bool:
    return bool(details["type"] == "string_too_short" and details["ctx"]["min_length"] == 1)


def format_path(location: tuple[int | str, ...]) -> str:
    """Return a location as a path: `("open_loops", 2, "verify")` → `open_loops[2].verify`."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part if part.isprintable() else repr(part)}"
    return text.lstrip(".")


_MESSAGES = {
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type"), "must be a list"),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type"), "must be a table"),
}
"""Messages by type of error. They replace pydantic's messages, which name Python types."""


def _describe_fault(fault: dict[str, Any]) -> str:
    if fault["type"] == "missing":
        return "is missing"
    if fault["type"] == "value_error":
        return str(fault["ctx"]["error"])
    message = _MESSAGES.get(fault["type"]) or str(fault["msg"])
    given = fault.get("input")
    if isinstance(given, str | int | float | bool) or given is None:
        return f"{message[:1].lower()}{message[1:]}, not {_short(given)}"
    return message[:1].lower() + message[1:]


def _short(value: object) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 40 else text[:39] + "…"


def alike(left: object, right: object) -> bool:
    """Whether two values of plain data are equal, including their types: `1`, `1.0` and `true` differ."""
    if type(left) is str or type(right) is str or left is right:
        return left is right or (type(left) is type(right) and left == right)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(alike(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(alike(*pair) for pair in zip(left, right, strict=True))
    return type(left) is type(right) and left == right


def same(left: Part, right: Part) -> bool:
    """Whether two records are equal and set the same fields: an explicit default differs from an absent field.

    Equivalent to `alike(left.as_data(), right.as_data())`, but faster.
    """
    if left is right:
        return True
    names = left.model_fields_set
    if type(left) is not type(right) or names != right.model_fields_set:
        return False
    with suppress(ValueError):  # a text that JSON cannot represent; the serializer is much faster than the rest
        if left.model_dump_json(exclude_unset=True) == right.model_dump_json(exclude_unset=True):
            return True
    # Not with getattr, because an unknown field may have the name of a method.
    mine, theirs = ({**part.__dict__, **(part.model_extra or {})} for part in (left, right))
    return all(_same_value(mine[name], theirs[name]) for name in names)


def _same_value(left: object, right: object) -> bool:
    if isinstance(left, Part) and isinstance(right, Part):
        return same(left, right)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(_same_value(*pair) for pair in zip(left, right, strict=True))
    return alike(left, right)


@cache
def merge_rule(model: type[Part], field: str) -> MergeRule:
    """Return the merge rule that `field` of `model` declares, or `CHANGED_SIDE`."""
    info = model.model_fields.get(field)
    rules = [item for item in info.metadata if isinstance(item, MergeRule)] if info else []
    return rules[0] if rules else CHANGED_SIDE


def value_at(data: Any, field: str) -> Any:
    """Return the value of a dotted field of a record or of plain data, or None if it is absent."""
    for name in field.split("."):
        if isinstance(data, Mapping):
            data = data.get(name)
        else:
            data = getattr(data, name, None) if isinstance(data, Part) else None
    return data


# --- the fields of a record that a person's confirmation covers

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


# --- closed records


class Archived(Part):
    """A file below `archive/`: the final content of the record is a table in it."""

    at: Text = Field(description="The time of closing, ISO 8601 in UTC.")
    reason: Text = Field(description="Why it was closed: verified, done, superseded, absent from a document, …")
    session: Text | None = Field(None, description="The session that closed it.")
    was: Text | None = Field(None, description="Its original id, if another archived record has the same id.")
    record: dict[str, Any] = Field(description="The record.")
