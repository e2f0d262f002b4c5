"""Transcripts of Codex CLI: `<home>/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl`, in five formats so far."""

from baton_git.agents.codex.sessions import sessions, subagents
from baton_git.agents.codex.tool_use import read_call, read_result
from baton_git.agents.codex.transcript import events, recognises

__all__ = ["events", "read_call", "read_result", "recognises", "sessions", "subagents"]
