"""The reply of a hook: one JSON object, or nothing if any output would do harm.

Claude Code treats the output of PreCompact as instructions for the compaction, and Gemini CLI shows the standard error
stream when the standard output is empty.
"""

from __future__ import annotations

import json
from typing import Any

from baton_git.agents.hook_events.payloads import PROMPT, START, STOP, Payload
from baton_git.agents.registry import AGENTS

MAX_BYTES = 10_000
"""Maximum size of a reply. If it is longer, Claude Code (in UTF-16 units) and Codex (in UTF-8 bytes) show only its
beginning."""


def reply(payload: Payload, context: str = "", block: str | None = None) -> str:
    """Return the text that a hook prints.

    Args:
        context: text for the model; only replies to a start or a prompt can carry it.
        block: the reason why the agent must not stop, or must reject the prompt; None allows it.
    """
    answer: dict[str, Any] = {}
    if block is not None and payload.kind in (STOP, PROMPT):
        answer |= {"decision": "block", "reason": block}
    if context and payload.kind in (START, PROMPT):
        answer["hookSpecificOutput"] = {"hookEventName": payload.event, "additionalContext": context}
    if not answer:
        return nothing(payload.agent)
    return json.dumps(answer, ensure_ascii=False)


def nothing(agent: str | None) -> str:
    """Return the reply of a hook that has nothing to report."""
    return AGENTS[agent].empty_reply if agent else ""


def fits(payload: Payload, context: str) -> bool:
    """Whether a reply with this context reaches the model uncut."""
    return len(reply(payload, context).encode("utf-8", "replace")) <= MAX_BYTES
