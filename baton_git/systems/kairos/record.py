"""The record of a KAIROS session handover: the current step of a protocol run, so that another client can continue."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from baton_git.core.records.base import Either, Fields, Latest, Part, Record, Text


class Step(Part):
    """The current step of the run. A merge takes all fields of the step from one side."""

    current_challenge: Text | None = Field(None, description="The name of the step, which KAIROS calls a challenge.")
    chain_uri: Text | None = Field(None, description="The URI of the step.")
    step_index: Annotated[int, Field(ge=1, strict=True)] | None = Field(
        None, description="The number of the step, from 1."
    )


class Handover(Record):
    """One protocol run. The record's id is the run's `SESSION_ID`."""

    kind: ClassVar[str] = "handover"
    dated: ClassVar[str] = "updated_at"

    step: Step = Field(
        Step(), description="The current step: the keys `current_challenge`, `chain_uri` and `step_index` of the file."
    )
    state: Annotated[dict[str, Any], Fields(Part)] = Field(
        {}, description="The partial state: all keys of the file that KAIROS does not define, with their values."
    )
    order: Annotated[tuple[Text, ...] | None, Either()] = Field(
        None, description="The order of the keys in the file. Null: the default order."
    )
    updated_at: Annotated[Text | None, Latest()] = Field(None, description="The time of the last change: ISO 8601.")
