"""Base classes of all records. They are frozen, keep unknown fields, and write only fields that were set."""

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError

from baton_git.core.errors import Fault, InvalidDocument
from baton_git.core.records.merge_rules import CHANGED_SIDE, Ladder, MergeRule, RecordingRule

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
