"""PAIF's checkpoint: what an agent takes along from one session to the next.

The fields are those of the PAIF session protocol; `checkpoint_type` is ours, since the protocol has checkpoints
at the end of a session and periodic ones (`checkpoint_interval_minutes`) and does not tell them apart, and so is
`foreign`, which lets a file of PAIF's come back as it was.
"""

import re
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from baton_git.core.records.base import Id, Part, Record, Text, Texts, Whole
from baton_git.core.times import parse_time

_DATE = r"^\d{4}-\d{2}-\d{2}([T ]|$)"


def _check_date(text: str) -> str:
    parse_time(text)
    if not re.match(_DATE, text):
        raise ValueError(f"is no ISO 8601 point in time: {text[:40]!r}")
    return text


def _fraction(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"must be a number from 0 to 1, not {value!r:.40}")
    return value


Fraction = Annotated[Any, AfterValidator(_fraction), WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})]
"""As it was written: `1` does not become `1.0`."""
PointInTime = Annotated[Text, AfterValidator(_check_date), Field(json_schema_extra={"pattern": _DATE})]


class Metadata(Part):
    """Whose checkpoint it is, and of which session."""

    agent_id: Id = Field(description="The agent; the folder of the file has its name.")
    session_id: Id = Field(description="The session that it was made in.")
    started_at: PointInTime = Field(description="When that session began, ISO 8601.")
    ended_at: PointInTime = Field(description="When the checkpoint was made, ISO 8601.")
    duration_seconds: Whole = Field(0, description="How long the session had lasted.")
    checkpoint_version: Text = Field("1.0", description="Version of PAIF's format.")
    checkpoint_type: Literal["final", "periodic"] = Field(
        "final", description="At the end of a session, or on the way."
    )


class Context(Part):
    """What the session was about."""

    current_focus: Text | None = Field(None, description="What the agent was at.")
    active_project_ids: Texts = Field((), description="The projects that were worked on.")
    conversation_summary: Text = Field("", description="What happened, in short.")
    pending_items: Texts = Field((), description="What is left unresolved.")


class RecentMemories(Part):
    """Memories that the session made."""

    memory_ids: Texts = Field((), description="Their ids.")
    last_recall_query: Text | None = Field(None, description="What was searched for last.")


class DriftChecks(Part):
    """How often the agent's words were held against its identity."""

    passed: Whole = Field(0, description="Texts without a taboo phrase.")
    failed: Whole = Field(0, description="Texts with one.")


class NewBelief(Part):
    """A belief that the session formed."""

    subject: Id = Field(description="What it is about.")
    confidence: Fraction = Field(description="From 0 to 1.")


class NewSkill(Part):
    """A skill that the session acquired."""

    name: Id = Field(description="The skill.")
    level: Any = Field(None, description="How well; the protocol leaves open in which terms.")


class NewRelationship(Part):
    """Somebody, or something, that the session came to know."""

    entity: Id = Field(description="Who or what.")
    type: Text = Field(description="In which relation.")


class IdentityUpdates(Part):
    """What changed in the agent itself."""

    new_beliefs: tuple[NewBelief, ...] = Field((), description="Beliefs it formed.")
    new_skills: tuple[NewSkill, ...] = Field((), description="Skills it acquired.")
    new_relationships: tuple[NewRelationship, ...] = Field((), description="Relationships it entered.")
    drift_checks: DriftChecks = Field(DriftChecks(), description="Drift checks since the checkpoint before.")


class WorkingMemory(Part):
    """What is at hand and will not become long-term memory."""

    scratchpad: Text = Field("", description="Partial code, draft text, intermediate results.")
    open_files: Texts = Field((), description="Paths of the files that were being edited.")
    context_stack: Texts = Field((), description="What the agent was doing, the outermost first.")


class Foreign(Part):
    """What it takes to give a file of PAIF's back as it came."""

    file: Text | None = Field(None, description="The name of the file.")
    wrapped: bool = Field(False, strict=True, description="Whether the document stood in a `session_checkpoint`.")
    also: dict[str, Any] = Field({}, description="Fields of the document that are called like fields of ours.")


class Checkpoint(Record):
    """One checkpoint of one agent. Its id is `<agent>/<ended at>-<session>`; it is made once and never changed."""

    kind: ClassVar[str] = "checkpoint"

    metadata: Metadata = Field(description="Whose, and of which session.")
    context: Context = Field(Context(), description="What it was about.")
    recent_memories: RecentMemories = Field(RecentMemories(), description="Memories that it made.")
    identity_updates: IdentityUpdates = Field(IdentityUpdates(), description="What changed in the agent.")
    working_memory: WorkingMemory = Field(WorkingMemory(), description="What was at hand.")
    foreign: Foreign | None = Field(None, description="Only of imported ones; it is no part of PAIF's document.")

    @model_validator(mode="after")
    def _is_that_agents(self) -> "Checkpoint":
        agent = self.id.partition("/")[0]
        if agent != self.metadata.agent_id:
            raise ValueError(f"metadata.agent_id is {self.metadata.agent_id!r}, but the file is that of {agent!r}")
        return self

    @property
    def ended(self) -> datetime:
        """When it was made, as a point in time."""
        return parse_time(self.metadata.ended_at)
