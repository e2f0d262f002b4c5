"""The merge rules that a field can declare. `merge` implements them.

A field without a rule gets the value of the side that differs from the base; if both sides changed it to different
values, a conflict is recorded.
In JSON Schema, rules are written as `x-merge`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

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
