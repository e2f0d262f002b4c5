"""PAIF's records: checkpoints and identities."""

import re
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from baton_git.core.records.base import (
    Counter,
    Either,
    Fields,
    Fixed,
    Id,
    Keyed,
    Latest,
    Part,
    Record,
    RecordingRule,
    Text,
    Texts,
    Whole,
)
from baton_git.core.times import parse_time

# --- checkpoint: what an agent hands on from one session to the next
# The fields are those of PAIF's session protocol, with two additions of baton-git. `checkpoint_type` distinguishes the
# periodic checkpoints of a session from the one at its end. `foreign` holds what is needed to export an imported file
# with the same content.


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


# --- identity: an immutable part, and a mutable part that its sessions extend
# The fields are those of PAIF's IDENTITY_SCHEMA.yaml 1.0, as far as they are known. `taboo_categories`, and
# `drift_checks` in the mutable state, are additions of baton-git.


class Origin(Part):
    """The origin of the agent."""

    created_at: Text | None = Field(None, description="When it was created, ISO 8601.")
    created_by: Text | None = Field(None, description="Its creator: `human:Name` or `agent:name`.")
    genesis_event: Text | None = Field(None, description="The occasion of its creation.")


class Purpose(Part):
    """The purpose of the agent."""

    statement: Text = Field("", description="The purpose in one sentence.")
    domains: Texts = Field((), description="The domains it works in.")
    constraints: Texts = Field((), description="Constraints it keeps to.")


class Values(Part):
    """The values of the agent."""

    primary: Any = Field(None, description="The most important value or values.")
    secondary: Texts = Field((), description="Further values.")
    non_negotiables: Texts = Field((), description="Values it never gives up.")


class Voice(Part):
    """How the agent speaks."""

    tone: Text | None = Field(None, description="Its tone.")
    quirks: Texts = Field((), description="Typical traits.")
    taboo_phrases: Texts = Field((), description="Phrases it never says.")
    taboo_categories: dict[str, Texts] = Field({}, description="Phrases it never says, by category, such as `Hedging`.")
    preferred_formats: Texts = Field((), description="Preferred ways to answer.")


class AgentLineage(Part):
    """The agents that this one descends from, and the person responsible for it."""

    parent_agent: Text | None = Field(None, description="The agent it was derived from.")
    siblings: Texts = Field((), description="Agents of the same parent.")
    human_custodian: Text | None = Field(None, description="The person responsible for it.")


class Immutable(Part):
    """The part of an identity that is set once."""

    origin: Origin = Field(Origin(), description="Its origin.")
    purpose: Purpose = Field(Purpose(), description="Its purpose.")
    values: Values = Field(Values(), description="Its values.")
    voice: Voice = Field(Voice(), description="Its voice.")
    lineage: AgentLineage = Field(AgentLineage(), description="Its lineage.")


class DriftCounts(Part):
    """Drift checks that no checkpoint includes yet."""

    passed: Annotated[Whole, Counter()] = Field(0, description="Texts without a taboo phrase.")
    failed: Annotated[Whole, Counter()] = Field(0, description="Texts with a taboo phrase.")


class MutableState(Part):
    """The current state of the agent."""

    current_focus: Annotated[Text | None, Either()] = Field(None, description="What the agent is working on.")
    last_session_at: Annotated[Text | None, Latest()] = Field(None, description="Time of the last restore, ISO 8601.")
    session_id: Annotated[Text | None, Either()] = Field(None, description="The session of the last restore.")
    accumulated_experience: Annotated[Whole, Counter()] = Field(0, description="Number of restores.")
    drift_checks: Annotated[DriftCounts, Fields(DriftCounts)] = Field(
        DriftCounts(), description="Drift checks since the last checkpoint."
    )


class Mutable(Part):
    """The part of an identity that the agent's sessions extend."""

    active_projects: Annotated[tuple[dict[str, Any], ...], Keyed("id")] = Field(
        (), description="Projects: `id`, `name`, `started_at`, `status`, `description`."
    )
    beliefs: Annotated[tuple[dict[str, Any], ...], Keyed("subject")] = Field(
        (), description="Beliefs: `subject`, `confidence`, `formed_at`, `evidence_refs`."
    )
    relationships: Annotated[tuple[dict[str, Any], ...], Keyed("entity")] = Field(
        (), description="Relationships: `entity`, `type`."
    )
    skills: Annotated[tuple[dict[str, Any], ...], Keyed("name")] = Field((), description="Skills: `name`, `level`.")
    state: Annotated[MutableState, Fields(MutableState)] = Field(MutableState(), description="The current state.")


class Identity(Record):
    """The identity of an agent; its id is the agent's id."""

    kind: ClassVar[str] = "identity"
    recording = RecordingRule(begins="mutable.state.last_session_at", last="mutable.state.last_session_at")

    immutable: Annotated[Immutable | None, Fixed("origin.created_at")] = Field(
        None, description="The immutable part; absent until it is set."
    )
    mutable: Annotated[Mutable, Fields(Mutable)] = Field(Mutable(), description="The mutable part.")
