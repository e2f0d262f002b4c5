"""Locations of the settings of agent CLIs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from baton_git.agents.hook_settings import HookSettings

Scope = Literal["user", "project"]


def user_folder(settings: HookSettings, home: Path, environment: Mapping[str, str]) -> Path:
    """Return the folder with the user's settings of a CLI; environment variables may name another folder or home."""
    named = environment.get(settings.folder_variable) if settings.folder_variable else None
    if named:
        return Path(named)
    home_folder = environment.get(settings.home_variable) if settings.home_variable else None
    return (Path(home_folder) if home_folder else home) / settings.folder
