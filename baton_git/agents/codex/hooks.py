"""The hooks of Codex CLI, in `hooks.json`. Timeouts are in seconds, at most 3 for SessionEnd. Hooks must be trusted."""

from baton_git.agents.hook_settings import Hook, HookSettings

SETTINGS = HookSettings(
    program="codex",
    folder=".codex",
    file="hooks.json",
    folder_variable="CODEX_HOME",
    skills=".agents/skills",
    project_servers=".codex/config.toml",
    user_servers="config.toml",
    hooks=(
        Hook("SessionStart", 10, "startup|resume|clear|compact|fork"),
        Hook("UserPromptSubmit", 10),
        Hook("PreCompact", 20, "manual|auto"),
        Hook("Stop", 10),
        Hook("SessionEnd", 3),
    ),
)
