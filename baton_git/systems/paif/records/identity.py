"""PAIF's identity of an agent: an immutable part, and a mutable part that its sessions extend.

The fields are those of PAIF's IDENTITY_SCHEMA.yaml 1.0, as far as they are known. `taboo_categories`, and
`drift_checks` in the mutable state, are additions of baton-git.
"""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from baton_git.core.records.base import (
    Counter,
    Either,
    Fields,
    Fixed,
    Keyed,
    Latest,
    Part,
    Record,
    RecordingRule,
    Text,
    Texts,
    Whole,
)


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
