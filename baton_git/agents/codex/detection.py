"""Codex CLI: a program that an npm package starts. CODEX_HOME and CODEX_API_KEY are the user's own settings."""

from baton_git.agents.detection import AgentMarkers

ACTING = AgentMarkers(
    ("CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_CI"),
    ("codex",),
    ("/@openai/codex/",),
)
