"""Transcripts of Gemini CLI: `~/.gemini/tmp/<project>/chats/session-*.json`, since 0.37 or later `.jsonl`."""

from baton_git.agents.gemini.sessions import sessions, subagents
from baton_git.agents.gemini.tool_use import read_call, read_result
from baton_git.agents.gemini.transcript import events, recognises

__all__ = ["events", "read_call", "read_result", "recognises", "sessions", "subagents"]
