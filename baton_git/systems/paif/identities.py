"""Who an agent is: make an identity, show it, hold a text against it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from baton_git.core.errors import BatonError
from baton_git.core.state import State
from baton_git.namespace.results import Changed
from baton_git.namespace.revision import ProposedState, Revision, WriteResult
from baton_git.namespace.workspace import Workspace, check_not_empty
from baton_git.systems.paif import checkpoint_store, drift
from baton_git.systems.paif.checkpoints import acting, check_known
from baton_git.systems.paif.drift import Drift
from baton_git.systems.paif.identity_updates import find_identity, make_empty_identity, make_identity, record_check
from baton_git.systems.paif.records.identity import Identity


class Held(NamedTuple):
    """A text held against an identity.

    `written` is None where that was not counted; `uncounted` is why, where it should have been.
    """

    drift: Drift
    prompt: str
    written: WriteResult | None = None
    uncounted: BatonError | OSError | None = None


def init_identity(ws: Workspace, now: datetime, agent: str, document: Mapping[str, Any], *, where: str = "") -> Changed:
    """Sets, once and for all, who the agent is.

    Raises:
        InvalidDocument: a field does not fit, or it is the identity of another agent.
        NotAllowed: the agent has its identity already.
        InvalidName: the agent's name can be none.
    """
    ws = acting(ws, agent)

    def change(tip: Revision) -> State:
        return tip.state.put(make_identity(find_identity(tip.state, agent), agent, document, now, where=where))

    return Changed.of(ws.update("identity-init", now, change), id=agent)


def show_identity(ws: Workspace, agent: str) -> Identity:
    """The agent's identity; of one that has only checkpoints, an identity that says nothing.

    Raises:
        NotFound: nobody knows the agent.
    """
    agent = checkpoint_store.parse_agent(agent)
    state = ws.branch.read().state
    check_known(state, agent)
    return find_identity(state, agent) or make_empty_identity(agent)


def check_text(ws: Workspace, now: datetime, agent: str, text: str, *, count: bool = True) -> Held:
    """Whether `text` drifts from the agent's identity; the result is counted, to go with the next checkpoint.

    A result that cannot be counted is one all the same, and says so.

    Raises:
        InvalidArgument: there is no text.
        NotFound: nobody knows the agent.
    """
    check_not_empty(text, "text")
    identity = show_identity(ws, agent)
    held = Held(drift.check_drift(text, identity), drift.make_realignment_prompt(identity))
    if not count:
        return held

    def change(tip: Revision) -> ProposedState:
        now_known = find_identity(tip.state, agent) or make_empty_identity(agent)
        state = tip.state.put(record_check(now_known, failed=bool(held.drift)))
        return ProposedState(state, note=f"drift check of {agent}")

    try:
        return held._replace(written=acting(ws, agent).update("identity-check", now, change))
    except (BatonError, OSError) as error:
        return held._replace(uncounted=error)


def check_words(text: str) -> Held:
    """Whether `text` says what PAIF documents as drift, for nobody in particular. Raises as `check_text` does."""
    check_not_empty(text, "text")
    return Held(drift.check_drift(text, None), drift.make_realignment_prompt(None))
