"""An agent's identity: how it is made and updated, and how texts are checked against its taboos."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from baton_git.core import layout
from baton_git.core.codecs import json
from baton_git.core.errors import Fault, InvalidDocument, LimitExceeded, NotAllowed, shorten
from baton_git.core.output import one_line
from baton_git.core.records.base import parse
from baton_git.core.state import Key, State
from baton_git.core.times import iso_ms
from baton_git.systems.paif.record import Checkpoint, Identity, Immutable

# --- the drift check
# The phrases are those of the agent's identity or, if it has none, those of the four categories that PAIF documents.
# Letter case, quote style and the width of spaces are ignored, and only whole words match.


CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "Subservience": ("How can I help", "at your service"),
    "Over-apology": ("I apologize", "sorry for the confusion"),
    # "today!" is not listed, but PAIF's own example finds fake enthusiasm in "How can I help you today!".
    "Fake enthusiasm": ("excited to", "thrilled", "today!"),
    "Hedging": ("I think", "maybe", "perhaps"),
}
OTHERS = "Taboo phrases"
"""The category of taboo phrases that belong to no other category."""

_QUOTES = {ord(sign): "'" for sign in "‘’‚‛′"} | {ord(sign): '"' for sign in "“”„‟″«»"}


class Drift(NamedTuple):
    """The taboo phrases that a text contains, and their categories; empty if it contains none."""

    categories: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.phrases)

    @property
    def alert(self) -> str:
        """`DRIFT DETECTED (subservience, fake enthusiasm)`, on one line."""
        return _flatten(f"DRIFT DETECTED ({', '.join(category.lower() for category in self.categories)})")


def list_taboos(identity: Identity | None) -> Mapping[str, tuple[str, ...]]:
    """Return the taboo phrases of an identity by category; the phrases that PAIF documents if it has none."""
    voice = identity.immutable.voice if identity is not None and identity.immutable is not None else None
    if voice is None or not (voice.taboo_categories or voice.taboo_phrases):
        return CATEGORIES
    listed = {phrase for phrases in voice.taboo_categories.values() for phrase in phrases}
    others: dict[str, tuple[str, ...]] = {}
    for phrase in voice.taboo_phrases:
        if phrase not in listed:
            name = _find_category(phrase)
            others[name] = (*others.get(name, ()), phrase)
    own = dict(voice.taboo_categories)
    return own | {name: (*own.get(name, ()), *phrases) for name, phrases in others.items()}


def _find_category(phrase: str) -> str:
    """Return the category in which PAIF documents a phrase, or `OTHERS`."""
    plain = _normalize(phrase)
    return next((name for name, phrases in CATEGORIES.items() if plain in map(_normalize, phrases)), OTHERS)


def check_drift(text: str, identity: Identity | None) -> Drift:
    """Check `text` against the identity's taboos; the result names the phrases as the identity spells them."""
    plain = _normalize(text)
    matches = {
        name: [phrase for phrase in phrases if (pattern := _compile_phrase(phrase)) and pattern.search(plain)]
        for name, phrases in list_taboos(identity).items()
    }
    categories = tuple(name for name, phrases in matches.items() if phrases)
    return Drift(categories, tuple(phrase for name in categories for phrase in matches[name]))


def _normalize(text: str) -> str:
    return unicodedata.normalize("NFKC", text.translate(_QUOTES)).casefold()


@cache
def _compile_phrase(phrase: str) -> re.Pattern[str] | None:
    """Return the pattern of a phrase; None for a blank phrase."""
    words = _normalize(phrase).split()
    if not words:
        return None
    before = r"(?<!\w)" if words[0][0].isalnum() else ""
    after = r"(?!\w)" if words[-1][-1].isalnum() else ""
    return re.compile(before + r"\s+".join(map(re.escape, words)) + after)


def make_realignment_prompt(identity: Identity | None) -> str:
    """Return PAIF's realignment prompt, with one line for each part of the identity."""
    immutable = (identity.immutable if identity is not None else None) or Immutable()
    lines = [f"PURPOSE: {immutable.purpose.statement}"] if immutable.purpose.statement else []
    values = [*list_texts(immutable.values.primary), *immutable.values.secondary]
    lines += [f"VALUES: {', '.join(values)}"] if values else []
    lines += [f"VOICE: {immutable.voice.tone}"] if immutable.voice.tone else []
    remember = " Remember:" if lines else ""
    head = ["GRAVITY CHECK TRIGGERED", f"You are drifting from your identity.{remember}"]
    return "\n".join([*head, *map(_flatten, lines)])


