"""`gemini-chat`: sessions of Gemini CLI, from its own transcripts.

Targets: `gemini:` before `latest` or (the beginning of) an id, or a path.
"""

from __future__ import annotations

from baton_git.systems.ecc.adapters.transcripts import Transcripts

ID = "gemini-chat"
DESCRIPTION = "Transcripts of Gemini CLI"
TARGET_TYPES: tuple[str, ...] = ("gemini-chat", "transcript")

_TRANSCRIPTS = Transcripts(ID, agent="gemini", prefix="gemini", runtime="gemini-cli")
can_open = _TRANSCRIPTS.can_open
open_session = _TRANSCRIPTS.open_session
sessions = _TRANSCRIPTS.sessions
