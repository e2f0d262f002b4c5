"""KAIROS' session handover: where a protocol run stands, so that another client can go on with it."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from baton_git.core.records.base import Part, Record, Text
from baton_git.core.records.merge_rules import Either, Fields, Latest


class Step(Part):
    """Where in the chain the run is. Its fields belong together: a merge takes them from one side."""

    current_challenge: Text | None = Field(None, description="What the step is called.")
    chain_uri: Text | None = Field(None, description="The URI of the step.")
    step_index: Annotated[int, Field(ge=1, strict=True)] | None = Field(None, description="Its number, from 1.")


class Handover(Record):
    """One protocol run; its id is the `SESSION_ID`."""

    kind: ClassVar[str] = "handover"
    dated: ClassVar[str] = "updated_at"

    step: Step = Field(Step(), description="`current_challenge`, `chain_uri` and `step_index`.")
    state: Annotated[dict[str, Any], Fields(Part)] = Field({}, description="The partial state: every other key.")
    order: Annotated[tuple[Text, ...] | None, Either()] = Field(
        None, description="The keys in their order in the file, where it is not the usual one."
    )
    updated_at: Annotated[Text | None, Latest()] = Field(None, description="When it was last changed, ISO 8601.")
