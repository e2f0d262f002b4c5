"""Codex CLI: `<home>/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl`, in five forms so far."""

from baton_git.agents.codex.sessions import sessions
from baton_git.agents.codex.tool_use import deed, outcome
from baton_git.agents.codex.transcript import events, recognises

__all__ = ["deed", "events", "outcome", "recognises", "sessions"]
