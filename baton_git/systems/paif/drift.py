"""PAIF's persona drift check: search a text for taboo phrases, which the agent must never use.

The phrases are those of the agent's identity or, if it has none, those of the four categories that PAIF documents.
Letter case, quote style and the width of spaces are ignored, and only whole words match.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from baton_git.core.output import one_line
from baton_git.systems.paif.records.identity import Identity, Immutable

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
