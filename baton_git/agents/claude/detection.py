"""The markers of Claude Code: environment variables, an executable `claude`, or `cli.js` of an npm package."""

from baton_git.agents.detection import AgentMarkers

MARKERS = AgentMarkers(
    ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDE_CODE_ENTRYPOINT"),
    ("claude",),
    ("/@anthropic-ai/claude-code/",),
)
