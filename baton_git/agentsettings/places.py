"""Which agents' settings we know, where they are, and what they should say."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from baton_git.agents.claude.hooks import SETTINGS as CLAUDE
from baton_git.agents.codex.hooks import SETTINGS as CODEX
from baton_git.agents.gemini.hooks import SETTINGS as GEMINI
from baton_git.agents.hooking import HookSettings
from baton_git.agentsettings.entries import MARK

SETTINGS: dict[str, HookSettings] = {"claude": CLAUDE, "codex": CODEX, "gemini": GEMINI}
"""By the name of the agent."""

Scope = Literal["user", "project"]
_PROGRAM = re.compile(r"\|\| exec (.+?) hook --agent ")


def user_folder(settings: HookSettings, home: Path, environment: Mapping[str, str]) -> Path:
    """The CLI's own folder of this user."""
    named = environment.get(settings.folder_variable) if settings.folder_variable else None
    if named:
        return Path(named)
    other = environment.get(settings.home_variable) if settings.home_variable else None
    return (Path(other) if other else home) / settings.folder


def hook_command(agent: str, program: Sequence[str]) -> str:
    """What a CLI runs. A missing program must stop nobody's work, and the CLI be the parent of ours."""
    start = f"exec {shlex.join(program)} hook --agent {agent}"
    return f"! command -v {shlex.quote(program[0])} >/dev/null 2>&1 || {start} {MARK}"


def program_in(command: str) -> list[str]:
    """The words that start baton in such a command; none when it is of another make."""
    found = _PROGRAM.search(command)
    try:
        return shlex.split(found[1]) if found else []
    except ValueError:
        return []


def plugin_command() -> str:
    """The same for the plugin, which serves two CLIs: Codex tells its own by PLUGIN_ROOT."""
    starts = '[ -n "$PLUGIN_ROOT" ] && exec baton hook --agent codex; exec baton hook --agent claude'
    return f"! command -v baton >/dev/null 2>&1 || {{ {starts}; }} {MARK}"
