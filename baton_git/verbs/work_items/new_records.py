"""What a new work item gets and is compared with: its id, its references, its author, and similar records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar

from pydantic import AfterValidator, Field

from baton_git.core.errors import InvalidArgument, NeedsHuman, NotAllowed
from baton_git.core.kinds import KINDS
from baton_git.core.lifecycle import propose_when_due
from baton_git.core.merge.combining import combine_values
from baton_git.core.outlines import digest_words, split_words
from baton_git.core.output import is_safe
from baton_git.core.records.base import (
    Counter,
    Earliest,
    Latest,
    MergeRule,
    Recent,
    Record,
    Union,
    covered_fields,
    merge_rule,
)
from baton_git.core.records.work_items import ActiveDecision, FollowUp, Pattern
from baton_git.core.redaction import redact_text
from baton_git.core.state import Key, State, key_of
from baton_git.core.times import iso
from baton_git.core.verb import Input
from baton_git.namespace.caller import Vouched
from baton_git.namespace.commit_log import confirmation_trailers
from baton_git.namespace.guard import HOW
from baton_git.namespace.results import Changed
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.recall.terms import extract_terms

# --- the ids that callers choose for new records


def _check_characters(text: str) -> str:
    if not is_safe(text):
        raise ValueError("has a line end, a control character or an invisible character; use printable characters")
    if " " in text or text.startswith("-"):
        raise ValueError("has a space, or begins like an option; use one word")
    return text


NewId = Annotated[str, Field(min_length=1), AfterValidator(_check_characters)]
"""The id of a new record: one printable word. Documents of other programs can have ids of any text."""


# --- look up the records that a new or edited record refers to


REFERENCES: Mapping[str, type[Record]] = {
    "decision_ref": ActiveDecision,
    "superseded_by": ActiveDecision,
    "linked_pattern": Pattern,
}
"""The stored fields that name a record, each with the model of that record."""


def find_reference(ws: Workspace, model: type[Record], text: str | None) -> str | None:
    """Return the complete id of the record that `text` names; None if `text` is empty.

    An archived record must be named by its complete id.

    Raises:
        NotFound: `text` matches no record.
        Ambiguous: `text` matches several records.
    """
    if not text:
        return None
    state = ws.branch.read().state
    is_whole = text in state.ids(model.kind) or text in state.ids(model.kind, archived=True)
    return text if is_whole else state.find(model, text).id


def find_references(ws: Workspace, record: Record, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return new values for fields of a record, with the complete ids of the records that they name.

    Raises:
        InvalidArgument: the record would refer to itself, directly or through other records.
        NotFound: a new value matches no record.
        Ambiguous: a new value matches several records.
    """
    before = record.as_data()
    references = {
        name: find_reference(ws, REFERENCES[name], text)
        for name, text in fields.items()
        if name in REFERENCES and isinstance(text, str) and text != before.get(name)
    }
    for name, id_ in references.items():
        if REFERENCES[name] is type(record) and id_ is not None:
            _refuse_circle(ws.branch.read().state, name, before["id"], id_)
    return {**fields, **references}


def _refuse_circle(state: State, name: str, id_: str, target: str) -> None:
    """Raise InvalidArgument if following this field from record to record, beginning at `target`, leads to `id_`."""
    if target == id_:
        raise InvalidArgument(f"{name}: {id_} cannot name itself", hint="name another record")
    seen = set()
    following: str | None = target
    while following is not None and following not in seen:
        seen.add(following)
        following = _read_reference(state, name, following)
        if following == id_:
            raise InvalidArgument(f"{name}: {target} leads back to {id_}", hint=f"change {name} of {target} first")


def _read_reference(state: State, name: str, id_: str) -> str | None:
    """Return the id in a field of a live or archived record; None if it is empty or the record cannot be read."""
    kind = REFERENCES[name].kind
    entries = (state.entry(Key(kind, id_, archived=archived)) for archived in (False, True))
    record = next((entry for entry in entries if isinstance(entry, REFERENCES[name])), None)
    return getattr(record, name) if record is not None else None


# --- author of a new record: a person who vouches for it, or a model


