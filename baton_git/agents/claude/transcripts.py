"""Transcripts of Claude Code: `<config>/projects/<folder>/<session>.jsonl`, one record per block of a message."""

from baton_git.agents.claude.sessions import sessions, subagents
from baton_git.agents.claude.tool_use import read_call, read_result
from baton_git.agents.claude.transcript import events, recognises

__all__ = ["events", "read_call", "read_result", "recognises", "sessions", "subagents"]
