"""What came from a remote and waits, and what became of it."""

from __future__ import annotations

from typing import Any

from baton_git.namespace.review.queue import ReviewQueue, ReviewResult


def waiting(remote: str, found: ReviewQueue | None) -> dict[str, Any]:
    """The records that wait, and what taking each would change here."""
    if found is None:
        return {"remote": remote, "waiting": []}
    items = [{"kind": one.kind, "id": one.id, "changes": [c.as_data() for c in one.changes]} for one in found.items]
    return {"remote": remote, "theirs": found.theirs, "commits": found.commits, "waiting": items}


def decided(remote: str, done: ReviewResult) -> dict[str, Any]:
    """The ids that were taken over and turned down, and how many are left."""
    return {
        "remote": remote,
        "taken": list(done.taken),
        "refused": list(done.refused),
        "left": done.left,
        "commit": done.commit,
    }
