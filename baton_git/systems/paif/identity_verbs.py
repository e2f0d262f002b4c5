"""The verbs of PAIF's identities: create one, show it, check a text against it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import PurePath
from typing import Any, NamedTuple, Self

from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from baton_git.core.errors import BatonError, Fault, InvalidDocument
from baton_git.core.output import count_times, flat
from baton_git.core.records.base import parse
from baton_git.core.state import State
from baton_git.core.verb import ADDS, READS, SETTLES, FileInput, Input, Option, Result, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.results import Changed
from baton_git.namespace.revision import ProposedState, Revision, WriteResult
from baton_git.namespace.workspace import Workspace, check_not_empty
from baton_git.systems.paif import checkpoint_store
from baton_git.systems.paif.checkpoints import act_as, check_known
from baton_git.systems.paif.identity import (
    Drift,
    check_drift,
    find_identity,
    make_empty_identity,
    make_identity,
    make_realignment_prompt,
    record_check,
)
from baton_git.systems.paif.record import Identity
from baton_git.systems.paif.settings_file import require_agent


class DriftResult(NamedTuple):
    """The result of a drift check.

    Attributes:
        prompt: PAIF's realignment prompt for the agent, whether or not there is drift.
        written: the write that counted the check; None if it was not counted.
        uncounted: why the check could not be counted.
    """

    drift: Drift
    prompt: str
    written: WriteResult | None = None
    uncounted: BatonError | OSError | None = None


def init_identity(ws: Workspace, now: datetime, agent: str, document: Mapping[str, Any], *, where: str = "") -> Changed:
    """Set the immutable part of an agent's identity.

    Raises:
        InvalidDocument: a field is not valid, or the document is the identity of another agent.
        NotAllowed: the agent already has an identity.
        InvalidName: the agent's name is not valid.
    """
    ws = act_as(ws, agent)

    def change(tip: Revision) -> State:
        return tip.state.put(make_identity(find_identity(tip.state, agent), agent, document, now, where=where))

    return Changed.of(ws.update("identity-init", now, change), id=agent)


def show_identity(ws: Workspace, agent: str) -> Identity:
    """Return the identity of an agent; an empty one for an agent that has only checkpoints.

    Raises:
        NotFound: the agent has no identity and no checkpoint.
    """
    agent = checkpoint_store.parse_agent(agent)
    state = ws.branch.read().state
    check_known(state, agent)
    return find_identity(state, agent) or make_empty_identity(agent)


def check_text(ws: Workspace, now: datetime, agent: str, text: str, *, count: bool = True) -> DriftResult:
    """Check whether `text` contains phrases that the agent's identity rules out.

    With `count`, the result is counted in the identity, for the next checkpoint. If it cannot be counted, it is
    returned nevertheless, with the reason.

    Raises:
        InvalidArgument: `text` is blank.
        NotFound: the agent has no identity and no checkpoint.
    """
    check_not_empty(text, "text")
    identity = show_identity(ws, agent)
    result = DriftResult(check_drift(text, identity), make_realignment_prompt(identity))
    if not count:
        return result

    def change(tip: Revision) -> ProposedState:
        current = find_identity(tip.state, agent) or make_empty_identity(agent)
        state = tip.state.put(record_check(current, failed=bool(result.drift)))
        return ProposedState(state, note=f"drift check of {agent}")

    try:
        return result._replace(written=act_as(ws, agent).update("identity-check", now, change))
    except (BatonError, OSError) as error:
        return result._replace(uncounted=error)


def check_words(text: str) -> DriftResult:
    """Check `text` against the phrases that PAIF documents as drift, without an agent.

    Raises:
        InvalidArgument: `text` is blank.
    """
    check_not_empty(text, "text")
    return DriftResult(check_drift(text, None), make_realignment_prompt(None))


HIDDEN = Option(hidden=True)
IDENTITY_FIELDS = {
    "purpose": ("purpose", "statement"), "domain": ("purpose", "domains"), "constraint": ("purpose", "constraints"),
    "value": ("values", "primary"), "secondary": ("values", "secondary"), "never": ("values", "non_negotiables"),
    "tone": ("voice", "tone"), "quirk": ("voice", "quirks"), "taboo": ("voice", "taboo_phrases"),
    "created_by": ("origin", "created_by"), "genesis": ("origin", "genesis_event"),
    "parent_agent": ("lineage", "parent_agent"), "custodian": ("lineage", "human_custodian"),
}  # fmt: skip
"""Maps each field of the input to a part of the identity, and to a field of that part."""


class InitIdentity(Input):
    """The immutable part of an agent's identity."""

    agent: str | None = Field(None, description="The agent.", examples=["zero"])
    purpose: str | None = Field(None, description="The purpose of the agent.")
    domain: list[str] = Field([], description="A domain it works in.")
    constraint: list[str] = Field([], description="A constraint it keeps to.")
    value: str | None = Field(None, description="Its most important value.")
    secondary: list[str] = Field([], description="A further value.")
    never: list[str] = Field([], description="Something it never gives up.")
    tone: str | None = Field(None, description="How it speaks.")
    quirk: list[str] = Field([], description="A typical trait of its voice.")
    taboo: list[str] = Field([], description="A phrase it never says. Default: PAIF's own list.")
    created_by: str | None = Field(None, description="Who created it: human:NAME or agent:NAME.")
    genesis: str | None = Field(None, description="The occasion of its creation.")
    parent_agent: str | None = Field(None, description="The agent it was derived from.")
    custodian: str | None = Field(None, description="The person responsible for it.")
    document: dict[str, Any] | None = Field(
        None, description="PAIF's identity or its immutable part; other fields override it."
    )
    source: str = Field("", description="Source of `document`, for messages.")

    @model_validator(mode="after")
    def _check_given(self) -> Self:
        """Refuse empty values: an immutable field cannot be corrected later."""
        parts = self.parts
        if not parts and self.document is None:
            raise ValueError("describe the agent: {purpose}, or {document}")
        for name, value in parts.items():
            if any(not text.strip() for text in ([value] if isinstance(value, str) else value)):
                raise ValueError(f"{{{name}}} is empty: leave it out, or give a text")
        return self

    @property
    def parts(self) -> dict[str, Any]:
        """The fields of the identity that are given, by name."""
        return {name: value for name in IDENTITY_FIELDS if (value := getattr(self, name)) not in (None, [])}


