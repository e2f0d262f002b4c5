"""In which surroundings a session of an agent's CLI is started."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from fnmatch import fnmatchcase

from baton_git.agents.registry import AGENTS

SPAWNED = "BATON_SPAWNED"
"""The variable that tells a session (and its hooks) which record says who started it."""

_GIT_VARIABLES = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH",
)  # fmt: skip


def _is_private(name: str) -> bool:
    """Whether a variable ties a process to the session (or the git command) around it."""
    private = (variable for cli in AGENTS.values() for variable in cli.private_variables)
    return name in ("BATON_SESSION", *_GIT_VARIABLES) or any(fnmatchcase(name, variable) for variable in private)


def surroundings(environment: Mapping[str, str], spawned: str) -> dict[str, str]:
    """The environment of a new session, whose record is called `spawned`."""
    kept = {name: value for name, value in environment.items() if not _is_private(name)}
    return {**kept, SPAWNED: spawned}


def executable(cli: str, environment: Mapping[str, str]) -> str | None:
    """Where the program of `cli` is; None when it is not installed."""
    return shutil.which(cli, path=environment.get("PATH"))