def _flatten(text: str) -> str:
    return one_line(text, len(text))


def list_texts(value: Any) -> list[str]:
    """Return the texts in a value as a list. PAIF does not specify whether `values.primary` is one text or several."""
    if value is None or value == "":
        return []
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [str(value)]
    if isinstance(value, Mapping):
        return [f"{name}: {item}" for name, item in value.items()]
    return [str(item) for item in value]


# --- updates


Table = Mapping[str, Any]

KNOWN = 200
"""Maximum number of entries in each list of an identity; older entries are dropped."""
FOCUS = 4000
"""Maximum length of the focus in an identity, in characters. The checkpoint keeps the whole text."""
_LISTS = ("beliefs", "skills", "relationships", "active_projects")
_ROOM = layout.MAX_RECORD_BYTES - 16 * 1024
"""Maximum size of an identity in bytes, with room for the updates of restores and drift checks."""


def find_identity(state: State, agent: str) -> Identity | None:
    """Return the agent's identity; None if it has none.

    Raises:
        Corrupt: the identity cannot be read.
    """
    return state.get(Identity, agent) if state.entry(Key(Identity.kind, agent)) is not None else None


def make_empty_identity(agent: str) -> Identity:
    """Return an identity of the agent without an immutable part."""
    return parse(Identity, {"id": agent})


def record_restore(identity: Identity, now: datetime, session: str) -> Identity:
    """Return the identity after a restore: with the time and id of the session, and its session count raised by one."""
    experience = identity.mutable.state.accumulated_experience + 1
    begun = {"last_session_at": iso_ms(now), "session_id": session}
    return _update_state(identity, **begun, accumulated_experience=experience)


def record_check(identity: Identity, *, failed: bool) -> Identity:
    """Return the identity with one more drift check counted."""
    counts = identity.mutable.state.drift_checks
    name = "failed" if failed else "passed"
    return _update_state(identity, drift_checks={**counts.as_data(), name: getattr(counts, name) + 1})


def add_drift_counts(checkpoint: Checkpoint, identity: Identity) -> Checkpoint:
    """Return the checkpoint with the drift checks that the identity has counted since the last checkpoint."""
    since = identity.mutable.state.drift_checks
    counts = checkpoint.identity_updates.drift_checks
    both = {**counts.as_data(), "passed": counts.passed + since.passed, "failed": counts.failed + since.failed}
    return checkpoint.replace(identity_updates={**checkpoint.identity_updates.as_data(), "drift_checks": both})


def apply_checkpoint(identity: Identity, checkpoint: Checkpoint) -> Identity:
    """Return the identity after a checkpoint: with its new entries and focus, and the drift counts reset.

    Each list keeps its newest `KNOWN` entries, or fewer if the file would become too large. If the file would still be
    too large, only the drift counts are reset.
    """
    counts = identity.mutable.state.drift_checks
    reset = {"drift_checks": {**counts.as_data(), "passed": 0, "failed": 0}} if counts.passed or counts.failed else {}
    focus = checkpoint.context.current_focus
    changed = {} if focus is None else {"current_focus": focus if len(focus) <= FOCUS else f"{focus[: FOCUS - 1]}…"}
    after = _apply_learned(identity, checkpoint)
    after = _update_state(after, **reset, **changed) if reset or changed else after
    return _shrink_to_fit(after) or (_update_state(identity, **reset) if reset else identity)


def _apply_learned(identity: Identity, checkpoint: Checkpoint) -> Identity:
    updates = checkpoint.identity_updates
    mutable = identity.mutable.as_data()
    formed = {"formed_at": checkpoint.metadata.ended_at}
    for field, key, additions, more in (
        ("beliefs", "subject", updates.new_beliefs, formed),
        ("skills", "name", updates.new_skills, {}),
        ("relationships", "entity", updates.new_relationships, {}),
    ):
        if additions:
            mutable[field] = _merge_entries(
                key, mutable.get(field, []), [addition.as_data() for addition in additions], more
            )
    mutable |= {field: mutable[field][-KNOWN:] for field in _LISTS if field in mutable}
    return identity.replace(mutable=mutable) if mutable != identity.mutable.as_data() else identity


def _merge_entries(key: str, old: Iterable[Table], new: Sequence[Table], more: Table) -> list[dict[str, Any]]:
    """Merge new entries into the old ones; an entry with the same `key` is updated.

    If there are too many, the new and updated entries are moved to the end, so that older ones are dropped.
    """
    entries = [dict(entry) for entry in old]
    for new_entry in new:
        known = [entry for entry in entries if entry.get(key) == new_entry[key]]
        for entry in known:
            entry |= new_entry
        entries += [] if known else [{**new_entry, **more}]
    if len(entries) <= KNOWN:
        return entries
    named = [entry[key] for entry in new]
    return sorted(entries, key=lambda entry: entry.get(key) in named)


