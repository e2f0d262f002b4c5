"""`baton`: the sessions that worked on the namespace one stands in, as our own records have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from baton_git.core.errors import NotFound
from baton_git.core.output import one_line
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import FollowUp, OpenLoop
from baton_git.core.state import State
from baton_git.systems.ecc.adapters.adapter import Listed, Surroundings, Target
from baton_git.systems.ecc.adapters.building import first, is_fresh, outputs, present, runtime, session, snapshot

ID = "baton"
DESCRIPTION = "The sessions of this namespace, as baton keeps them"
TARGET_TYPES: tuple[str, ...] = ("baton",)

_PREFIX = "baton:"
_LONGEST = 200
"""Characters of an objective."""


def can_open(target: Target, around: Surroundings) -> bool:
    return target.type == "baton" or target.value.startswith(_PREFIX)


def open_session(target: Target, around: Surroundings) -> dict[str, Any]:
    wanted = target.value.removeprefix(_PREFIX).strip()
    known = around.state.records(Session)
    if wanted == "latest" and known:
        return _snapshot(known[-1], "latest", around)
    if not wanted or wanted == "latest":
        raise NotFound("session", target.value, hint="baton session list --adapter baton")
    return _snapshot(around.state.find(Session, wanted), wanted, around)


def sessions(around: Surroundings) -> Iterator[Listed]:
    for one in reversed(around.state.records(Session)):
        yield Listed(f"{_PREFIX}{one.id}", one.id, _objective(one, around.state), one.ended or one.started)


def _snapshot(one: Session, wanted: str, around: Surroundings) -> dict[str, Any]:
    state = around.state
    worker = {
        "id": one.id,
        "label": one.agent or one.id,
        "state": one.status,
        "health": _health(one, around),
        "branch": None,
        "worktree": None,
        "runtime": runtime(
            "baton-session", one.agent or None, active=one.status == "active", dead=one.status == "ended"
        ),
        "intent": {"objective": _objective(one, state), "seedPaths": []},
        "outputs": outputs([one.summary] if one.summary else [], risks=_left(one, state)),
        "artifacts": present(
            {"started": one.started, "ended": one.ended, "parent": one.parent, "machine": one.machine}
        ),
    }
    return snapshot(ID, session(one.id, "baton", one.status, None, ("baton", wanted)), [worker])


def _is_last(one: Session, state: State) -> bool:
    """Whether this session wrote the baton as it stands."""
    return state.readable_head.session_id == one.id


def _objective(one: Session, state: State) -> str:
    context = state.readable_head.context if _is_last(one, state) else ""
    said = first((one.summary, context), f"Session {one.id}")
    return one_line(said.strip().split("\n")[0], _LONGEST) or f"Session {one.id}"


def _health(one: Session, around: Surroundings) -> str:
    """One that has ended is healthy; one at work too, as long as it was heard of in the last five minutes."""
    if one.status == "ended":
        return "healthy"
    heard = [one.started, around.state.readable_head.updated_at if _is_last(one, around.state) else None]
    return "healthy" if any(is_fresh(time, around.now) for time in heard) else "stale"


def _left(one: Session, state: State) -> list[str]:
    """What the baton that it left says is open: which session made a record, the record does not say."""
    if not _is_last(one, state):
        return []
    loops = [f"{loop.id} {loop.action}: {loop.expected_outcome}" for loop in state.records(OpenLoop)]
    return loops + [f"{item.id} {item.item}" for item in state.records(FollowUp)]
