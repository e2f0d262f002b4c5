"""Create an agent's identity, show it, and check texts against it."""

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
from baton_git.systems.paif.checkpoints import act_as, check_known
from baton_git.systems.paif.drift import Drift
from baton_git.systems.paif.identity_updates import find_identity, make_empty_identity, make_identity, record_check
from baton_git.systems.paif.records.identity import Identity


class DriftResult(NamedTuple):
    """The result of a drift check.

    Attributes:
        prompt: PAIF's realignment prompt for the agent, whether or not there is drift.
        written: the write that counted the check; None if it was not counted.
        uncounted: why the check could not be counted.
    """

    drift: Drift
    prompt: str
    written: WriteResult | None = None
    uncounted: BatonError | OSError | None = None


def init_identity(ws: Workspace, now: datetime, agent: str, document: Mapping[str, Any], *, where: str = "") -> Changed:
    """Set the immutable part of an agent's identity.

    Raises:
        InvalidDocument: a field is not valid, or the document is the identity of another agent.
        NotAllowed: the agent already has an identity.
        InvalidName: the agent's name is not valid.
    """
    ws = act_as(ws, agent)

    def change(tip: Revision) -> State:
        return tip.state.put(make_identity(find_identity(tip.state, agent), agent, document, now, where=where))

    return Changed.of(ws.update("identity-init", now, change), id=agent)


def show_identity(ws: Workspace, agent: str) -> Identity:
    """Return the identity of an agent; an empty one for an agent that has only checkpoints.

    Raises:
        NotFound: the agent has no identity and no checkpoint.
    """
    agent = checkpoint_store.parse_agent(agent)
    state = ws.branch.read().state
    check_known(state, agent)
    return find_identity(state, agent) or make_empty_identity(agent)


def check_text(ws: Workspace, now: datetime, agent: str, text: str, *, count: bool = True) -> DriftResult:
    """Check whether `text` contains phrases that the agent's identity rules out.

    With `count`, the result is counted in the identity, for the next checkpoint. If it cannot be counted, it is
    returned nevertheless, with the reason.

    Raises:
        InvalidArgument: `text` is blank.
        NotFound: the agent has no identity and no checkpoint.
    """
    check_not_empty(text, "text")
    identity = show_identity(ws, agent)
    result = DriftResult(drift.check_drift(text, identity), drift.make_realignment_prompt(identity))
    if not count:
        return result

    def change(tip: Revision) -> ProposedState:
        current = find_identity(tip.state, agent) or make_empty_identity(agent)
        state = tip.state.put(record_check(current, failed=bool(result.drift)))
        return ProposedState(state, note=f"drift check of {agent}")

    try:
        return result._replace(written=act_as(ws, agent).update("identity-check", now, change))
    except (BatonError, OSError) as error:
        return result._replace(uncounted=error)


def check_words(text: str) -> DriftResult:
    """Check `text` against the phrases that PAIF documents as drift, without an agent.

    Raises:
        InvalidArgument: `text` is blank.
    """
    check_not_empty(text, "text")
    return DriftResult(drift.check_drift(text, None), drift.make_realignment_prompt(None))
