"""Decisions: add, monitor, supersede."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from baton_git.core.errors import NeedsHuman
from baton_git.core.kinds import KINDS
from baton_git.core.lifecycle import monitored, superseded
from baton_git.core.records.base import parse
from baton_git.core.records.work_items import ActiveDecision
from baton_git.core.state import State, key_of
from baton_git.core.times import iso
from baton_git.namespace.commit_log import confirmation_trailers
from baton_git.namespace.revision import ProposedState, Revision
from baton_git.namespace.workspace import Workspace, WrittenRecord, check_not_empty, fresh_id


class Vouched(NamedTuple):
    """A person vouches for a decision, on this machine, just now. Only a face that saw it happen makes one."""

    by: str
    how: Literal["terminal", "page", "signature", "client"]


def add_decision(
    ws: Workspace,
    now: datetime,
    *,
    what: str,
    why: str,
    evidence: Sequence[str] = (),
    rejected: Sequence[str] = (),
    id_: str | None = None,
    tier: str | None = None,
    vouched: Vouched | None = None,
) -> WrittenRecord:
    """A choice with its reasons; derived by a model unless `tier` says who vouches for it.

    Raises:
        InvalidDocument: a value does not fit its field.
        NeedsHuman: `tier` is human_confirmed and `vouched` None.
        NotAllowed: the id is taken.
    """
    check_not_empty(what, "decision")
    check_not_empty(why, "reason")
    if tier == "human_confirmed" and vouched is None:
        raise NeedsHuman(
            "a decision is human_confirmed only when a person vouches for it",
            hint="run it in a terminal and type yes when asked, or leave --tier out",
        )
    data = {
        "id": fresh_id(KINDS[ActiveDecision.kind].prefix) if id_ is None else id_,
        "what": what,
        "why": why,
        "created_at": iso(now),
        "status": "active",
        "source_tier": tier or "llm_derived",
    }
    lists = {"evidence": list(evidence), "rejected": list(rejected)}
    decision = parse(ActiveDecision, data | {name: value for name, value in lists.items() if value})
    said: tuple[tuple[str, str], ...] = ()
    if vouched is not None and tier == "human_confirmed":
        said = confirmation_trailers(vouched.how, vouched.by, str(key_of(decision)))
    written = ws.update("decision-add", now, lambda tip: ProposedState(tip.state.add(decision), trailers=said))
    return WrittenRecord(decision.id, written)


def monitor_decision(ws: Workspace, now: datetime, id_: str) -> WrittenRecord:
    return ws.edit("decision-monitor", now, ActiveDecision, id_, lambda state, one: state.put(monitored(one)))


def supersede_decision(ws: Workspace, now: datetime, id_: str, by: str) -> WrittenRecord:
    """`by` takes the place of the decision `id_`.

    Raises:
        NotAllowed: both were derived by a model, or one of them is superseded.
    """
    id_ = ws.branch.read().state.find(ActiveDecision, id_).id

    def change(tip: Revision) -> State:
        old, new = tip.state.get(ActiveDecision, id_), tip.state.find(ActiveDecision, by)
        return tip.state.put(superseded(old, new, ws.judgement(tip)))

    return WrittenRecord(id_, ws.update("decision-supersede", now, change))
