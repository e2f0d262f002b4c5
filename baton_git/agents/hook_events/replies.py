"""The reply of a hook: one JSON object, or nothing where any output would do harm.

Claude Code takes whatever PreCompact prints for instructions to its compaction, and Gemini CLI shows the error stream
where the standard output is empty.
"""

from __future__ import annotations

import json
from typing import Any

from baton_git.agents.hook_events.payloads import PROMPT, START, STOP, Payload
from baton_git.agents.registry import AGENTS

MAX_BYTES = 10_000
"""Of a whole reply: beyond that Claude Code (UTF-16 units) and Codex (UTF-8 bytes) show only its beginning."""


def reply(payload: Payload, context: str = "", block: str | None = None) -> str:
    """What to print.

    Args:
        context: for the model; only a start and a prompt have room for it.
        block: why the agent must not stop, or not take the prompt; None lets it.
    """
    answer: dict[str, Any] = {}
    if block is not None and payload.moment in (STOP, PROMPT):
        answer |= {"decision": "block", "reason": block}
    if context and payload.moment in (START, PROMPT):
        answer["hookSpecificOutput"] = {"hookEventName": payload.event, "additionalContext": context}
    if not answer:
        return nothing(payload.agent)
    return json.dumps(answer, ensure_ascii=False)


def nothing(agent: str | None) -> str:
    """The answer that says nothing."""
    return AGENTS[agent].empty_reply if agent else ""


def fits(payload: Payload, context: str) -> bool:
    """Whether a reply with this context reaches the model whole."""
    return len(reply(payload, context).encode("utf-8", "replace")) <= MAX_BYTES
