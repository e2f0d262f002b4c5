"""Follow-ups: add, put off, done."""

from __future__ import annotations

from datetime import datetime

from baton_git.core.kinds import KINDS
from baton_git.core.lifecycle import deferred
from baton_git.core.records.base import parse
from baton_git.core.records.work_items import FollowUp
from baton_git.core.times import iso_exact
from baton_git.namespace.workspace import Workspace, WrittenRecord, archive_record, check_not_empty, fresh_id


def add_follow_up(
    ws: Workspace,
    now: datetime,
    *,
    item: str,
    reason: str | None = None,
    pattern: str | None = None,
    priority: str | None = None,
    id_: str | None = None,
    tier: str | None = None,
) -> WrittenRecord:
    """Something is put off, not yet counted as a deferral.

    Raises:
        InvalidDocument: a value does not fit its field.
        NotAllowed: the id is taken.
    """
    check_not_empty(item, "item")
    optional = {"reason": reason, "linked_pattern": pattern, "priority": priority}
    data = {
        "id": fresh_id(KINDS[FollowUp.kind].prefix) if id_ is None else id_,
        "item": item,
        "first_seen": iso_exact(now),
        "source_tier": tier or "llm_derived",
    }
    record = parse(FollowUp, data | {name: value for name, value in optional.items() if value})
    return WrittenRecord(record.id, ws.update("followup-add", now, lambda tip: tip.state.add(record)))


def defer_follow_up(ws: Workspace, now: datetime, id_: str, *, reason: str | None = None) -> WrittenRecord:
    """Put off once more; elevated at the third time, escalated at the fifth."""
    return ws.edit(
        "followup-defer", now, FollowUp, id_,
        lambda state, item: state.put(deferred(item, now, ws.policy, reason)),
    )  # fmt: skip


def finish_follow_up(ws: Workspace, now: datetime, id_: str, *, note: str | None = None) -> WrittenRecord:
    """Done: it goes to the archive."""
    return archive_record(ws, now, "followup-done", FollowUp, id_, f"done: {note}" if note else "done")
