"""Which agents' settings we know and where they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from baton_git.agents.claude.hooks import SETTINGS as CLAUDE
from baton_git.agents.codex.hooks import SETTINGS as CODEX
from baton_git.agents.gemini.hooks import SETTINGS as GEMINI
from baton_git.agents.hook_settings import HookSettings

SETTINGS: dict[str, HookSettings] = {"claude": CLAUDE, "codex": CODEX, "gemini": GEMINI}
"""By the name of the agent."""

Scope = Literal["user", "project"]


def user_folder(settings: HookSettings, home: Path, environment: Mapping[str, str]) -> Path:
    """The CLI's own folder of this user."""
    named = environment.get(settings.folder_variable) if settings.folder_variable else None
    if named:
        return Path(named)
    other = environment.get(settings.home_variable) if settings.home_variable else None
    return (Path(other) if other else home) / settings.folder
