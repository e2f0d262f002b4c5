"""Records that say nearly the same: point them out, and merge two into one."""

from __future__ import annotations

import re
import string
from datetime import datetime
from itertools import islice
from typing import Any, ClassVar, TypeVar

from pydantic import Field

from baton_git.core.errors import InvalidArgument, NotAllowed
from baton_git.core.kinds import KINDS
from baton_git.core.lifecycle import propose_when_due
from baton_git.core.merge.combining import combine_values
from baton_git.core.records.base import Record, merge_rule
from baton_git.core.records.confirmable import covered_fields
from baton_git.core.records.merge_rules import Counter, Earliest, Latest, MergeRule, Recent, Union
from baton_git.core.records.work_items import ActiveDecision, FollowUp, Pattern
from baton_git.core.redaction import redact_text
from baton_git.core.state import Key, State, key_of
from baton_git.core.times import iso
from baton_git.core.verb import Input
from baton_git.namespace.results import Changed
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.recall.terms import extract_terms

Similar = TypeVar("Similar", FollowUp, Pattern)
Mergeable = TypeVar("Mergeable", ActiveDecision, FollowUp, Pattern)

MAX_SIMILAR = 3
MAX_COMPARED = 300
SHARE = 0.7
"""Of all words of two texts, how many both must have; what they are called in other forms counts as the same."""
_NEGATIONS = re.compile(r"\b(?:not|no|never|without|cannot|stop|avoid|\w+n't)\b", re.IGNORECASE)
_ENDS = string.whitespace + ".!…。"
_JOINED: tuple[type[MergeRule], ...] = (Union, Earliest, Latest, Recent)


class Added(Changed):
    """The record that was added, and those that say nearly the same."""

    similar: list[str] = Field([], description="Ids of live records that say nearly the same.", examples=[["DEC-041"]])
    merge_command: str = Field("", description="What merges the new one into the first of these, on a command line.")
    exists: bool = Field(False, description="A live record says that already: nothing was added.")
    verbose: ClassVar[frozenset[str]] = Changed.verbose | {"merge_command"}

    @property
    def http_status(self) -> int | None:
        return 200 if self.exists else None

    @property
    def notes(self) -> tuple[str, ...]:
        if self.exists:
            return (f"{self.id} says that already; to put it off once more: baton followup defer {self.id}",)
        if not self.similar:
            return ()
        return (f"nearly the same as {', '.join(self.similar)}; to make one of them: {self.merge_command}",)


class MergeInto(Input):
    """Which record goes into which."""

    id: str = Field(description="The id of the record that goes, or a unique beginning of it.", examples=["DEC-051"])
    into: str = Field(description="The id of the one that stays.", examples=["DEC-042"])


def describe_similar(command: str, record: Record, state: State) -> dict[str, Any]:
    """Return the fields of `Added` for a new record; none if no live one of its kind is like it.

    Of very many live ones only `MAX_COMPARED` are looked at, so that adding one does not take ever longer.
    """
    about = KINDS[record.kind].about
    text = str(getattr(record, about))
    ids = sorted(state.ids(record.kind) - {record.id})[:MAX_COMPARED]
    entries = (state.entry(Key(record.kind, id_)) for id_ in ids)
    likes = (entry.id for entry in entries if isinstance(entry, Record) and says_the_same(text, getattr(entry, about)))
    similar = list(islice(likes, MAX_SIMILAR))
    return {"similar": similar, "merge_command": f"baton {command} {record.id} {similar[0]}"} if similar else {}


def find_same(state: State, model: type[Similar], text: str, most: int | None = None) -> Similar | None:
    """Return the live record whose text is `text`, apart from case, spacing and the mark at its end.

    Args:
        most: how many records are looked at, in the order of their ids; None: all.
    """
    about = KINDS[model.kind].about
    words = _split_words(redact_text(text)[0])  # as it was stored
    entries = (state.entry(Key(model.kind, id_)) for id_ in islice(sorted(state.ids(model.kind)), most))
    records = (entry for entry in entries if isinstance(entry, model))
    return next((record for record in records if _split_words(str(getattr(record, about))) == words), None)


def _split_words(text: str) -> list[str]:
    return text.casefold().rstrip(_ENDS).split()


def says_the_same(one: str, other: str) -> bool:
    """Whether two texts have nearly the same words, in whatever form and order, and deny the same.

    Numbers count as words that both must have.
    """
    if len(_NEGATIONS.findall(one)) != len(_NEGATIONS.findall(other)):
        return False
    left, right = (set(extract_terms(text)) or set(text.casefold().split()) for text in (one, other))
    if any(term[:1].isdigit() for term in left ^ right):
        return False
    return len(left & right) >= SHARE * len(left | right)


def merge_records(ws: Workspace, now: datetime, op: str, model: type[Mergeable], asked: MergeInto) -> Changed:
    """Join a record to another one, and archive it with the name of that one.

    Raises:
        InvalidArgument: they are the same record.
        NotAllowed: a person confirmed what goes but not what stays, or it is a rule or superseded.
    """
    state = ws.branch.read().state
    gone_id, kept_id = state.find(model, asked.id).id, state.find(model, asked.into).id
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
        raise NotAllowed(f"{record.id} is {status}, so it is not merged")


def join_records(kept: Mergeable, gone: Mergeable, *, without_covered: bool = False) -> Mergeable:
    """Return `kept` with what `gone` adds: counts are added, lists joined, times span both, empty fields filled.

    Args:
        without_covered: leave the fields as they are that a person's confirmation covers.
    """
    model = type(kept)
    covered = {field.name for fields in covered_fields(model).values() for field in fields}
    ours, theirs = kept.as_data(), gone.as_data()
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
    """Return what a rule makes of two values; without a rule the first one that there is."""
    if ours is None or rule is None:
        return theirs if ours is None else ours
    value = combine_values(rule, (), (ours,), (theirs,))
    return value[0] if value else ours
