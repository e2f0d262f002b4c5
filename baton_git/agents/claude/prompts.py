"""Extract the text that a person typed; Claude Code also writes texts of its own as user messages.

The markers come from 650 real transcripts (2.0.64 to 2.1.237) and from runs of 34 releases (0.2 to 2.1.329).
"""

from __future__ import annotations

import re
from typing import Any

from baton_git.agents.fields import Record, table_at, text_at, texts

CONTINUED = "This session is being continued from a previous conversation"
"""Beginning of a compaction summary; old versions have no other mark for it."""

_NOT_TYPED = (
    "Base directory for this skill", "Caveat: The messages below", "[Request interrupted by user", "[Image: ",
    "<local-command-", "<command-name>", "<command-args>", "<bash-", "<task-notification", "<user-prompt-submit-hook",
    "<teammate-message", "<agent-message", "<tool_use_error>", CONTINUED,
)  # fmt: skip
_INSERTED = re.compile(r"\s*<(ide_[a-z_]+|system-reminder)>.*?</\1>\s*", re.DOTALL)
_COMMAND = re.compile(r"\s*<command-message>.*?</command-message>\s*<command-name>(.*?)</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_MARKS = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly")
_BUILT_IN = frozenset(
    {
        "add-dir", "agents", "bashes", "bug", "clear", "compact", "config", "context", "copy", "cost", "doctor",
        "effort", "exit", "export", "extra-usage", "fast", "feedback", "help", "hooks", "ide", "install-github-app",
        "keybindings", "login", "logout", "mcp", "memory", "mobile", "model", "output-style", "passes", "permissions",
        "plan", "plugin", "privacy-settings", "quit", "rate-limit-options", "release-notes", "reload-plugins",
        "remote-control", "remote-env", "rename", "resume", "rewind", "sandbox", "settings", "skills", "stats",
        "status", "statusline", "stickers", "tag", "tasks", "terminal-setup", "theme", "think-back", "todos",
        "upgrade", "usage", "vim", "voice",
    }
)  # fmt: skip


def extract_typed_text(record: Record, content: Any) -> tuple[str, str | None]:
    """Return the text that a person typed, and the custom command in it or None; an empty text if nobody typed it."""
    kind = text_at(table_at(record, "origin"), "kind")
    if any(record.get(mark) for mark in _MARKS) or kind not in (None, "human"):
        return "", None
    text = "\n".join(part for part in map(_strip_inserted_text, texts(content, "text")) if part)
    command = _COMMAND.match(text)
    if command:
        return _read_custom_command(command[1], text)
    return ("" if text.lstrip().startswith("<command-message>") else text), None


def _strip_inserted_text(text: str) -> str:
    """Return a text without the tags that Claude Code puts before it; empty if Claude Code wrote the whole text."""
    at = 0
    while match := _INSERTED.match(text, at):
        at = match.end()
    text = text[at:]
    return "" if text.lstrip().startswith(_NOT_TYPED) else text


def _read_custom_command(name: str, text: str) -> tuple[str, str | None]:
    """Return the text and name of a custom command; for a built-in one, which is not about the work, an empty text."""
    name = "/" + name.strip().lstrip("/")
    if name[1:] in _BUILT_IN:
        return "", None
    arguments = _ARGUMENTS.search(text)
    return f"{name} {arguments[1].strip() if arguments else ''}".rstrip(), name
