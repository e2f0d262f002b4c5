"""The verbs of PAIF's identities: set who an agent is, and show it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self

from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from baton_git.core.verb import ADDS, READS, SETTLES, Input, Option, Result, verb
from baton_git.namespace.results import Changed
from baton_git.namespace.workspace import Workspace
from baton_git.systems.paif.checkpoints import check_agent
from baton_git.systems.paif.identities import Held, check_text, check_words, init_identity, show_identity

HIDDEN = Option(hidden=True)
PLACES = {
    "purpose": ("purpose", "statement"), "domain": ("purpose", "domains"), "constraint": ("purpose", "constraints"),
    "value": ("values", "primary"), "secondary": ("values", "secondary"), "never": ("values", "non_negotiables"),
    "tone": ("voice", "tone"), "quirk": ("voice", "quirks"), "taboo": ("voice", "taboo_phrases"),
    "created_by": ("origin", "created_by"), "genesis": ("origin", "genesis_event"),
    "parent_agent": ("lineage", "parent_agent"), "custodian": ("lineage", "human_custodian"),
}  # fmt: skip
"""By field of the input, the part of the identity and its field."""


class InitIdentity(Input):
    """Who an agent is."""

    agent: str | None = Field(None, description="The agent.", examples=["zero"])
    purpose: str | None = Field(None, description="What the agent is for.")
    domain: list[str] = Field([], description="Where it works.")
    constraint: list[str] = Field([], description="What it keeps to.")
    value: str | None = Field(None, description="What matters most to it.")
    secondary: list[str] = Field([], description="A further value.")
    never: list[str] = Field([], description="What it never gives up.")
    tone: str | None = Field(None, description="How it speaks.")
    quirk: list[str] = Field([], description="What is typical of it.")
    taboo: list[str] = Field([], description="What it never says, instead of PAIF's own list.")
    created_by: str | None = Field(None, description="human:NAME or agent:NAME.")
    genesis: str | None = Field(None, description="What it was created for or at.")
    parent_agent: str | None = Field(None, description="The agent that it was made from.")
    custodian: str | None = Field(None, description="The person who answers for it.")
    document: dict[str, Any] | None = Field(
        None, description="PAIF's identity, or its immutable part alone; the others count more."
    )
    source: str = Field("", description="Where `document` comes from, for messages.")

    @model_validator(mode="after")
    def _check_said(self) -> Self:
        """What is immutable could not be mended: nothing in it may be empty."""
        parts = self.parts
        if not parts and self.document is None:
            raise ValueError("say who the agent is: {purpose}, or {document}")
        for name, value in parts.items():
            if any(not text.strip() for text in ([value] if isinstance(value, str) else value)):
                raise ValueError(f"{{{name}}} says nothing: leave it out, or say something")
        return self

    @property
    def parts(self) -> dict[str, Any]:
        """The fields of the identity that are given, by name."""
        return {name: value for name in PLACES if (value := getattr(self, name)) not in (None, [])}


class ShowIdentity(Input):
    """Whose identity to show."""

    agent: str | None = Field(None, description="The agent.", examples=["zero"])


class ShownIdentity(Result):
    """Who an agent is, and how it has grown."""

    model_config = ConfigDict(extra="allow")

    agent: str = Field(description="The agent.", examples=["zero"])
    immutable: dict[str, Any] | None = Field(description="What was set once; null where nobody has said it.")
    mutable: dict[str, Any] = Field(description="What has grown.")


class CheckIdentity(Input):
    """A text to hold against an identity."""

    agent: str | None = Field(None, description="The agent; PAIF's own phrases count unless given.", examples=["zero"])
    text: str = Field(description="The text.", examples=["How can I help you today?"])
    no_count: bool = Field(False, description="Do not count it.")


class CheckedIdentity(Result):
    """Whether a text drifts from an identity."""

    agent: str | None = Field(description="The agent; null where none is named.", examples=["zero"])
    drift: bool = Field(description="Whether it says what the agent never would.")
    categories: list[str] = Field(description="What kinds of drift.")
    phrases: list[str] = Field(description="The phrases that drift.")
    realignment: str | None = Field(description="What brings the agent back; null where it does not drift.")
    counted: bool = Field(description="Whether the result was counted.")

    _held: Held = PrivateAttr()

    @property
    def held(self) -> Held:
        """The drift behind the plain data, and why it was not counted."""
        return self._held

    @classmethod
    def of(cls, agent: str | None, held: Held) -> Self:
        """Return the result for a text that was held against an identity."""
        drift = held.drift
        result = cls(
            agent=agent,
            drift=bool(drift),
            categories=list(drift.categories),
            phrases=list(drift.phrases),
            realignment=held.prompt if drift else None,
            counted=held.written is not None,
        )
        result._held = held
        return result


@verb(
    "identity init",
    effect=SETTLES,
    options={
        "agent": HIDDEN, "document": Option(names=("--file",), hidden=True), "source": HIDDEN,
        "taboo": Option(metavar="PHRASE"), "created_by": Option(metavar="WHO"), "parent_agent": Option(metavar="NAME"),
        "custodian": Option(metavar="NAME"),
    },
    examples=(
        'baton identity init --agent zero --purpose "Keep the memory of the lab" --created-by human:Ada',
        "baton identity init --agent zero --file identity.yaml",
    ),
)  # fmt: skip
def init_agent_identity(ws: Workspace, now: datetime, asked: InitIdentity) -> Changed:
    """Set, once and for all, who an agent is: nobody can change it afterwards.

    Without any taboos the phrases that PAIF documents are taboo.

    Raises:
        InvalidArgument: no agent is named.
        InvalidDocument: a field does not fit, or it is the identity of another agent.
        NotAllowed: the agent has its identity already.
    """
    document = _merge(asked.document or {}, asked.parts)
    return init_identity(ws, now, check_agent(asked.agent), document, where=asked.source)


@verb(
    "identity show",
    effect=READS,
    options={"agent": HIDDEN},
    examples=("baton identity show --agent zero", "baton identity show --agent zero --json | jq .immutable.purpose"),
)
def show_agent_identity(ws: Workspace, now: datetime, asked: ShowIdentity) -> ShownIdentity:
    """Show who an agent is, and how it has grown.

    Raises:
        InvalidArgument: no agent is named.
        NotFound: nobody knows the agent.
    """
    agent = check_agent(asked.agent)
    data = show_identity(ws, agent).model_dump(mode="json", exclude={"id"})
    return ShownIdentity(agent=agent, **data)


@verb(
    "identity check",
    effect=ADDS,
    positional=("text",),
    options={"agent": HIDDEN},
    examples=('baton identity check --agent zero "How can I help you today?"',),
)
def check_agent_identity(ws: Workspace, now: datetime, asked: CheckIdentity) -> CheckedIdentity:
    """Hold a text against an agent's identity, which says what the agent never would.

    The result is counted, and goes with the agent's next checkpoint.

    Raises:
        InvalidArgument: there is no text.
        NotFound: nobody knows the agent.
    """
    if asked.agent is None:
        return CheckedIdentity.of(None, check_words(asked.text))
    return CheckedIdentity.of(asked.agent, check_text(ws, now, asked.agent, asked.text, count=not asked.no_count))


def _merge(document: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with the given fields in its immutable part."""
    inside = document.get("immutable", {}) if "immutable" in document else document
    if not given or not isinstance(inside, Mapping):
        return dict(document)
    parts = dict(inside)
    for name, value in given.items():
        part, field = PLACES[name]
        before = parts.get(part, {})
        if isinstance(before, Mapping):
            parts[part] = {**before, field: value}
    return {**document, "immutable": parts} if "immutable" in document else parts
