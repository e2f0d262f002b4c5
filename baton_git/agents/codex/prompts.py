"""Extract the text that a person typed; Codex CLI also writes texts of its own as user messages."""

from __future__ import annotations

from baton_git.agents.fields import Record, table_at

_NOT_TYPED = (
    "<user_instructions>", "# AGENTS.md instructions for ", "<INSTRUCTIONS>", "<environment_context>",
    "<permissions instructions>", "<turn_aborted>", "<skill>", "<user_shell_command>", "<hook_prompt",
    "<subagent_notification>", "<goal_context>", "<collaboration_mode>", "<model_switch>", "<recommended_plugins>",
    "Warning: apply_patch was requested via", "Warning: The maximum number of unified exec processes",
    "Another language model started to solve this problem",
)  # fmt: skip
_BEFORE = ("# Context from my IDE setup:", "# Files mentioned by the user:")
_REQUEST = "## My request for Codex:"


def extract_typed_text(text: str) -> str:
    """Return the part of a text that the person typed; empty if there is none."""
    if text.lstrip().startswith(_BEFORE):
        _, separator, request = text.rpartition(_REQUEST)
        return request.strip() if separator else text.strip()
    return "" if text.lstrip().startswith(_NOT_TYPED) else text


def is_marked_typed(payload: Record) -> bool | None:
    """Whether the user typed a message, as Codex marks it (since 0.161); None if the message has no usable mark."""
    kinds = table_at(payload, "internal_chat_message_metadata_passthrough").get("content_item_kinds")
    if not isinstance(kinds, list) or kinds in ([], ["unknown"]):
        return None
    return any(str(kind).startswith("user.") for kind in kinds)
