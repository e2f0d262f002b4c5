"""The `baton` adapter: the sessions of the current namespace, from baton's own records."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from baton_git.core.errors import NotFound
from baton_git.core.output import one_line
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import FollowUp, OpenLoop
from baton_git.core.sessions import list_contexts, shown_head
from baton_git.core.state import State
from baton_git.core.times import parse_time_or_none
from baton_git.systems.ecc.adapters.adapter import (
    Listed,
    Surroundings,
    Target,
    choose_text,
    drop_empty,
    is_fresh,
    outputs,
    runtime,
    session,
    snapshot,
)

ID = "baton"
DESCRIPTION = "The sessions of this namespace, from baton's own records"
TARGET_TYPES: tuple[str, ...] = ("baton",)

_PREFIX = "baton:"
_MAX_OBJECTIVE = 200
"""Maximum number of characters of an objective."""


def can_open(target: Target, around: Surroundings) -> bool:
    return target.type == "baton" or target.value.startswith(_PREFIX)


def open_session(target: Target, around: Surroundings) -> dict[str, Any]:
    wanted = target.value.removeprefix(_PREFIX).strip()
    known = around.state.records(Session)
    if wanted == "latest" and known:
        return _make_snapshot(known[-1], "latest", around)
    if not wanted or wanted == "latest":
        raise NotFound("session", target.value, hint="baton session list --adapter baton")
    return _make_snapshot(around.state.find(Session, wanted), wanted, around)


def sessions(around: Surroundings) -> Iterator[Listed]:
    newest_first = sorted(around.state.records(Session), key=_find_last_time, reverse=True)
    for record in newest_first:
        yield Listed(
            f"{_PREFIX}{record.id}", record.id, _find_objective(record, around.state), record.ended or record.started
        )


def _find_last_time(record: Session) -> datetime:
    return parse_time_or_none(record.ended or record.started) or datetime.min.replace(tzinfo=UTC)


def _make_snapshot(record: Session, wanted: str, around: Surroundings) -> dict[str, Any]:
    state = around.state
    worker = {
        "id": record.id,
        "label": record.agent or record.id,
        "state": record.status,
        "health": _judge_health(record, around),
        "branch": None,
        "worktree": None,
        "runtime": runtime(
            "baton-session", record.agent or None, active=record.status == "active", dead=record.status == "ended"
        ),
        "intent": {"objective": _find_objective(record, state), "seedPaths": []},
        "outputs": outputs([record.summary] if record.summary else [], risks=_list_open_items(record, state)),
        "artifacts": drop_empty(
            {"started": record.started, "ended": record.ended, "parent": record.parent, "machine": record.machine}
        ),
    }
    return snapshot(ID, session(record.id, "baton", record.status, None, ("baton", wanted)), [worker])


def _is_last(record: Session, state: State) -> bool:
    """Return whether this session set the newest context, or else wrote the last document."""
    newest = next(iter(list_contexts(state)), None)
    return (newest.session if newest is not None else state.readable_head.session_id) == record.id


def _find_objective(record: Session, state: State) -> str:
    context = record.context or (shown_head(state).context if _is_last(record, state) else "")
    text = choose_text((record.summary, context), f"Session {record.id}")
    return one_line(text.strip().split("\n")[0], _MAX_OBJECTIVE) or f"Session {record.id}"


def _judge_health(record: Session, around: Surroundings) -> str:
    """Return `healthy` if a session has ended, or began or changed the state in the last five minutes; else `stale`."""
    if record.status == "ended":
        return "healthy"
    times = [record.started, around.state.readable_head.updated_at if _is_last(record, around.state) else None]
    return "healthy" if any(is_fresh(time, around.now) for time in times) else "stale"


def _list_open_items(record: Session, state: State) -> list[str]:
    """Return the open loops and follow-ups of the namespace, if the session wrote its current state; else nothing.

    Records do not say which session created them.
    """
    if not _is_last(record, state):
        return []
    loops = [f"{loop.id} {loop.action}: {loop.expected_outcome}" for loop in state.records(OpenLoop)]
    return loops + [f"{item.id} {item.item}" for item in state.records(FollowUp)]
