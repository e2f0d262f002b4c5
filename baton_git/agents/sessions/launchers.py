"""The executable and the environment with which an agent session is started."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from fnmatch import fnmatchcase

from baton_git.agents.registry import AGENTS

SPAWNED = "BATON_SPAWNED"
"""The environment variable with the id of a session's spawn record, for the session and its hooks."""

_GIT_VARIABLES = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH",
)  # fmt: skip


def _is_private(name: str) -> bool:
    """Whether a variable ties a process to the session or git command in which it runs."""
    private = (variable for cli in AGENTS.values() for variable in cli.private_variables)
    return name in ("BATON_SESSION", *_GIT_VARIABLES) or any(fnmatchcase(name, variable) for variable in private)


def make_session_environment(environment: Mapping[str, str], spawned: str) -> dict[str, str]:
    """Return the environment of a new session with the spawn record `spawned`."""
    kept = {name: value for name, value in environment.items() if not _is_private(name)}
    return {**kept, SPAWNED: spawned}


def find_executable(cli: str, environment: Mapping[str, str]) -> str | None:
    """Return the path of the CLI's executable; None when it is not installed."""
    return shutil.which(cli, path=environment.get("PATH"))
