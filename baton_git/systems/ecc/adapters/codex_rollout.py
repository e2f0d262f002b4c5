"""`codex-rollout`: sessions of Codex CLI, from its own transcripts.

Targets: `codex:` before `latest` or (the beginning of) an id, or a path.
"""

from __future__ import annotations

from baton_git.systems.ecc.adapters.transcripts import Transcripts

ID = "codex-rollout"
DESCRIPTION = "Transcripts of Codex CLI"
TARGET_TYPES: tuple[str, ...] = ("codex-rollout", "transcript")

_TRANSCRIPTS = Transcripts(ID, agent="codex", prefix="codex", runtime="codex-cli")
can_open = _TRANSCRIPTS.can_open
open_session = _TRANSCRIPTS.open_session
sessions = _TRANSCRIPTS.sessions
