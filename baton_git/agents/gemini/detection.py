"""Gemini CLI: a script of an npm package."""

from baton_git.agents.detection import Acting

ACTING = Acting(("GEMINI_CLI", "GEMINI_SESSION_ID"), ("gemini",), ("/@google/gemini-cli/",))
