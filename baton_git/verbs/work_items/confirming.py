"""The verb `decision confirm`: a person vouches for records as they are, and settles proposals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Self

from pydantic import Field, model_validator

from baton_git.core.brief_sections import record_line
from baton_git.core.errors import NotAllowed
from baton_git.core.kinds import KINDS, LABELLED
from baton_git.core.lifecycle import apply_confirmation, apply_supersession
from baton_git.core.proposals import find_proposals
from baton_git.core.records.base import Record
from baton_git.core.records.work_items import ActiveDecision, Rule
from baton_git.core.state import Key, State, key_of
from baton_git.core.verb import REPLACES, Confirmation, Input, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.caller import ConfirmQuestion
from baton_git.namespace.commit_log import VOUCHES, confirmation_trailers
from baton_git.namespace.provenance.judgement import Judgement
from baton_git.namespace.results import WrittenResult
from baton_git.namespace.revision import ProposedState, Revision
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.records.details import find_record
from baton_git.verbs.work_items.new_records import refuse_without_person


class ConfirmRecords(Input):
    """The records that a person confirms."""

    ids: list[str] = Field(
        [], description="The ids of decisions, loops, follow-ups or patterns.", examples=[["DEC-051"]]
    )
    all: bool = Field(False, description="All decisions that are proposed to replace others.")

    @model_validator(mode="after")
    def _check_choice(self) -> Self:
        if self.all and self.ids:
            raise ValueError("{all} cannot be combined with {ids}")
        if not self.all and not self.ids:
            raise ValueError("name a record, or give {all} for all proposals that wait")
        return self


class ConfirmedRecords(WrittenResult):
    """The records that a person confirmed."""

    confirmed: list[str] = Field(description="The ids of the confirmed records.", examples=[["DEC-051"]])
    already: list[str] = Field(
        [], description="The ids of those that a person had confirmed as they are.", examples=[[]]
    )
    replaced: list[str] = Field(description="The ids of the decisions that they replace.", examples=[["DEC-042"]])

    @property
    def notes(self) -> tuple[str, ...]:
        lists = {"confirmed": self.confirmed, "replaced": self.replaced, "confirmed already": self.already}
        return ("; ".join(f"{name}: {', '.join(ids)}" for name, ids in lists.items() if ids),)

    def show(self, reader: Reader) -> ResultView:
        return ResultView("\n".join(self.confirmed), self.told)


def _ask_about_records(ws: Workspace, now: datetime, verb_input: ConfirmRecords) -> ConfirmQuestion:
    """Return the question whether a person vouches for the named records, or for all proposals."""
    tip = ws.branch.read()
    records = (tip.state.entry(key) for key in list_named(ws, tip, verb_input))
    lines = (record_line(record, now, ws.shown_judgement(tip)) for record in records)
    shown = tuple(line for line in lines if line is not None)
    return ConfirmQuestion(shown, "You would vouch for this.", is_typing_enough=not verb_input.all)


@verb(
    "decision confirm",
    effect=REPLACES,
    on_existing=True,
    positional=("ids",),
    confirm=Confirmation(_ask_about_records, always=True),
    examples=("baton decision confirm DEC-051", "baton decision confirm --all"),
)
def confirm_records(ws: Workspace, now: datetime, verb_input: ConfirmRecords) -> ConfirmedRecords:
    """Confirm records as they are: decisions, loops, follow-ups and patterns; only a person can do this.

    A decision that is proposed to replace another one replaces it then. To turn a proposal down, forget it.

    Raises:
        NeedsHuman: no person vouches for the call.
        NotFound, Ambiguous: an id names no live record, or several.
        NotAllowed: nothing waits, or a record is of a kind that cannot be confirmed, or is superseded.
    """
    person = refuse_without_person(ws, "in a terminal: baton decision confirm ID; or on the page of baton serve")
    settled: dict[str, list[str]] = {}

    def change(tip: Revision) -> ProposedState:
        keys = list_named(ws, tip, verb_input)
        settled.clear()
        judge = ws.judgement(tip)
        waiting = find_proposals(tip.state, judge).targets
        already = [key for key in keys if judge.is_confirmed(key) and not _waits(key, waiting)]
        keys = [key for key in keys if key not in already]
        settled.update(confirmed=[key.id for key in keys], already=[key.id for key in already], replaced=[])
        state, changed = tip.state, list(keys)
        for key in keys:
            state, replaced = _settle(state, key, judge)
            changed += replaced
            settled["replaced"] += [other.id for other in replaced]
        trailers = confirmation_trailers(person.how, person.by, *(str(key) for key in dict.fromkeys(changed)))
        vouches = tuple((VOUCHES, str(key)) for key in keys)
        return ProposedState(state, trailers=(*trailers, *vouches), note=f"confirm {', '.join(settled['confirmed'])}")

    written = ws.update("decision-confirm", now, change)
    return ConfirmedRecords.of(written, **settled)


def list_named(ws: Workspace, tip: Revision, verb_input: ConfirmRecords) -> Sequence[Key]:
    """Return the keys of the records to confirm, oldest proposals first.

    Raises:
        NotFound, Ambiguous, NotAllowed: under the same conditions as `confirm_records`.
    """
    if verb_input.all:
        waiting = find_proposals(tip.state, ws.judgement(tip)).targets
        if not waiting:
            raise NotAllowed("no proposal waits", hint="to confirm a record: baton decision confirm ID")
        return [Key(ActiveDecision.kind, id_) for id_ in sorted(waiting, key=lambda id_: _made_at(tip.state, id_))]
    keys = [find_record(tip.state, id_) for id_ in verb_input.ids]
    for key in keys:
        record = tip.state.entry(key)
        if key.archived or key.kind not in LABELLED or not isinstance(record, Record):
            raise NotAllowed(f"{key.display_name} cannot be confirmed: it is no live record of a kind that can")
        if key.kind == Rule.kind:
            raise NotAllowed(
                f"{key.display_name} is confirmed with its pattern", hint=f"baton pattern graduate {key.id}"
            )
        if isinstance(record, ActiveDecision) and ws.judgement(tip).is_superseded(record):
            raise NotAllowed(f"{KINDS[key.kind].title} {key.id} is superseded", hint="add a new decision")
    return list(dict.fromkeys(keys))


def _waits(key: Key, waiting: Mapping[str, str]) -> bool:
    return key.kind == ActiveDecision.kind and key.id in waiting


def _made_at(state: State, id_: str) -> tuple[str, str]:
    return state.get(ActiveDecision, id_).created_at, id_


def _settle(state: State, key: Key, judge: Judgement) -> tuple[State, list[Key]]:
    """Return the state with a confirmed record, and the decisions that it replaces, if it was proposed to.

    Other proposals to replace the same decision are then proposals to replace the confirmed one.
    """
    proposals, record = find_proposals(state, judge), state.entry(key)
    assert isinstance(record, Record)
    confirmed = apply_confirmation(record)
    state = state.put(confirmed)
    target = proposals.targets.get(key.id)
    if target is None or not isinstance(confirmed, ActiveDecision) or not isinstance(record, ActiveDecision):
        return state, []
    replaced = []
    for id_ in dict.fromkeys(filter(None, (record.replaces, target))):
        old = state.get(ActiveDecision, id_)
        state = state.put(apply_supersession(old, confirmed, judge, is_person=True))
        replaced.append(key_of(old))
    for id_ in proposals.by_target[target]:
        other = state.get(ActiveDecision, id_)
        if other.replaces and key_of(other) not in replaced and id_ != key.id:
            state = state.put(other.replace(replaces=confirmed.id))
    return state, replaced
