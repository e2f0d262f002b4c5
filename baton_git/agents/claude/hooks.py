"""The hooks of Claude Code: `settings.json`, seconds. Without a timeout of its own SessionEnd has 1.5 of them."""

from baton_git.agents.hook_settings import Hook, HookSettings

SETTINGS = HookSettings(
    program="claude",
    folder=".claude",
    file="settings.json",
    folder_variable="CLAUDE_CONFIG_DIR",
    hooks=(
        Hook("SessionStart", 10, "startup|resume|clear|compact|fork"),
        Hook("UserPromptSubmit", 10),
        Hook("PreCompact", 20, "manual|auto"),
        Hook("Stop", 10),
        Hook("SessionEnd", 10),
    ),
)

TODO_TOOLS = {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"}
"""Brings back the to-do tools, which newer models do not get by themselves (2.1.233)."""
