"""The merge rules that a field can declare; what each means is carried out by `merge`.

A field without one follows `changed side wins`: the side that differs from the base, and a recorded
conflict when both do. In JSON Schema a rule stands as `x-merge`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema


class MergeRule:
    """Base of the rules; an instance stands in the `Annotated` of its field."""

    def schema_value(self) -> Any:
        """What `x-merge` says in the schema."""
        return type(self).__name__.lower()

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: Callable[[CoreSchema], JsonSchemaValue]
    ) -> JsonSchemaValue:
        return {**handler(core_schema), "x-merge": self.schema_value()}


class Counter(MergeRule):
    """base + what each side added; without a base all that both count, unless they are one recording."""


class RecordingRule(NamedTuple):
    """By which fields (dotted where nested) two records of one id, made apart, are known as one recording.

    `begins`: when it began; `last`: when it counted last; `entries`: the list of what it counted, if it keeps one.
    """

    begins: str
    last: str
    entries: str = ""


class Union(MergeRule):
    """A list taken as a set: everything either side added, less what either side removed."""

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
    """Text that grew on both sides keeps both growths."""


class Extend(Append):
    """As `Append`, where both texts have grown from one; two texts that were entered apart contradict each other."""


class Latest(MergeRule):
    """The later of two points in time."""


class Earliest(MergeRule):
    """The earlier of two points in time."""


class Ladder(MergeRule):
    """The value that stands later in `steps`, where both sides changed it: doubt stands last."""

    __match_args__ = ("steps",)

    def __init__(self, *steps: str) -> None:
        self.steps = steps

    def schema_value(self) -> Any:
        return {"ladder": list(self.steps)}


class Newest(MergeRule):
    """Of two tables the whole one whose field `by` is later: parts of two measurements make no third."""

    __match_args__ = ("by",)

    def __init__(self, by: str) -> None:
        self.by = by

    def schema_value(self) -> Any:
        return {"newest": self.by}


class Beside(Newest):
    """The whole table of the side whose `field` stands; where both have it so, the one whose `by` is later."""

    __match_args__ = ("by",)

    def __init__(self, field: str, by: str) -> None:
        super().__init__(by)
        self.field = field

    def schema_value(self) -> Any:
        return {"beside": [self.field, self.by]}


class Fixed(MergeRule):
    """Set once: the value of the base stands. Of two that were set independently, the one that says it is older.

    `since` is the path of its date inside the value.
    """

    __match_args__ = ("since",)

    def __init__(self, since: str) -> None:
        self.since = since

    def schema_value(self) -> Any:
        return {"fixed": self.since}


class Keyed(MergeRule):
    """A list of tables, each known by its field `by`: a set of these, and of one that both changed the merged table."""

    __match_args__ = ("by",)

    def __init__(self, by: str) -> None:
        self.by = by

    def schema_value(self) -> Any:
        return {"keyed": self.by}


class Fields(MergeRule):
    """A table whose fields have rules of their own, those of `model`; of no known field, each key by itself."""

    __match_args__ = ("model",)

    def __init__(self, model: Any) -> None:
        self.model = model


class Either(MergeRule):
    """One of the two, the larger by value: nobody needs to hear that there was another."""


CHANGED_SIDE = MergeRule()
"""The rule of a field that declares none."""