class ShowIdentity(Input):
    """The agent whose identity to show."""

    agent: str | None = Field(None, description="The agent.", examples=["zero"])


class ShownIdentity(Result):
    """The identity of an agent."""

    model_config = ConfigDict(extra="allow")

    agent: str = Field(description="The agent.", examples=["zero"])
    immutable: dict[str, Any] | None = Field(description="The immutable part; null if it was never set.")
    mutable: dict[str, Any] = Field(description="The mutable part.")

    def show(self, reader: Reader) -> ResultView:
        return ResultView("\n".join(_describe_identity(self.as_data())))


def _describe_identity(data: dict[str, Any]) -> list[str]:
    from baton_git.systems.paif import restore_text  # the other verbs of identities do not need it

    identity = parse(Identity, {"id": data["agent"], **{name: data[name] for name in data if name != "agent"}})
    state = identity.mutable.state
    lines = [identity.id]
    for part in restore_text.list_sections(identity, None):
        lines += [f"{part.title}:", *(f"  {line}" for line in part.lines)] if part.lines else []
    if identity.immutable is None:
        lines.append("the agent has no identity yet; to set it: baton identity init")
    last = f", last {flat(state.last_session_at)}" if state.last_session_at else ""
    lines.append(f"restored {count_times(state.accumulated_experience)}{last}")
    counts = state.drift_checks
    lines.append(f"drift checks since the last checkpoint: {counts.passed} passed, {counts.failed} failed")
    return lines


class CheckIdentity(Input):
    """The text to check against an identity."""

    agent: str | None = Field(None, description="The agent.", examples=["zero"])
    text: str = Field(description="The text.", examples=["How can I help you today?"])
    no_count: bool = Field(False, description="Do not count the check.")


class CheckedIdentity(Result):
    """The result of a drift check."""

    agent: str | None = Field(description="The agent; null if none was named.", examples=["zero"])
    drift: bool = Field(description="Whether the text contains a taboo phrase.")
    categories: list[str] = Field(description="The categories of the phrases.")
    phrases: list[str] = Field(description="The taboo phrases in the text.")
    realignment: str | None = Field(description="PAIF's realignment prompt; null if there is no drift.")
    counted: bool = Field(description="Whether the check was counted.")

    _check: DriftResult = PrivateAttr()

    @property
    def check(self) -> DriftResult:
        """The result before its conversion to plain data, with the reason why it could not be counted."""
        return self._check

    @classmethod
    def of(cls, agent: str | None, check: DriftResult) -> Self:
        """Return the verb's result for a drift check."""
        drift = check.drift
        result = cls(
            agent=agent,
            drift=bool(drift),
            categories=list(drift.categories),
            phrases=list(drift.phrases),
            realignment=check.prompt if drift else None,
            counted=check.written is not None,
        )
        result._check = check
        return result

    def show(self, reader: Reader) -> ResultView:
        check = self.check
        phrases = [f"  {flat(phrase)}" for phrase in self.phrases]
        lines = [f"⚠️ {check.drift.alert}", *phrases, "", check.prompt] if self.drift else ["no drift"]
        if check.uncounted is not None:
            note = f"baton: the result was not counted: {flat(str(check.uncounted))}"
            return ResultView("\n".join(lines), [note], "unknown")
        return ResultView("\n".join(lines), status="failed" if self.drift else "ok")


