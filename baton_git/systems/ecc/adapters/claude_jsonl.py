"""`claude-jsonl`: sessions of Claude Code, from its own transcripts.

Targets: `claude-jsonl:` before `latest` or (the beginning of) an id, or a path.
"""

from __future__ import annotations

from baton_git.systems.ecc.adapters.transcripts import Transcripts

ID = "claude-jsonl"
DESCRIPTION = "Transcripts of Claude Code"
TARGET_TYPES: tuple[str, ...] = ("claude-jsonl", "transcript")

_TRANSCRIPTS = Transcripts(ID, agent="claude", prefix="claude-jsonl", runtime="claude-code")
can_open = _TRANSCRIPTS.can_open
open_session = _TRANSCRIPTS.open_session
sessions = _TRANSCRIPTS.sessions
