"""Extract prompts and whose they are; Claude Code also writes texts of its own as user messages.

The markers come from 650 real transcripts (2.0.64 to 2.1.237) and from runs of 34 releases (0.2 to 2.1.329).
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from baton_git.agents.events import AGENT, HARNESS, PERSON, SCHEDULE, UNKNOWN
from baton_git.agents.fields import Record, table_at, text_at, texts

CONTINUED = "This session is being continued from a previous conversation"
"""Beginning of a compaction summary; old versions have no other mark for it."""

INTERRUPTION = "[Request interrupted by user"
"""Beginning of the message that Claude Code writes when somebody stops a turn."""

_NOT_TYPED = (
    "Base directory for this skill", "Caveat: The messages below", INTERRUPTION, "[Image: ", "<local-command-",
    "<command-name>", "<command-args>", "<bash-", "<user-prompt-submit-hook", "<tool_use_error>", CONTINUED,
)  # fmt: skip
_ENVELOPE = re.compile(r"\s*<([A-Za-z][\w.:-]*)(?:\s[^<>]*)?>.*</\1>\s*\Z", re.DOTALL)
_ENVELOPES = {
    "task-notification": HARNESS, "ci-monitor-event": HARNESS, "monitor-event": HARNESS,
    "scheduled-task": SCHEDULE, "tick": SCHEDULE,
    "teammate-message": AGENT, "agent-message": AGENT, "cross-session-message": AGENT,
}  # fmt: skip
_KINDS = {
    "human": PERSON, "person": PERSON, "composer": PERSON, "voice-call": PERSON,
    "peer": AGENT, "coordinator": AGENT, "teammate": AGENT, "agent": AGENT,
    "task-notification": HARNESS, "auto-continuation": HARNESS, "observer-activity": HARNESS, "plugin": HARNESS,
    "suggestion": HARNESS, "scheduled-task": SCHEDULE, "schedule": SCHEDULE,
}  # fmt: skip
"""The origin of a message by the kind that Claude Code states; other kinds are of unknown origin."""
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


class PromptText(NamedTuple):
    """The text of a prompt, the custom command in it or None, and whose prompt it is."""

    text: str
    command: str | None = None
    origin: str = PERSON


NO_PROMPT = PromptText("")


def extract_prompt(record: Record, content: Any) -> PromptText:
    """Return the prompt in a message; an empty text if it is none, as nobody sent it to the model as one."""
    if any(record.get(mark) for mark in _MARKS):
        return NO_PROMPT
    origin = read_stated_origin(record)
    text = "\n".join(part for part in map(_strip_inserted_text, texts(content, "text")) if part)
    command = _COMMAND.match(text)
    if command:
        return PromptText(*_read_custom_command(command[1], text), origin or PERSON)
    if text.lstrip().startswith("<command-message>"):
        return NO_PROMPT
    return PromptText(text, None, origin or guess_origin(text))


def read_stated_origin(record: Record) -> str | None:
    """Return the origin that a record states; None if it states none."""
    kind = text_at(table_at(record, "origin"), "kind")
    if kind is not None:
        return _KINDS.get(kind, UNKNOWN)
    return PERSON if record.get("promptSource") == "typed" else None


def guess_origin(text: str) -> str:
    """Return the origin of a message without a stated one.

    What is wrapped as a whole in one element is not what a person types, and new releases bring new elements, so an
    element that is not in the list is of unknown origin.
    """
    envelope = _ENVELOPE.match(text)
    if envelope is None:
        # a notification may be cut, or have text after it
        return next((origin for tag, origin in _ENVELOPES.items() if re.match(rf"\s*<{tag}[\s>]", text)), PERSON)
    return _ENVELOPES.get(envelope[1], UNKNOWN)


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
