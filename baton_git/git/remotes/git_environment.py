"""The environment for git: the user's, without variables that select another repository or allow prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from baton_git.core.child_environment import without_repository

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
