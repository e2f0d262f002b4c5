"""PAIF's checkpoint: what an agent hands on from one session to the next.

The fields are those of PAIF's session protocol, with two additions of baton-git. `checkpoint_type` distinguishes the
periodic checkpoints of a session from the one at its end. `foreign` holds what is needed to export an imported file
with the same content.
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


def _check_fraction(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"must be a number from 0 to 1, not {value!r:.40}")
    return value


Fraction = Annotated[
    Any, AfterValidator(_check_fraction), WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})
]
"""A number from 0 to 1, kept as it was written: `1` does not become `1.0`."""
PointInTime = Annotated[Text, AfterValidator(_check_date), Field(json_schema_extra={"pattern": _DATE})]


class Metadata(Part):
    """The agent and the session of a checkpoint, and its times."""

    agent_id: Id = Field(description="The agent; also the name of the file's folder.")
    session_id: Id = Field(description="The session in which it was made.")
    started_at: PointInTime = Field(description="When that session began, ISO 8601.")
    ended_at: PointInTime = Field(description="When the checkpoint was made, ISO 8601.")
    duration_seconds: Whole = Field(0, description="Duration of the session up to then, in seconds.")
    checkpoint_version: Text = Field("1.0", description="Version of PAIF's format.")
    checkpoint_type: Literal["final", "periodic"] = Field(
        "final", description="Whether it was made at the end of a session or periodically."
    )


class Context(Part):
    """What the session was about."""

    current_focus: Text | None = Field(None, description="What the agent was working on.")
    active_project_ids: Texts = Field((), description="The projects the session worked on.")
    conversation_summary: Text = Field("", description="A summary of what happened.")
    pending_items: Texts = Field((), description="Unresolved items.")


class RecentMemories(Part):
    """Memories that the session made."""

    memory_ids: Texts = Field((), description="Their ids.")
    last_recall_query: Text | None = Field(None, description="The last search query.")


class DriftChecks(Part):
    """The number of drift checks of the agent's texts, by result."""

    passed: Whole = Field(0, description="Texts without a taboo phrase.")
    failed: Whole = Field(0, description="Texts with a taboo phrase.")


class NewBelief(Part):
    """A belief that the session formed."""

    subject: Id = Field(description="The subject of the belief.")
    confidence: Fraction = Field(description="Confidence, from 0 to 1.")


class NewSkill(Part):
    """A skill that the session acquired."""

    name: Id = Field(description="The skill.")
    level: Any = Field(None, description="Level of the skill; the protocol does not define a scale.")


class NewRelationship(Part):
    """A person or thing that the agent met in the session."""

    entity: Id = Field(description="The person or thing.")
    type: Text = Field(description="The kind of relationship.")


class IdentityUpdates(Part):
    """What the session changed in the agent's identity."""

    new_beliefs: tuple[NewBelief, ...] = Field((), description="New beliefs.")
    new_skills: tuple[NewSkill, ...] = Field((), description="New skills.")
    new_relationships: tuple[NewRelationship, ...] = Field((), description="New relationships.")
    drift_checks: DriftChecks = Field(DriftChecks(), description="Drift checks since the previous checkpoint.")


class WorkingMemory(Part):
    """Short-term content that does not become long-term memory."""

    scratchpad: Text = Field("", description="Partial code, draft text, intermediate results.")
    open_files: Texts = Field((), description="Paths of the files that were being edited.")
    context_stack: Texts = Field((), description="The task stack, outermost first.")


class Foreign(Part):
    """What is needed to export an imported file of PAIF with the same content."""

    file: Text | None = Field(None, description="The name of the file.")
    wrapped: bool = Field(False, strict=True, description="Whether the document was wrapped in a `session_checkpoint`.")
    also: dict[str, Any] = Field({}, description="Fields of the document whose names clash with fields of the record.")


class Checkpoint(Record):
    """One checkpoint of one agent, with the id `<agent>/<ended at>-<session>`. It never changes."""

    kind: ClassVar[str] = "checkpoint"

    metadata: Metadata = Field(description="The agent, the session and the times.")
    context: Context = Field(Context(), description="Focus, projects, summary and unresolved items.")
    recent_memories: RecentMemories = Field(RecentMemories(), description="Memories that the session created.")
    identity_updates: IdentityUpdates = Field(IdentityUpdates(), description="Changes in the agent's identity.")
    working_memory: WorkingMemory = Field(WorkingMemory(), description="Short-term content.")
    foreign: Foreign | None = Field(None, description="Only in imported checkpoints; not part of PAIF's document.")

    @model_validator(mode="after")
    def _check_agent(self) -> "Checkpoint":
        agent = self.id.partition("/")[0]
        if agent != self.metadata.agent_id:
            raise ValueError(f"metadata.agent_id is {self.metadata.agent_id!r}, but the file is that of {agent!r}")
        return self

    @property
    def ended(self) -> datetime:
        """The time at which the checkpoint was made."""
        return parse_time(self.metadata.ended_at)
