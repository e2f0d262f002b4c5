"""The hooks of Claude Code, in `settings.json`. Timeouts are in seconds; by default, SessionEnd has only 1.5."""

from collections.abc import Iterator, Mapping
from typing import Any

from baton_git.agents.registry import Hook, HookSettings

SETTINGS = HookSettings(
    program="claude",
    folder=".claude",
    file="settings.json",
    folder_variable="CLAUDE_CONFIG_DIR",
    project_servers=".mcp.json",
    own_servers=".claude.json",
    add_server="claude mcp add --scope user",
    hooks=(
        Hook("SessionStart", 10, "startup|resume|clear|compact|fork"),
        Hook("UserPromptSubmit", 10),
        Hook("PreCompact", 20, "manual|auto"),
        Hook("Stop", 10),
        Hook("SessionEnd", 10),
    ),
)


def find_switches(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield a description of each setting that switches hooks off."""
    for name in ("disableAllHooks", "allowManagedHooksOnly"):
        if settings.get(name) is True:
            yield f"{name} switches hooks off"
