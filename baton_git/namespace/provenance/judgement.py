"""Decide which records count on this machine: who vouches for them, and which rules and supersessions are in force."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from baton_git.core.kinds import LABELLED
from baton_git.core.outlines import DecisionOutline
from baton_git.core.records.base import Record
from baton_git.core.records.work_items import ActiveDecision, FollowUp, OpenLoop, Pattern, Rule
from baton_git.core.state import Key, State, key_of
from baton_git.namespace.provenance.labels import RANK, WRITTEN_HERE, Kind, Label, Labels

_WORDS: dict[Kind, tuple[str, str]] = {
    "confirmed": ("confirmed", "confirmed by a person"),
    "agent": ("agent", "written by an agent on this machine"),
    "unauthenticated": ("no token", "written over HTTP without a token"),
    "received": ("from {}", "received from {}"),
    "hand": ("by hand", "edited by hand"),
    "unknown": ("unknown", "of unknown origin, because the history cannot be read"),
}
"""The short and the full text of each kind of label."""

UNCONFIRMED = "not confirmed here"
"""The mark of a record whose commit, or whose stored tier, claims a confirmation for which nobody here vouches."""
_WITHOUT_CLAIMS = (OpenLoop.kind, FollowUp.kind)
"""Kinds of records that need no confirmation by a person; their label is enough."""


class UnvouchedClaim(NamedTuple):
    """A claim of a record that nobody on this machine vouches for."""

    key: Key
    label: Label
    text: str


class Judgement:
    """Judges the records of a state by the labels at its commit.

    Args:
        aging: describes what changed in the source code that a record is about; None without source code.
        waits: tells whether the check of a loop waits for a person's approval; None if nobody asks.
    """

    def __init__(
        self, labels: Labels, aging: Callable[[Record], str] | None = None,
        waits: Callable[[OpenLoop], bool] | None = None,
    ) -> None:  # fmt: skip
        self._labels = labels
        self._explained: dict[str, None] = {}
        self._waits = waits
        self._aging = aging

    @property
    def problem(self) -> str:
        """Why nobody knows who vouches for the records; empty if the history could be read."""
        return self._labels.problem

    def label(self, key: Key) -> Label:
        """Return who vouches for the text of a record.

        Raises:
            Corrupt: a commit or a tree cannot be read.
        """
        return self._labels.of(key)

    def word(self, key: Key) -> str:
        """Return the label of the record at a key in one or two words."""
        label = self.label(key)
        return word_of_kind(label.kind, label.remote)

    def word_of(self, record: Record) -> str:
        """Return the label of a record in one or two words."""
        return self.word(key_of(record))

    def is_confirmed(self, key: Key) -> bool:
        """Return whether a person confirmed the record. A rule is in force only if it is confirmed."""
        return self.label(key).kind == "confirmed"

    def tier(self, key: Key, declared: str) -> str:
        """Return the tier of a record that counts on this machine, given its `declared` tier.

        `human_confirmed` needs a confirmed record, or one that was written on this machine.
        """
        kind = self.label(key).kind
        if kind == "confirmed":
            return "human_confirmed"
        return "llm_derived" if kind not in WRITTEN_HERE and declared == "human_confirmed" else declared

    def is_superseded(self, decision: ActiveDecision | DecisionOutline) -> bool:
        """Return whether a decision counts as superseded here.

        A change of its status, in either direction, counts only if its author was entitled to it: a person, somebody on
        this machine, a remote that the user trusts, or the source of the decision itself.
        """
        key = Key(ActiveDecision.kind, decision.id)
        text, closing = (self._labels.of(key, facet) for facet in ("text", "closing"))
        is_entitled = (
            closing.rank >= RANK["unauthenticated"] or self._labels.is_trusted(closing) or _same_source(text, closing)
        )
        return (decision.status == "superseded") == is_entitled

    def claim(self, record: Record) -> str:
        """Describe what a record or its commit claims beyond its label, and how to accept it; empty without a claim."""
        key, label = key_of(record), self.label(key_of(record))
        if isinstance(record, ActiveDecision) and record.status == "superseded" and not self.is_superseded(record):
            by = self._labels.of(key, "closing")
            return self._describe_claim(
                by, "still in force", f"{record.superseded_by} takes its place", "baton decision supersede"
            )
        if label.kind in ("confirmed", "unknown") or record.kind in _WITHOUT_CLAIMS:
            return ""
        is_claimed = label.is_claim or isinstance(record, Rule) or getattr(record, "status", "") == "graduated"
        declared = "source_tier" in record.model_fields_set and getattr(record, "source_tier", "") == "human_confirmed"
        if not is_claimed and not (declared and label.kind not in WRITTEN_HERE):
            return ""
        remedy = "baton decision confirm"
        if record.kind in (Pattern.kind, Rule.kind):
            remedy = "baton pattern graduate"
        return self._describe_claim(label, UNCONFIRMED.removesuffix(" here"), "a person confirmed it", remedy)

    def mark(self, record: Record) -> str:
        """Return the claim of a record for its line in a brief: the words that explain a claimed confirmation are said
        once, by `explain_marks`, and not in each line."""
        text = self.claim(record)
        if not text.startswith(UNCONFIRMED):
            return text
        self._explained[text] = None
        return UNCONFIRMED

    def explain_marks(self) -> list[str]:
        """Return what the marks mean that the lines so far have, a line for each source of claims."""
        return list(self._explained)

    def aging(self, record: Record) -> str:
        """Describe what changed in the source code that the record is about; empty if nothing did."""
        return self._aging(record) if self._aging is not None else ""

    def waits_for_approval(self, loop: OpenLoop) -> bool:
        """Return whether the check of a loop does not run before a person approves it."""
        return self._waits is not None and self._waits(loop)

    def find_unvouched(self, state: State) -> Iterator[UnvouchedClaim]:
        """Yield the claims of live records that nobody here vouches for."""
        for kind in LABELLED:
            for id_ in sorted(state.ids(kind)):
                record = state.entry(Key(kind, id_))
                if isinstance(record, Record) and (text := self.claim(record)):
                    yield UnvouchedClaim(key_of(record), self.label(key_of(record)), text)

    def full(self, record: Record) -> str:
        """Describe who vouches for a record, what else it claims, and whether it may be outdated."""
        parts = (in_words(self.label(key_of(record))), self.claim(record), self.aging(record))
        return "; ".join(filter(None, parts))

    def labels_as_data(self, state: State) -> dict[str, dict[str, object]]:
        """Return the labels of the live records as plain data, by kind and id."""
        return {
            kind: {id_: as_data(self.label(Key(kind, id_))) for id_ in sorted(ids)}
            for kind in LABELLED
            if (ids := state.ids(kind))
        }

    def _describe_claim(self, label: Label, status: str, claim: str, remedy: str) -> str:
        """Describe the status here, who claims something else, and the command that accepts the claim."""
        who = label.author.partition(" <")[0] or "the record"
        if label.kind == "received":
            who = label.remote
            remedy = remedy if self._labels.is_trusted(label) else f"baton trust --from {label.remote}"
        return f"{status} here: {who} says that {claim}; to accept: {remedy}"


def _same_source(left: Label, right: Label) -> bool:
    return (left.kind, left.remote, left.url) == (right.kind, right.remote, right.url)


def word_of_kind(kind: Kind, remote: str = "") -> str:
    """Return a kind of label in one or two words, such as `from origin`."""
    return _WORDS[kind][0].format(remote)


def in_words(label: Label) -> str:
    """Return the full text of a label, such as `received from origin`."""
    return _WORDS[label.kind][1].format(label.remote)


def as_data(label: Label) -> dict[str, object]:
    """Return a label as plain data."""
    data: dict[str, object] = {"kind": label.kind, "text": in_words(label)}
    if label.remote:
        data["remote"] = label.remote
    if label.is_claim:
        data["claims"] = "confirmed by a person"
    return data
