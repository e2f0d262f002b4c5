"""The agents' CLIs of which sessions can be started, and in which surroundings a session begins."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from baton_git.agents.claude import launcher as claude
from baton_git.agents.codex import launcher as codex
from baton_git.agents.gemini import launcher as gemini
from baton_git.agents.launcher import Launcher

STARTERS: dict[str, Launcher] = {"claude": claude, "codex": codex, "gemini": gemini}
"""By name; the first one that is installed is used where nobody says which."""

SPAWNED = "BATON_SPAWNED"
"""The variable that tells a session (and its hooks) which record says who started it."""

_TIES = frozenset({
    "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_ENV_FILE",
    "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_EFFORT", "GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR",
    "GEMINI_CWD", "GEMINI_PLANS_DIR", "BATON_SESSION", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX",
    "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH",
})  # fmt: skip
"""What ties a process to the session (or the git command) around it, and must not reach another session."""


def surroundings(environment: Mapping[str, str], spawned: str) -> dict[str, str]:
    """The environment of a new session, whose record is called `spawned`."""
    kept = {
        name: value
        for name, value in environment.items()
        if name not in _TIES and not name.startswith("CLAUDE_PLUGIN_")
    }
    return {**kept, SPAWNED: spawned}


def executable(cli: str, environment: Mapping[str, str]) -> str | None:
    """Where the program of `cli` is; None when it is not installed."""
    return shutil.which(cli, path=environment.get("PATH"))
