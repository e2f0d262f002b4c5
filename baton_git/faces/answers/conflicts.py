"""Contested values, and how one was settled."""

from __future__ import annotations

from typing import Any

from baton_git.records.conflict import Conflict


def settled(conflict: Conflict) -> dict[str, Any]:
    """Which value of which record it was about."""
    return {"id": conflict.id, "record": conflict.record_id, "field": conflict.field}
