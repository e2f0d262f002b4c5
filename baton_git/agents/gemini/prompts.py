"""Extract the text that a person typed; Gemini CLI also writes texts of its own as user messages."""

from __future__ import annotations

from baton_git.agents.fields import Record, texts

SNAPSHOT = "<state_snapshot>"
"""Beginning of the summary of a compressed session."""

_ADDED, _END = "<hook_context>", "</hook_context>"
_NOT_TYPED = ("<session_context>", "/", "?", SNAPSHOT)
_WRITTEN = ("This is the Gemini CLI. We are setting up the context for our chat.", "System: Please continue.")


def extract_typed_text(message: Record) -> str:
    """Return the text that a person typed; empty if nobody typed it, or if it is a command (`/…` or `?`).

    The text shown on the screen is preferred.
    """
    shown = texts(message.get("displayContent")) or texts(message.get("content"))
    text = "\n".join(own for part in shown if (own := _remove_hook_context(part)))
    return "" if text.startswith(_NOT_TYPED + _WRITTEN) else text


def _remove_hook_context(text: str) -> str:
    """Return the text without the context that hooks added and the whitespace around that context."""
    pieces, at = [], 0
    while (start := text.find(_ADDED, at)) >= 0 and (end := text.find(_END, start)) >= 0:
        pieces.append(text[at:start].strip() if at else text[at:start].rstrip())
        at = end + len(_END)
    return "".join([*pieces, text[at:].lstrip() if at else text]).strip()