def _shrink_to_fit(identity: Identity) -> Identity | None:
    """Remove the oldest entries until the identity's file is small enough; None if that is not possible."""
    while not _fits(identity):
        mutable = identity.mutable.as_data()
        longest = max(_LISTS, key=lambda field: len(json.dumps(mutable.get(field, []))))
        entries = mutable.get(longest, [])
        if not entries:
            return None
        identity = identity.replace(mutable={**mutable, longest: entries[1 + len(entries) // 8 :]})
    return identity


def _fits(identity: Identity) -> bool:
    try:
        texts = layout.encode({Key(Identity.kind, identity.id): identity}).values()
    except LimitExceeded:
        return False
    return all(text is None or len(text) <= _ROOM for text in texts)


def _update_state(identity: Identity, **changes: Any) -> Identity:
    mutable = identity.mutable.as_data()
    return identity.replace(mutable={**mutable, "state": {**mutable.get("state", {}), **changes}})


# --- creating an identity


def make_identity(
    identity: Identity | None, agent: str, document: Table, now: datetime, *, where: str = ""
) -> Identity:
    """Return the agent's identity with the immutable part from `document` (PAIF's identity file, or its immutable part
    alone).

    The mutable part of `identity` takes precedence over that of the document. If the document lacks `created_at` or
    taboos, they are filled in with `now` and with the taboos that PAIF documents.

    Raises:
        InvalidDocument: a field is not valid, the document describes nothing, `created_by` is neither a human nor an
            agent, or the document is the identity of another agent.
        NotAllowed: the agent already has an immutable part.
    """
    if identity is not None and identity.immutable is not None:
        raise NotAllowed(
            f"agent {agent} already has an identity, and its immutable part cannot be changed",
            hint=f"baton identity show --agent {agent}",
        )
    data = _split_document(document, agent, where)
    immutable = parse(Immutable, data.pop("immutable"), where=where, at="immutable")
    _check_creator(immutable.origin.created_by, where)
    completed = _fill_defaults(immutable, now)
    stated = parse(Identity, {**data, "id": agent, "immutable": completed}, where=where)
    if identity is None:
        return stated
    mutable, before = stated.mutable.as_data(), identity.mutable.as_data()
    state = {**mutable.get("state", {}), **before.get("state", {})}
    return stated.replace(mutable={**mutable, **before, **({"state": state} if state else {})})


def _split_document(document: Table, agent: str, where: str) -> dict[str, Any]:
    """Return the fields of a document without the agent's name, and with the immutable part under `immutable`.

    Raises:
        InvalidDocument: the document is the identity of another agent, or describes nothing.
    """
    data = dict(document)
    for name in ("id", "agent_id", "agent"):
        if data.pop(name, agent) != agent:
            fault = Fault(name, f"is {document[name]!r}, but this is the identity of {agent!r}")
            raise InvalidDocument([fault], where=where)
    if "immutable" not in data:
        data["immutable"] = {name: data.pop(name) for name in Immutable.model_fields if name in data}
    immutable = data["immutable"]
    if not isinstance(immutable, Mapping) or not any(
        _has_value(value) for name, value in immutable.items() if name != "origin"
    ):
        raise InvalidDocument(
            [Fault("immutable", "has no values")], where=where, hint="describe the agent: its purpose, values, voice"
        )
    return data


def _has_value(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_value, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_value, value))
    return bool(value.strip()) if isinstance(value, str) else value is not None


def _check_creator(named: str | None, where: str) -> None:
    if named is not None and not re.match(r"(?:human|agent):\s*\S", named):
        fault = Fault("immutable.origin.created_by", f"must be human:NAME or agent:NAME, not {shorten(named)}")
        raise InvalidDocument([fault], where=where)


def _fill_defaults(immutable: Immutable, now: datetime) -> dict[str, Any]:
    """Return the data of an immutable part, with a time of creation and with taboos."""
    data = immutable.as_data()
    if immutable.origin.created_at is None:
        data["origin"] = {**data.get("origin", {}), "created_at": iso_ms(now)}
    if not (immutable.voice.taboo_phrases or immutable.voice.taboo_categories):
        categories = {name: list(phrases) for name, phrases in CATEGORIES.items()}
        data["voice"] = {**data.get("voice", {}), "taboo_categories": categories}
    return data
