"""The sessions of an agent, by its checkpoints."""

from __future__ import annotations

from typing import Any

from baton_git.systems.paif.checkpoints import SessionOf


def session_of(one: SessionOf) -> dict[str, Any]:
    """A session as its newest checkpoint tells it, with the ids of all."""
    metadata, context = one.newest.metadata, one.newest.context
    return {
        **metadata.model_dump(mode="json"),
        "conversation_summary": context.conversation_summary,
        "current_focus": context.current_focus,
        "pending_items": list(context.pending_items),
        "checkpoints": list(one.ids),
    }