class Authorship(NamedTuple):
    """How a new record and its commit name the author."""

    tier: str
    trailers: tuple[tuple[str, str], ...] = ()


def authorship_of(ws: Workspace, model: type[Record], id_: str) -> Authorship:
    """Return the author of a new record: a person, if one vouches for it; otherwise a model."""
    person = ws.confirmed
    if not isinstance(person, Vouched):
        return Authorship("llm_derived")
    return Authorship("human_confirmed", confirmation_trailers(person.how, person.by, str(Key(model.kind, id_))))


def refuse_without_person(ws: Workspace, hint: str = "") -> Vouched:
    """Return the person who vouches for the call.

    Raises:
        NeedsHuman: nobody does.
    """
    if isinstance(ws.confirmed, Vouched):
        return ws.confirmed
    raise NeedsHuman("only a person can confirm a record", hint=hint or HOW)


def confirm_change(ws: Workspace, *records: Record) -> tuple[tuple[str, str], ...]:
    """Return the commit trailers with which a person vouches for a change of records; empty if nobody does."""
    person = ws.confirmed
    if not isinstance(person, Vouched):
        return ()
    return confirmation_trailers(person.how, person.by, *(str(key_of(record)) for record in records))


# --- near-duplicate records: report them, and merge two into one


Similar = TypeVar("Similar", FollowUp, Pattern)
Mergeable = TypeVar("Mergeable", ActiveDecision, FollowUp, Pattern)

MAX_SIMILAR = 3
MAX_COMPARED = 300
MAX_KEPT = 2_000
"""Maximum length in characters of a text whose terms are kept in memory."""
SHARE = 0.7
"""Minimum share of common words for two texts to count as similar; inflected forms of a word count as equal."""
_NEGATIONS = re.compile(r"\b(?:not|no|never|without|cannot|stop|avoid|\w+n't)\b", re.IGNORECASE)
_JOINED: tuple[type[MergeRule], ...] = (Union, Earliest, Latest, Recent)


class Added(Changed):
    """The record that was added, and similar ones."""

    similar: list[str] = Field([], description="Ids of similar live records.", examples=[["DEC-041"]])
    merge_command: str = Field("", description="The command that merges the new record into the first similar one.")
    exists: bool = Field(False, description="Whether a live record has the same text, so that nothing was added.")
    verbose: ClassVar[frozenset[str]] = Changed.verbose | {"merge_command"}

    @property
    def http_status(self) -> int | None:
        return 200 if self.exists else None

    @property
    def notes(self) -> tuple[str, ...]:
        if self.exists:
            return (f"{self.id} has the same text; to defer it again: baton followup defer {self.id}",)
        if not self.similar:
            return ()
        return (f"similar to {', '.join(self.similar)}; to merge them: {self.merge_command}",)


class MergeInto(Input):
    """The record to merge, and the one to merge it into."""

    id: str = Field(description="The id of the record to merge, or a unique prefix of it.", examples=["DEC-051"])
    into: str = Field(description="The id of the record that remains.", examples=["DEC-042"])


def describe_similar(command: str, record: Record, state: State) -> dict[str, Any]:
    """Return the fields of `Added` for a new record; empty if no live record of its kind is similar.

    At most `MAX_COMPARED` live records are compared, which bounds the time of adding a record. Pass the newest state:
    what is read of it is kept for the next write.
    """
    about = KINDS[record.kind].about
    text = str(getattr(record, about))
    ids = sorted(state.ids(record.kind) - {record.id})[:MAX_COMPARED]  # faster than `nsmallest` up to 100,000
    entries = (state.entry(Key(record.kind, id_)) for id_ in ids)
    likes = (entry.id for entry in entries if isinstance(entry, Record) and are_similar(text, getattr(entry, about)))
    similar = list(islice(likes, MAX_SIMILAR))
    return {"similar": similar, "merge_command": f"baton {command} {record.id} {similar[0]}"} if similar else {}


