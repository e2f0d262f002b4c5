"""Parse the standard input of a hook, independent of the agent CLI."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from baton_git.agents.registry import AGENTS
from baton_git.core.codecs.nesting import check_nesting

START, PROMPT, COMPACT, STOP, END = "session_start", "prompt_submit", "pre_compact", "stop", "session_end"

MOMENTS = {
    "SessionStart": START,
    "UserPromptSubmit": PROMPT,
    "BeforeAgent": PROMPT,
    "PreCompact": COMPACT,
    "PreCompress": COMPACT,
    "Stop": STOP,
    "AfterAgent": STOP,
    "SessionEnd": END,
}
"""The events of all agents that are listened to. Gemini CLI has its own names for three of them."""

_BACKGROUND = ("<task-notification>", "<task-notification ")
_ADDED = "</hook_context>"


class Payload(NamedTuple):
    """A hook event.

    Attributes:
        event: as the agent calls it; a reply names it.
        moment: one of `MOMENTS`.
        detail: why: `source` of a start, `trigger` of a compaction, `reason` of an end; empty when nothing is said.
        transcript: the path of the session's file; empty where the agent does not say.
        prompt: what the person asked, without what hooks put before it.
        response: the model's last answer.
        aside: it is a subagent's, or a message of a background task: not the session's own.
        data: all of it, as it came.
    """

    agent: str
    event: str
    moment: str
    session: str
    detail: str = ""
    transcript: str = ""
    cwd: str = ""
    prompt: str = ""
    response: str = ""
    aside: bool = False
    data: Mapping[str, Any] = {}


def parse(text: str, agent: str | None, environment: Mapping[str, str]) -> Payload | None:
    """What `text` tells; None where that is nothing that we listen to.

    Args:
        agent: whose hook this is; None: it is told by the payload and the environment.
    """
    try:
        check_nesting(text)
        data = json.loads(text)
    except ValueError:
        return None
    if not isinstance(data, dict):
        return None
    event, session = _text(data, "hook_event_name"), _text(data, "session_id")
    moment = MOMENTS.get(event)
    if moment is None or not session:
        return None
    prompt = _own(_text(data, "prompt"))
    return Payload(
        agent or guess_agent(data, environment),
        event,
        moment,
        session,
        _text(data, "source") or _text(data, "trigger") or _text(data, "reason"),
        _text(data, "transcript_path"),
        _text(data, "cwd"),
        prompt,
        _text(data, "last_assistant_message") or _text(data, "prompt_response"),
        "agent_id" in data or prompt.startswith(_BACKGROUND),
        data,
    )


def guess_agent(data: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """Which agent that must be, when nobody says."""
    return next(name for name in reversed(AGENTS) if AGENTS[name].sent(data, environment))


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) and "\0" not in value else ""


def _own(prompt: str) -> str:
    """Gemini CLI gives a prompt with what hooks have put before it."""
    if prompt.startswith("<hook_context>") and _ADDED in prompt:
        return prompt.partition(_ADDED)[2].strip()
    return prompt
