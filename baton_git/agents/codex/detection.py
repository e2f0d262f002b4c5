"""Processes of Codex CLI: an executable that an npm package starts.

CODEX_HOME and CODEX_API_KEY are not markers, because users set them.
"""

from baton_git.agents.detection import AgentMarkers

ACTING = AgentMarkers(
    ("CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_CI"),
    ("codex",),
    ("/@openai/codex/",),
)
