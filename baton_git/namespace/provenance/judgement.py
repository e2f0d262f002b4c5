"""Which records count on this machine at a commit: who vouches for them, and which rules and supersessions hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from baton_git.core.kinds import LABELLED
from baton_git.core.records.base import Record
from baton_git.core.records.rule import Rule
from baton_git.core.records.work_items import ActiveDecision, FollowUp, OpenLoop, Pattern
from baton_git.core.state import Key, State, key_of
from baton_git.namespace.provenance.labels import RANK, Kind, Label, Labels

_WORDS: dict[Kind, tuple[str, str]] = {
    "confirmed": ("confirmed", "confirmed by a person"),
    "agent": ("agent", "written by an agent on this machine"),
    "received": ("from {}", "received from {}"),
    "hand": ("by hand", "edited by hand"),
}
"""By kind of label, how a brief says it, and in full."""


_WITHOUT_CLAIMS = (OpenLoop.kind, FollowUp.kind)
"""Kinds of which no rule asks whether a person confirmed them: the label says enough."""


class UnvouchedClaim(NamedTuple):
    """A claim of a record that nobody on this machine vouches for."""

    key: Key
    label: Label
    text: str


class Judgement:
    """The records of a state, judged by the labels of its commit.

    Args:
        aging: says of a record what changed of the code that it is about; None where there is no code.
    """

    def __init__(self, labels: Labels, aging: Callable[[Record], str] | None = None) -> None:
        self._labels = labels
        self._aging = aging

    def label(self, key: Key) -> Label:
        """Who vouches for what a record says.

        Raises:
            Corrupt: a commit or a tree cannot be read.
        """
        return self._labels.of(key)

    def word(self, key: Key) -> str:
        """Return the label in a word or two."""
        label = self.label(key)
        return _WORDS[label.kind][0].format(label.remote)

    def word_of(self, record: Record) -> str:
        """The label of a record in a word or two."""
        return self.word(key_of(record))

    def is_confirmed(self, key: Key) -> bool:
        """Whether a person confirmed what the record says. Only then is a rule in force."""
        return self.label(key).kind == "confirmed"

    def tier(self, key: Key, declared: str) -> str:
        """Return the tier that the rules use.

        A human tier counts only where somebody here vouches for it; an agent on this machine is believed.
        """
        kind = self.label(key).kind
        if kind == "confirmed":
            return "human_confirmed"
        return "llm_derived" if kind != "agent" and declared == "human_confirmed" else declared

    def is_superseded(self, decision: ActiveDecision) -> bool:
        """Whether another decision took the place of this one, by the word of somebody who may say so.

        That is a person, an agent on this machine, a remote that the user trusts, or whoever the decision itself came
        from; going back takes the same.
        """
        text, closing = (self._labels.of(key_of(decision), facet) for facet in ("text", "closing"))
        is_entitled = closing.rank >= RANK["agent"] or self._labels.is_trusted(closing) or _same_source(text, closing)
        return (decision.status == "superseded") == is_entitled

    def claim(self, record: Record) -> str:
        """Describe what the record or its commit claims beyond its label, and the remedy; empty without a claim."""
        key, label = key_of(record), self.label(key_of(record))
        if isinstance(record, ActiveDecision) and record.status == "superseded" and not self.is_superseded(record):
            by = self._labels.of(key, "closing")
            return self._describe_claim(
                by, "still in force", f"{record.superseded_by} takes its place", "baton decision supersede"
            )
        if label.kind == "confirmed" or record.kind in _WITHOUT_CLAIMS:
            return ""
        says_so = label.is_claim or isinstance(record, Rule) or getattr(record, "status", "") == "graduated"
        declared = "source_tier" in record.model_fields_set and getattr(record, "source_tier", "") == "human_confirmed"
        if not says_so and not (declared and label.kind != "agent"):
            return ""
        remedy = "baton decision add --tier human_confirmed"
        if record.kind in (Pattern.kind, Rule.kind):
            remedy = "baton pattern graduate"
        return self._describe_claim(label, "not confirmed", "a person confirmed it", remedy)

    def aging(self, record: Record) -> str:
        """Return what changed of the code that the record is about; empty where nothing did, or there is no code."""
        return self._aging(record) if self._aging is not None else ""

    def find_unvouched(self, state: State) -> Iterator[UnvouchedClaim]:
        """What live records claim and nobody here vouches for."""
        for kind in LABELLED:
            for id_ in sorted(state.ids(kind)):
                record = state.entry(Key(kind, id_))
                if isinstance(record, Record) and (text := self.claim(record)):
                    yield UnvouchedClaim(key_of(record), self.label(key_of(record)), text)

    def full(self, record: Record) -> str:
        """Describe who vouches for a record, what it claims beyond that, and whether it may be outdated."""
        parts = (in_words(self.label(key_of(record))), self.claim(record), self.aging(record))
        return "; ".join(filter(None, parts))

    def labels_as_data(self, state: State) -> dict[str, dict[str, object]]:
        """By kind and id, the labels of the live records, as plain data."""
        return {
            kind: {id_: as_data(self.label(Key(kind, id_))) for id_ in sorted(ids)}
            for kind in LABELLED
            if (ids := state.ids(kind))
        }

    def _describe_claim(self, label: Label, stands: str, claim: str, remedy: str) -> str:
        """Describe the local status, who claims something else, and the command that accepts the claim."""
        who = label.author.partition(" <")[0] or "the record"
        if label.kind == "received":
            who = label.remote
            remedy = remedy if self._labels.is_trusted(label) else f"baton trust --from {label.remote}"
        return f"{stands} here: {who} says that {claim}; to accept: {remedy}"


def _same_source(left: Label, right: Label) -> bool:
    return (left.kind, left.remote, left.url) == (right.kind, right.remote, right.url)


def in_words(label: Label) -> str:
    """The label in full: `received from origin`."""
    return _WORDS[label.kind][1].format(label.remote)


def as_data(label: Label) -> dict[str, object]:
    """The label as plain data, beside a record."""
    data: dict[str, object] = {"kind": label.kind, "text": in_words(label)}
    if label.remote:
        data["remote"] = label.remote
    if label.is_claim:
        data["claims"] = "confirmed by a person"
    return data
