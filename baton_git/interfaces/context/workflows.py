"""Read the folders of workflows, and their settings in git's configuration."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from baton_git.agents.registry import AGENTS
from baton_git.core.errors import InvalidArgument
from baton_git.git.hooks.shipped import find_shipped
from baton_git.interfaces.context.invocation import Call
from baton_git.systems.gobby.workflow.files import WorkflowFolders

ENABLED, DISABLED = "baton.enabledWorkflows", "baton.disabledWorkflows"


def workflow_folders(call: Call) -> WorkflowFolders:
    """Return the folders of workflows, and the user's settings for them, which no tracked file can change."""
    top = call.settings.folder
    return WorkflowFolders(
        project=top / ".baton" / "workflows" if top is not None and not call.settings.is_own_store else None,
        user=config_home() / "baton" / "workflows",
        shipped=find_shipped("workflows"),
        enabled=frozenset(read_list(call, ENABLED)),
        disabled=frozenset(read_list(call, DISABLED)),
        notify=_words(call, "baton.notifyCommand"),
        arguments=tuple((cli, _words(call, f"baton.{cli}Arguments")) for cli in AGENTS),
    )


def read_list(call: Call, key: str) -> list[str]:
    """Return the names in a comma-separated setting."""
    return [name.strip() for name in call.settings.config.get(key.lower(), "").split(",") if name.strip()]


def _words(call: Call, key: str) -> tuple[str, ...]:
    """Return the command or arguments in a setting, split as a shell would.

    Raises:
        InvalidArgument: the setting cannot be split, and the call is not lenient.
    """
    text = call.settings.config.get(key.lower(), "")
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        fault = InvalidArgument(f"git config {key} cannot be split into words: {error}")
        if not call.settings.is_lenient:
            raise fault from None
        call.settings.add_problem(fault, "it is ignored")
        return ()


def config_home() -> Path:
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(folder) if folder.startswith("/") else Path.home() / ".config"
