"""Decisions that are proposed to replace others, and wait until a person settles them.

A decision names in `replaces` the one that it is to replace. That one stays in force. Wherever decisions are told, the
pair is told as one: what is in force, and beside it what is proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from baton_git.core.outlines import DecisionOutline
from baton_git.core.records.work_items import ActiveDecision
from baton_git.core.state import State


class SupersessionJudge(Protocol):
    """Judges whether a decision counts as superseded."""

    def is_superseded(self, decision: ActiveDecision | DecisionOutline) -> bool:
        """Whether the decision counts as superseded here."""


class Proposals(NamedTuple):
    """The proposals of a state that wait.

    Attributes:
        targets: by the id of a proposed decision, the id of the one in force that it is to replace.
        by_target: the same, by the id of the one in force.
        read_text: returns what was decided, by the id of a decision of a pair.
    """

    targets: Mapping[str, str]
    by_target: Mapping[str, tuple[str, ...]]
    read_text: Callable[[str], str]

    def describe(self, id_: str) -> str:
        """Return what is proposed for a decision in force, such as `DEC-2, proposed to replace DEC-1`."""
        return f"{' and '.join(self.by_target[id_])}, proposed to replace {id_}"

    def find_counterpart(self, id_: str) -> str:
        """Return the other text of a pair: for a proposed decision what is in force, for that one what is proposed."""
        target = self.targets.get(id_)
        return self.read_text(target) if target else " · or ".join(map(self.read_text, self.by_target[id_]))


NO_PROPOSALS = Proposals({}, {}, str)


def find_proposals(state: State, judge: SupersessionJudge) -> Proposals:
    """Return the proposals that wait: those of live decisions in force to replace another one in force.

    A proposal to replace a proposal is one to replace what that is to replace. Proposals in a circle replace nothing.
    """
    decisions: dict[str, DecisionOutline] = {decision.id: decision for decision in state.outlines(ActiveDecision)}
    named = {id_: decision.replaces for id_, decision in decisions.items() if decision.replaces in decisions}
    if not named:
        return NO_PROPOSALS
    open_ = {id_ for id_ in {*named, *named.values()} if id_ and not judge.is_superseded(decisions[id_])}
    waiting = {id_: target for id_, target in named.items() if target and id_ in open_ and target in open_}
    targets = {id_: root for id_ in waiting if (root := _find_root(waiting, id_)) is not None}
    by_target: dict[str, tuple[str, ...]] = {}
    for id_, target in sorted(targets.items()):
        by_target[target] = (*by_target.get(target, ()), id_)
    return Proposals(targets, by_target, lambda id_: state.get(ActiveDecision, id_).what)


def _find_root(waiting: Mapping[str, str], id_: str) -> str | None:
    """Return the decision at the end of a chain of proposals; None if the chain is a circle."""
    seen = {id_}
    while id_ in waiting:
        id_ = waiting[id_]
        if id_ in seen:
            return None
        seen.add(id_)
    return id_
