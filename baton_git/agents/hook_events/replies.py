"""The reply of a hook: one JSON object, or no output where any output would do harm.

Claude Code treats the output of PreCompact as instructions for the compaction, and Gemini CLI shows the standard error
stream when the standard output is empty.
"""

from __future__ import annotations

import json
from typing import Any

from baton_git.agents.hook_events.payloads import PROMPT, START, STOP, Payload
from baton_git.agents.registry import AGENTS

MAX_BYTES = 10_000
"""Maximum size of a reply in bytes. Of a longer reply, Claude Code (which counts UTF-16 units) and Codex (which counts
UTF-8 bytes) show only the beginning."""


def reply(payload: Payload, context: str = "", block: str | None = None) -> str:
    """Return the text that a hook prints.

    Args:
        context: text for the model; only replies to a start or a prompt can carry it.
        block: the reason why the agent must go on instead of stopping, or must reject the prompt; None: no blocking.
    """
    answer: dict[str, Any] = {}
    if block is not None and payload.kind in (STOP, PROMPT):
        answer |= {"decision": "block", "reason": block}
    if context and payload.kind in (START, PROMPT):
        answer["hookSpecificOutput"] = {"hookEventName": payload.event, "additionalContext": context}
    if not answer:
        return make_empty_reply(payload.agent)
    return json.dumps(answer, ensure_ascii=False)


def make_empty_reply(agent: str | None) -> str:
    """Return the reply of a hook that has nothing to report."""
    return AGENTS[agent].empty_reply if agent else ""


def fits(payload: Payload, context: str) -> bool:
    """Whether a reply with this context reaches the model uncut."""
    return len(reply(payload, context).encode("utf-8", "replace")) <= MAX_BYTES
