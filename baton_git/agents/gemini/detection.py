"""Processes of Gemini CLI: a script of an npm package."""

from baton_git.agents.detection import AgentMarkers

ACTING = AgentMarkers(("GEMINI_CLI", "GEMINI_SESSION_ID"), ("gemini",), ("/@google/gemini-cli/",))
