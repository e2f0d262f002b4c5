"""The standard input of a hook, independent of the agent CLI, and the reply: one JSON object, or no output.

Any output would do harm in some cases: Claude Code treats the output of PreCompact as instructions for the compaction,
and Gemini CLI shows the standard error stream when the standard output is empty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from baton_git.agents.registry import AGENTS
from baton_git.core.codecs.limits import check_nesting

START, PROMPT, COMPACT, STOP, END = "session_start", "prompt_submit", "pre_compact", "stop", "session_end"

EVENT_KINDS = {
    "SessionStart": START,
    "UserPromptSubmit": PROMPT,
    "BeforeAgent": PROMPT,
    "PreCompact": COMPACT,
    "PreCompress": COMPACT,
    "Stop": STOP,
    "AfterAgent": STOP,
    "SessionEnd": END,
}
"""The kind of each event that baton handles. Gemini CLI has names of its own for three of the kinds."""

_BACKGROUND = ("<task-notification>", "<task-notification ")
_CONTEXT_END = "</hook_context>"


class Payload(NamedTuple):
    """A hook event.

    Attributes:
        event: the agent CLI's name of the event; a reply repeats it.
        kind: the kind of the event: the value in `EVENT_KINDS` for its name.
        detail: the `source` of a start, `trigger` of a compaction or `reason` of an end; empty when missing.
        transcript: the path of the session's transcript; empty when missing.
        prompt: the person's prompt, without the context that hooks put before it.
        response: the model's last answer.
        size: the size of the transcript in bytes when the event came; -1 if it comes now.
        aside: whether the event belongs to a subagent or a background task rather than to the session itself.
        data: the whole payload.
    """

    agent: str
    event: str
    kind: str
    session: str
    detail: str = ""
    transcript: str = ""
    cwd: str = ""
    prompt: str = ""
    response: str = ""
    aside: bool = False
    data: Mapping[str, Any] = {}
    size: int = -1


_COMMAND = re.compile(r"/[\w:.-]*(?!\S)")


def asks(prompt: str) -> bool:
    """Whether a prompt says anything to the agent: it is not empty, and no command (`/review`), but may be a path."""
    return bool(prompt.strip()) and _COMMAND.match(prompt.lstrip()) is None


def parse(text: str, agent: str | None, environment: Mapping[str, str]) -> Payload | None:
    """Parse the standard input of a hook; return None when it is not an event that we handle.

    Args:
        agent: the agent CLI that runs the hook; None: infer it from the payload and the environment.
    """
    try:
        check_nesting(text)
        data = json.loads(text)
    except ValueError:
        return None
    if not isinstance(data, dict):
        return None
    event, session = _get_text(data, "hook_event_name"), _get_text(data, "session_id")
    kind = EVENT_KINDS.get(event)
    if kind is None or not session or _is_from_copilot(data, agent, session, environment):
        return None
    prompt = _strip_hook_context(_get_text(data, "prompt"))
    return Payload(
        agent or guess_agent(data, environment),
        event,
        kind,
        session,
        _get_text(data, "source") or _get_text(data, "trigger") or _get_text(data, "reason"),
        _get_text(data, "transcript_path"),
        _get_text(data, "cwd"),
        prompt,
        _get_text(data, "last_assistant_message") or _get_text(data, "prompt_response"),
        "agent_id" in data or prompt.startswith(_BACKGROUND),
        data,
    )


def _is_from_copilot(data: Mapping[str, Any], agent: str | None, session: str, environment: Mapping[str, str]) -> bool:
    """Whether Copilot CLI runs the hook, which it finds in the project's settings of Claude Code.

    Copilot 1.0.102 sets COPILOT_CLI in all hooks, has a source `new` and the first prompt, and adds the time, with its
    own transcript or none; Claude Code 2.1.332 sends a transcript and no time. A session of Claude Code that began in a
    shell of Copilot CLI inherits its variable, but has one of its own.
    """
    if agent not in (None, "claude"):
        return False
    if data.get("source") == "new" or "initial_prompt" in data:
        return True
    transcript = _get_text(data, "transcript_path")
    if "/.copilot/" in transcript or (agent is not None and "timestamp" in data and not transcript):
        return True
    return bool(environment.get("COPILOT_CLI")) and environment.get("CLAUDE_CODE_SESSION_ID") != session


def guess_agent(data: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """Infer the agent CLI that sent a payload."""
    return next(name for name in reversed(AGENTS) if AGENTS[name].is_sender(data, environment))


def _get_text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) and "\0" not in value else ""


def _strip_hook_context(prompt: str) -> str:
    """Remove the context that hooks added before the prompt; Gemini CLI sends both as the prompt."""
    if prompt.startswith("<hook_context>") and _CONTEXT_END in prompt:
        return prompt.partition(_CONTEXT_END)[2].strip()
    return prompt


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
