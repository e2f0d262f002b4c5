"""What the surroundings say about workflows: their folders, and what git's untracked configuration switches."""

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
    """Where workflows are, and which of them the user wants. A tracked file can set none of it."""
    top = call.settings.folder
    return WorkflowFolders(
        project=top / ".baton" / "workflows" if top is not None and not call.settings.is_own_store else None,
        user=_config_home() / "baton" / "workflows",
        shipped=find_shipped("workflows"),
        enabled=frozenset(listed(call, ENABLED)),
        disabled=frozenset(listed(call, DISABLED)),
        notify=_words(call, "baton.notifyCommand"),
        arguments=tuple((cli, _words(call, f"baton.{cli}Arguments")) for cli in AGENTS),
    )


def listed(call: Call, key: str) -> list[str]:
    """The names of a list with commas."""
    return [one.strip() for one in call.settings.config.get(key.lower(), "").split(",") if one.strip()]


def _words(call: Call, key: str) -> tuple[str, ...]:
    """The command or arguments that a setting holds, as a shell would split them."""
    text = call.settings.config.get(key.lower(), "")
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        said = InvalidArgument(f"git config {key} is no list of words: {error}")
        if call.settings.problems is None:
            raise said from None
        call.settings.problems.append(f"{said}; it is passed over")
        return ()


def _config_home() -> Path:
    named = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(named) if named.startswith("/") else Path.home() / ".config"
