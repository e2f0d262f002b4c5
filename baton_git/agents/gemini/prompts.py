"""What a person typed, apart from what Gemini CLI itself writes in the person's name."""

from __future__ import annotations

import re

from baton_git.agents.fields import Record, texts

SNAPSHOT = "<state_snapshot>"
"""How the summary of a compressed session begins."""

_ADDED = re.compile(r"\s*<hook_context>.*?</hook_context>\s*", re.DOTALL)
_NOT_TYPED = ("<session_context>", "/", "?", SNAPSHOT)
_WRITTEN = ("This is the Gemini CLI. We are setting up the context for our chat.", "System: Please continue.")


def typed(message: Record) -> str:
    """The text that a person typed; empty when nobody did. `displayContent` is what the screen showed of it."""
    shown = texts(message.get("displayContent")) or texts(message.get("content"))
    text = "\n".join(own for part in shown if (own := _ADDED.sub("", part).strip()))
    return "" if text.startswith(_NOT_TYPED + _WRITTEN) else text
