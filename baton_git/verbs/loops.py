"""Open loops: add, check by hand, close."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from baton_git.core.kinds import KINDS
from baton_git.core.lifecycle import checked
from baton_git.core.records.base import parse
from baton_git.core.records.work_items import LastCheck, OpenLoop
from baton_git.core.times import iso
from baton_git.namespace.workspace import Workspace, WrittenRecord, archive_record, check_not_empty, fresh_id


def add_loop(
    ws: Workspace,
    now: datetime,
    *,
    action: str,
    expect: str,
    verify: Mapping[str, Any] | None = None,
    ttl_days: int | None = None,
    decision: str | None = None,
    id_: str | None = None,
    tier: str | None = None,
) -> WrittenRecord:
    """Something was done whose outcome must be checked.

    Args:
        verify: the fields of a `VerifySpec`.
        ttl_days: whole days, ≥ 0, until it is escalated; the policy's when None.

    Raises:
        InvalidDocument: a value does not fit its field.
        NotAllowed: the id is taken.
    """
    check_not_empty(action, "action")
    check_not_empty(expect, "expected outcome")
    data = {
        "id": fresh_id(KINDS[OpenLoop.kind].prefix) if id_ is None else id_,
        "action": action,
        "expected_outcome": expect,
        "created_at": iso(now),
        "ttl_days": ws.policy.ttl_days if ttl_days is None else ttl_days,
        "status": "open",
        "source_tier": tier or "llm_derived",
    }
    data |= {name: value for name, value in (("verify", verify), ("decision_ref", decision)) if value}
    loop = parse(OpenLoop, data)
    return WrittenRecord(loop.id, ws.update("loop-add", now, lambda tip: tip.state.add(loop)))


def settle_loop(
    ws: Workspace, now: datetime, id_: str, result: Literal["passed", "failed"], *, note: str | None = None
) -> WrittenRecord:
    """What a person or an agent found out about a loop, in place of a probe."""
    why = {"why": note} if note else {}
    found = LastCheck.model_validate({"result": result, "at": iso(now), "by": ws.actor.agent or "hand", **why})
    return ws.edit("loop-verify", now, OpenLoop, id_, lambda state, loop: state.put(checked(loop, found)))


def close_loop(ws: Workspace, now: datetime, id_: str, *, reason: str = "closed") -> WrittenRecord:
    """The loop goes to the archive, whatever its status, with the reason."""
    return archive_record(ws, now, "loop-close", OpenLoop, id_, reason)
