"""The hooks of Gemini CLI, in `settings.json`.

Timeouts are in milliseconds. A matcher is an exact string, not a pattern, so we use none.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from baton_git.agents.registry import Hook, HookSettings

SETTINGS = HookSettings(
    program="gemini",
    folder=".gemini",
    file="settings.json",
    home_variable="GEMINI_CLI_HOME",
    comments=True,
    name="baton",
    unit=1000,
    skills=".agents/skills",
    project_servers=".gemini/settings.json",
    user_servers="settings.json",
    hooks=(
        Hook("SessionStart", 10_000),
        Hook("BeforeAgent", 10_000),
        Hook("AfterAgent", 10_000),
        Hook("PreCompress", 10_000),
        Hook("SessionEnd", 10_000),
    ),
)


def find_switches(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield a description of each setting that switches our hooks off."""
    config = settings.get("hooksConfig")
    if not isinstance(config, dict):
        return
    if config.get("enabled") is False:
        yield "hooksConfig.enabled switches hooks off"
    disabled = config.get("disabled")
    if isinstance(disabled, list) and "baton" in disabled:
        yield "hooksConfig.disabled names baton: /hooks enable baton in gemini"
