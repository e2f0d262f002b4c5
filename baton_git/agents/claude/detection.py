"""Processes of Claude Code: an executable, or `cli.js` of an npm package."""

from baton_git.agents.detection import AgentMarkers

ACTING = AgentMarkers(
    ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDE_CODE_ENTRYPOINT"),
    ("claude",),
    ("/@anthropic-ai/claude-code/",),
)