def find_same(state: State, model: type[Similar], text: str) -> Similar | None:
    """Return the live record with this text, ignoring case, spacing, and final periods and exclamation marks.

    Only records whose outline has the same digest are decoded; of several, the one with the first id is returned.
    """
    about = KINDS[model.kind].about
    redacted = redact_text(text)[0]  # records are stored redacted
    words, digest = split_words(redacted), digest_words(redacted)
    likely = state.select(model, lambda outline: outline.words == digest)
    same = (record for record in likely if split_words(str(getattr(record, about))) == words)
    return min(same, key=lambda record: record.id, default=None)


def are_similar(first: str, second: str) -> bool:
    """Return whether two texts have nearly the same words in any order, the same numbers, and as many negations."""
    (negations, left), (other_negations, right) = (
        _read_terms(text) if len(text) <= MAX_KEPT else _read_terms.__wrapped__(text) for text in (first, second)
    )
    if negations != other_negations:
        return False
    if any(term[:1].isdigit() for term in left ^ right):
        return False
    return len(left & right) >= SHARE * len(left | right)


@lru_cache(maxsize=4 * MAX_COMPARED)
def _read_terms(text: str) -> tuple[int, frozenset[str]]:
    """Return the number of negations of a text, and its terms. A server compares with the same texts at each write."""
    return len(_NEGATIONS.findall(text)), frozenset(extract_terms(text) or text.casefold().split())


def merge_records(ws: Workspace, now: datetime, op: str, model: type[Mergeable], verb_input: MergeInto) -> Changed:
    """Merge a record into another one, and archive it with a reason that names the other.

    Raises:
        InvalidArgument: both ids name the same record.
        NotAllowed: a person confirmed the merged record but not the remaining one, or one of them is graduated or
            superseded.
    """
    state = ws.branch.read().state
    gone_id, kept_id = state.find(model, verb_input.id).id, state.find(model, verb_input.into).id
    if gone_id == kept_id:
        raise InvalidArgument(f"{gone_id} cannot be merged into itself")

    def change(tip: Revision) -> State:
        gone, kept = tip.state.get(model, gone_id), tip.state.get(model, kept_id)
        judge = ws.judgement(tip)
        is_confirmed = judge.is_confirmed(key_of(kept))
        if judge.is_confirmed(key_of(gone)) and not is_confirmed:
            raise NotAllowed(f"a person confirmed {gone_id}, but not {kept_id}", hint="merge them the other way round")
        _check_open(gone)
        _check_open(kept)
        joined = join_records(kept, gone, without_covered=is_confirmed)
        reason = f"merged into {kept_id}"
        return tip.state.put(joined).archive(gone, at=iso(now), reason=reason, session=ws.actor.session)

    return Changed.of(ws.update(op, now, change), id=kept_id)


def _check_open(record: Record) -> None:
    status = getattr(record, "status", "")
    if status in ("graduated", "superseded"):
        raise NotAllowed(f"{record.id} is {status}, so it cannot be merged")


def join_records(kept: Mergeable, gone: Mergeable, *, without_covered: bool = False) -> Mergeable:
    """Return `kept` merged with `gone`: counts added up, lists joined, time spans united, empty fields filled.

    Args:
        without_covered: do not change fields that a person's confirmation covers.
    """
    model = type(kept)
    covered = {field.name for fields in covered_fields(model).values() for field in fields}
    ours = kept.as_data()
    theirs = {name: value for name, value in gone.as_data().items() if value != kept.id}  # it cannot refer to itself
    changes: dict[str, Any] = {}
    for name in model.model_fields:
        rule = merge_rule(model, name)
        if isinstance(rule, Counter):
            changes[name] = getattr(kept, name) + getattr(gone, name)
        elif name in theirs and name != "id" and not (without_covered and name in covered):
            is_joined = isinstance(rule, _JOINED) or name == "priority"
            changes[name] = _join_values(rule if is_joined else None, ours.get(name), theirs[name])
    joined = kept.replace(**{name: value for name, value in changes.items() if value != ours.get(name)})
    return propose_when_due(joined) if isinstance(joined, Pattern) else joined


def _join_values(rule: MergeRule | None, ours: Any, theirs: Any) -> Any:
    """Merge two values by a rule; without a rule, return the first one that is not None."""
    if ours is None or rule is None:
        return theirs if ours is None else ours
    value = combine_values(rule, (), (ours,), (theirs,))
    return value[0] if value else ours
