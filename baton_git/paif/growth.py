"""How an identity comes to be, and grows: with each restore, each checkpoint and each drift check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from baton_git.errors import Fault, InvalidDocument, NotAllowed
from baton_git.gravity import CATEGORIES
from baton_git.records.base import parse
from baton_git.records.checkpoint import Checkpoint
from baton_git.records.identity import Identity, Immutable
from baton_git.state import Key, State
from baton_git.times import iso_ms

Table = Mapping[str, Any]


def identity_of(state: State, agent: str) -> Identity | None:
    """The agent's identity; None when it has none.

    Raises:
        Corrupt: there is one, but it cannot be read.
    """
    return state.get(Identity, agent) if state.entry(Key(Identity.kind, agent)) is not None else None


def nobody(agent: str) -> Identity:
    """The identity of an agent of which nobody has said who it is."""
    return parse(Identity, {"id": agent})


def restored(identity: Identity, now: datetime) -> Identity:
    """After a session has begun: one more of experience."""
    experience = identity.mutable.state.accumulated_experience + 1
    return _with_state(identity, last_session_at=iso_ms(now), accumulated_experience=experience)


def checked(identity: Identity, *, failed: bool) -> Identity:
    """After one more drift check."""
    counts = identity.mutable.state.drift_checks
    name = "failed" if failed else "passed"
    return _with_state(identity, drift_checks={**counts.given(), name: getattr(counts, name) + 1})


def with_counts(checkpoint: Checkpoint, identity: Identity) -> Checkpoint:
    """The checkpoint with the drift checks that the identity has counted since the one before."""
    since = identity.mutable.state.drift_checks
    counts = checkpoint.identity_updates.drift_checks
    both = {**counts.given(), "passed": counts.passed + since.passed, "failed": counts.failed + since.failed}
    return checkpoint.replace(identity_updates={**checkpoint.identity_updates.given(), "drift_checks": both})


def grown(identity: Identity, checkpoint: Checkpoint) -> Identity:
    """After a checkpoint: what it says is new, what the agent is at, and the drift checks it took along."""
    updates = checkpoint.identity_updates
    mutable = identity.mutable.given()
    formed = {"formed_at": checkpoint.metadata.ended_at}
    for field, key, found, more in (
        ("beliefs", "subject", updates.new_beliefs, formed),
        ("skills", "name", updates.new_skills, {}),
        ("relationships", "entity", updates.new_relationships, {}),
    ):
        if found:
            mutable[field] = _known_by(key, mutable.get(field, []), [one.given() for one in found], more)
    after = identity.replace(mutable=mutable) if mutable != identity.mutable.given() else identity
    changes: dict[str, Any] = {}
    if checkpoint.context.current_focus is not None:
        changes["current_focus"] = checkpoint.context.current_focus
    counts = after.mutable.state.drift_checks
    if counts.passed or counts.failed:
        changes["drift_checks"] = {**counts.given(), "passed": 0, "failed": 0}
    return _with_state(after, **changes) if changes else after


def _known_by(key: str, old: Iterable[Table], new: Iterable[Table], more: Table) -> list[dict[str, Any]]:
    """The old entries with the new ones; one that is known by the same `key` takes on what is new about it."""
    entries = [dict(one) for one in old]
    for one in new:
        known = [entry for entry in entries if entry.get(key) == one[key]]
        for entry in known:
            entry |= one
        entries += [] if known else [{**one, **more}]
    return entries


def _with_state(identity: Identity, **changes: Any) -> Identity:
    mutable = identity.mutable.given()
    return identity.replace(mutable={**mutable, "state": {**mutable.get("state", {}), **changes}})


# --- the beginning


def born(identity: Identity | None, agent: str, document: Table, now: datetime, *, where: str = "") -> Identity:
    """The identity that `document` (PAIF's identity file, or its immutable part alone) makes of the agent.

    What has grown already stays. `created_at`, and the taboos that PAIF documents, are filled in.

    Raises:
        InvalidDocument: a field does not fit, nothing is said, or it is the identity of another agent.
        NotAllowed: the immutable part is there already.
    """
    if identity is not None and identity.immutable is not None:
        raise NotAllowed(
            f"agent {agent} has its identity already, and what is immutable in it never changes",
            hint=f"baton identity show --agent {agent}",
        )
    data = _parted(document, agent, where)
    immutable = _filled(parse(Immutable, data.pop("immutable"), where=where, at="immutable"), now)
    said = parse(Identity, {**data, "id": agent, "immutable": immutable}, where=where)
    if identity is None:
        return said
    mutable, before = said.mutable.given(), identity.mutable.given()
    state = {**mutable.get("state", {}), **before.get("state", {})}
    return said.replace(mutable={**mutable, **before, **({"state": state} if state else {})})


def _parted(document: Table, agent: str, where: str) -> dict[str, Any]:
    """The document as one with an immutable part, and without the name of the agent."""
    data = dict(document)
    for name in ("id", "agent_id"):
        if data.pop(name, agent) != agent:
            fault = Fault(name, f"is {document[name]!r}, but this is the identity of {agent!r}")
            raise InvalidDocument([fault], where=where)
    if "immutable" not in data:
        data["immutable"] = {name: data.pop(name) for name in Immutable.model_fields if name in data}
    if not isinstance(data["immutable"], Mapping) or not any(data["immutable"].values()):
        raise InvalidDocument(
            [Fault("immutable", "says nothing")], where=where, hint="say who the agent is: its purpose, values, voice"
        )
    return data


def _filled(immutable: Immutable, now: datetime) -> dict[str, Any]:
    data = immutable.given()
    if immutable.origin.created_at is None:
        data["origin"] = {**data.get("origin", {}), "created_at": iso_ms(now)}
    if not (immutable.voice.taboo_phrases or immutable.voice.taboo_categories):
        categories = {name: list(phrases) for name, phrases in CATEGORIES.items()}
        data["voice"] = {**data.get("voice", {}), "taboo_categories": categories}
    return data
