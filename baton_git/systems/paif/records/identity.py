"""PAIF's identity of an agent: a part that is set once, and one that grows with its sessions.

The fields are those of IDENTITY_SCHEMA.yaml 1.0, as far as they are known; `taboo_categories` and the place of
`drift_checks` are ours.
"""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from baton_git.core.records.base import Part, Record, Text, Texts, Whole
from baton_git.core.records.merge_rules import Counter, Either, Fields, Fixed, Keyed, Latest, RecordingRule


class Origin(Part):
    """Where the agent comes from."""

    created_at: Text | None = Field(None, description="When it was created, ISO 8601.")
    created_by: Text | None = Field(None, description="By whom: `human:Name` or `agent:name`.")
    genesis_event: Text | None = Field(None, description="What it was created for or at.")


class Purpose(Part):
    """What the agent is for."""

    statement: Text = Field("", description="In a sentence.")
    domains: Texts = Field((), description="Where it works.")
    constraints: Texts = Field((), description="What it keeps to.")


class Values(Part):
    """What matters to the agent."""

    primary: Any = Field(None, description="The first value, or the first values.")
    secondary: Texts = Field((), description="Further ones.")
    non_negotiables: Texts = Field((), description="What it never gives up.")


class Voice(Part):
    """How the agent speaks."""

    tone: Text | None = Field(None, description="Its tone.")
    quirks: Texts = Field((), description="What is typical of it.")
    taboo_phrases: Texts = Field((), description="What it never says.")
    taboo_categories: dict[str, Texts] = Field({}, description="The same by category, as in `Hedging`.")
    preferred_formats: Texts = Field((), description="How it likes to answer.")


class AgentLineage(Part):
    """From whom the agent descends, and who cares for it."""

    parent_agent: Text | None = Field(None, description="The agent that it was made from.")
    siblings: Texts = Field((), description="Agents of the same parent.")
    human_custodian: Text | None = Field(None, description="The person who answers for it.")


class Immutable(Part):
    """What is set once, when the identity is made."""

    origin: Origin = Field(Origin(), description="Where it comes from.")
    purpose: Purpose = Field(Purpose(), description="What it is for.")
    values: Values = Field(Values(), description="What matters to it.")
    voice: Voice = Field(Voice(), description="How it speaks.")
    lineage: AgentLineage = Field(AgentLineage(), description="From whom it descends.")


class DriftCounts(Part):
    """Drift checks that no checkpoint has taken along yet."""

    passed: Annotated[Whole, Counter()] = Field(0, description="Texts without a taboo phrase.")
    failed: Annotated[Whole, Counter()] = Field(0, description="Texts with one.")


class MutableState(Part):
    """How things stand."""

    current_focus: Annotated[Text | None, Either()] = Field(None, description="What the agent is at.")
    last_session_at: Annotated[Text | None, Latest()] = Field(None, description="When it was restored last, ISO 8601.")
    session_id: Annotated[Text | None, Either()] = Field(None, description="The session that it was restored for.")
    accumulated_experience: Annotated[Whole, Counter()] = Field(0, description="How often it was restored.")
    drift_checks: Annotated[DriftCounts, Fields(DriftCounts)] = Field(
        DriftCounts(), description="Since the last checkpoint."
    )


class Mutable(Part):
    """What grows with the sessions."""

    active_projects: Annotated[tuple[dict[str, Any], ...], Keyed("id")] = Field(
        (), description="What it works on: `id`, `name`, `started_at`, `status`, `description`."
    )
    beliefs: Annotated[tuple[dict[str, Any], ...], Keyed("subject")] = Field(
        (), description="What it holds true: `subject`, `confidence`, `formed_at`, `evidence_refs`."
    )
    relationships: Annotated[tuple[dict[str, Any], ...], Keyed("entity")] = Field(
        (), description="Whom it knows: `entity`, `type`."
    )
    skills: Annotated[tuple[dict[str, Any], ...], Keyed("name")] = Field(
        (), description="What it can do: `name`, `level`."
    )
    state: Annotated[MutableState, Fields(MutableState)] = Field(MutableState(), description="How things stand.")


class Identity(Record):
    """Who an agent is; its id is that of the agent."""

    kind: ClassVar[str] = "identity"
    recording = RecordingRule(begins="mutable.state.last_session_at", last="mutable.state.last_session_at")

    immutable: Annotated[Immutable | None, Fixed("origin.created_at")] = Field(
        None, description="Set once. Absent while nobody has said who the agent is."
    )
    mutable: Annotated[Mutable, Fields(Mutable)] = Field(Mutable(), description="What grows.")
