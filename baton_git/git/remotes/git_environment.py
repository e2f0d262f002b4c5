"""The environment for git: the user's, without variables that select another repository or allow prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_LOCAL: Final = {
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_DEFAULT_HASH", "GIT_DIR",
    "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_PROTOCOL", "GIT_QUARANTINE_PATH",
    "GIT_REFLOG_ACTION", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
}  # fmt: skip
"""The variables of `git rev-parse --local-env-vars`, which hooks inherit, and others that would change the command.

`GIT_CONFIG_*` is not in this list, because those variables have the settings that the user passed with `git -c`.
"""

_SILENT: Final = {
    "LC_ALL": "C",  # git's messages are parsed
    "LANGUAGE": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # set but empty: git then runs neither core.askPass nor SSH_ASKPASS
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_PAGER": "cat",
    "BATON_HOOK": "1",  # disables baton's git hooks for this command
}


def for_git(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a git command that runs with `--git-dir` and must not prompt."""
    return without_repository(environment) | _SILENT


def without_repository(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without the variables that belong to one repository or to one command of git."""
    pushed = ("GIT_PUSH_OPTION_",)  # set by git for the hooks of a server
    return {name: text for name, text in environment.items() if name not in _LOCAL and not name.startswith(pushed)}