def _parse_identity(text: str, file: str) -> dict[str, Any]:
    """Return the fields for the table in a file, parsed as the suffix of its name says, or else as JSON, TOML or YAML.

    Raises:
        InvalidDocument: the file cannot be parsed, or is not a table.
    """
    loaders = _loaders()
    suffix = PurePath(file).suffix.lower()
    for name in [suffix] if suffix in loaders else [".json", ".toml", ".yaml"]:
        try:
            data = loaders[name](text, file)
        except InvalidDocument:
            if name in (suffix, ".yaml"):
                raise
            continue
        if isinstance(data, dict):
            return {"document": data, "source": file}
    raise InvalidDocument([Fault("", "an identity must be a table")], where=file)


def _loaders() -> dict[str, Any]:
    from baton_git.core.codecs import json, toml, yaml

    def of_yaml(text: str, file: str) -> Any:
        return yaml.loads(text, where=file)

    return {
        ".json": lambda text, file: json.loads(text, where=file),
        ".toml": lambda text, file: toml.loads(text.encode(), where=file),
        ".yaml": of_yaml,
        ".yml": of_yaml,
    }


@verb(
    "identity init",
    usage=(
        "The file has `immutable:` and `mutable:`, like PAIF's identity.yaml, or only the fields of the immutable "
        "part. Options override its fields."
    ),
    file=FileInput(_parse_identity, "PAIF's identity as YAML, JSON or TOML; - reads standard input."),
    effect=SETTLES,
    machine=True,
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
def init_agent_identity(ws: Workspace, now: datetime, verb_input: InitIdentity) -> Changed:
    """Set the immutable part of an agent's identity. It cannot be changed afterwards.

    If no taboos are given, the phrases that PAIF documents are used.

    Raises:
        InvalidArgument: no agent is named.
        InvalidDocument: a field is not valid, or the document is the identity of another agent.
        NotAllowed: the agent already has an identity.
    """
    document = _merge_parts(verb_input.document or {}, verb_input.parts)
    return init_identity(ws, now, require_agent(ws, verb_input.agent), document, where=verb_input.source)


@verb(
    "identity show",
    effect=READS,
    machine=True,
    options={"agent": HIDDEN},
    examples=("baton identity show --agent zero", "baton identity show --agent zero --json | jq .immutable.purpose"),
)
def show_agent_identity(ws: Workspace, now: datetime, verb_input: ShowIdentity) -> ShownIdentity:
    """Show an agent's identity: the immutable part, and what its sessions added.

    Raises:
        InvalidArgument: no agent is named.
        NotFound: the agent has no identity and no checkpoint.
    """
    agent = require_agent(ws, verb_input.agent)
    data = show_identity(ws, agent).model_dump(mode="json", exclude={"id"})
    return ShownIdentity(**{**data, "agent": agent})  # a record can have a field of that name


@verb(
    "identity check",
    usage=(
        "If TEXT is -, it is read from standard input.\n\n"
        "Exit status: 1 if the text drifts, 5 if it could not be checked, or the result could not be counted."
    ),
    effect=ADDS,
    positional=("text",),
    machine=True,
    options={"agent": HIDDEN, "text": Option(reads_stdin=True)},
    examples=('baton identity check --agent zero "How can I help you today?"',),
)
def check_agent_identity(ws: Workspace, now: datetime, verb_input: CheckIdentity) -> CheckedIdentity:
    """Check a text for phrases that an agent's identity rules out.

    The result is counted and added to the agent's next checkpoint.

    Raises:
        InvalidArgument: there is no text, or no agent is named.
        NotFound: the agent has no identity and no checkpoint.
    """
    agent = require_agent(ws, verb_input.agent)
    return CheckedIdentity.of(agent, check_text(ws, now, agent, verb_input.text, count=not verb_input.no_count))


def _merge_parts(document: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with the given fields in its immutable part."""
    inside = document.get("immutable", {}) if "immutable" in document else document
    if not given or not isinstance(inside, Mapping):
        return dict(document)
    parts = dict(inside)
    for name, value in given.items():
        part, field = IDENTITY_FIELDS[name]
        before = parts.get(part, {})
        if isinstance(before, Mapping):
            parts[part] = {**before, field: value}
    return {**document, "immutable": parts} if "immutable" in document else parts
