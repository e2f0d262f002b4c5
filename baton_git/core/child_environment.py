"""The environment of child processes: without baton's own secrets, and without variables of git for one repository."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_SECRET: Final = re.compile(r"BATON_\w*(?:TOKEN|KEY|SECRET|PASSWORD)\w*", re.IGNORECASE)


def is_secret_variable(name: str) -> bool:
    """Whether a variable of this name holds a token or key of baton, which child processes must not inherit."""
    return _SECRET.fullmatch(name) is not None


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not is_secret_variable(name)}


_LOCAL_TO_GIT: Final = {
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_DEFAULT_HASH", "GIT_DIR",
    "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_PROTOCOL", "GIT_QUARANTINE_PATH",
    "GIT_REFLOG_ACTION", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
}  # fmt: skip
"""The variables of `git rev-parse --local-env-vars`, which hooks inherit, and others that would change the command.

`GIT_CONFIG_*` is not in this list, because those variables have the settings that the user passed with `git -c`.
"""


def without_repository(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without the variables that belong to one repository or to one command of git."""
    pushed = ("GIT_PUSH_OPTION_",)  # set by git for the hooks of a server
    return {
        name: text for name, text in environment.items() if name not in _LOCAL_TO_GIT and not name.startswith(pushed)
    }
