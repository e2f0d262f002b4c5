"""KAIROS' session handover: the step of a protocol run, with which another client can continue it."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from baton_git.core.records.base import Part, Record, Text
from baton_git.core.records.merge_rules import Either, Fields, Latest


class Step(Part):
    """The run's position in its chain. The fields belong together: a merge takes all of them from one side."""

    current_challenge: Text | None = Field(None, description="The name of the step.")
    chain_uri: Text | None = Field(None, description="The URI of the step.")
    step_index: Annotated[int, Field(ge=1, strict=True)] | None = Field(
        None, description="The number of the step, from 1."
    )


class Handover(Record):
    """One protocol run; its id is the `SESSION_ID`."""

    kind: ClassVar[str] = "handover"
    dated: ClassVar[str] = "updated_at"

    step: Step = Field(Step(), description="`current_challenge`, `chain_uri` and `step_index`.")
    state: Annotated[dict[str, Any], Fields(Part)] = Field({}, description="The partial state: every other key.")
    order: Annotated[tuple[Text, ...] | None, Either()] = Field(
        None, description="The order of the keys in the file, if it is not the usual one."
    )
    updated_at: Annotated[Text | None, Latest()] = Field(None, description="The time of the last change, ISO 8601.")
