"""The markers of Gemini CLI's processes: a script of an npm package."""

from baton_git.agents.detection import AgentMarkers

MARKERS = AgentMarkers(("GEMINI_CLI", "GEMINI_SESSION_ID"), ("gemini",), ("/@google/gemini-cli/",))
