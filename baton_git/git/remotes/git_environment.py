"""The environment of a git that we start: the user's, less what ties it to another repository or lets it ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_LOCAL: Final = {
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_DEFAULT_HASH", "GIT_DIR",
    "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_PROTOCOL", "GIT_QUARANTINE_PATH",
    "GIT_REFLOG_ACTION", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
}  # fmt: skip
"""`git rev-parse --local-env-vars` (a hook inherits them) and what else names a repository; not its `GIT_CONFIG_*`,
which hold what the user said with `git -c`."""

_SILENT: Final = {
    "LC_ALL": "C",  # its words are read
    "LANGUAGE": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # set but empty: git then asks neither core.askPass nor SSH_ASKPASS
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_PAGER": "cat",
    "BATON_HOOK": "1",  # a hook of ours that this git runs has nothing to do
}


def for_git(environment: Mapping[str, str]) -> dict[str, str]:
    """For a git that is told by `--git-dir` where it works, and whom nobody can answer."""
    pushed = ("GIT_PUSH_OPTION_",)  # what a server's hook was given
    kept = {name: text for name, text in environment.items() if name not in _LOCAL and not name.startswith(pushed)}
    return kept | _SILENT
