"""The markers of Codex CLI's processes: an executable `codex`, which an npm package may start.

CODEX_HOME and CODEX_API_KEY are not markers, because users set them.
"""

from baton_git.agents.detection import AgentMarkers

MARKERS = AgentMarkers(
    ("CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_CI"),
    ("codex",),
    ("/@openai/codex/",),
)
