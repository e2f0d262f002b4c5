"""Read the settings of the systems for hooks and background work: workflows, extraction, PAIF."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from baton_git.agents.extraction import Options
from baton_git.agents.registry import AGENTS
from baton_git.core.errors import BatonError, InvalidArgument
from baton_git.git.hooks.shipped import find_shipped
from baton_git.git.store import Repository
from baton_git.interfaces.context.invocation import Call
from baton_git.interfaces.context.repository_choice import config_home
from baton_git.systems.gobby.handoff_settings import read_handoff_options
from baton_git.systems.gobby.workflow.files import WorkflowFolders
from baton_git.systems.paif.settings_file import read_settings

if TYPE_CHECKING:
    from baton_git.systems.paif.settings import PaifConfig

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


def read_call_options(call: Call) -> Options:
    """Return the options for extracting facts that apply to the work tree of a call; no repository is created.

    A lenient call ignores an invalid file, and adds it to its problems.

    Raises:
        BatonError: as `read_handoff_options`.
    """
    named = call.settings.options.repo or os.environ.get("BATON_REPO")
    repository = Repository.open(Path(named)) if named else Repository.discover(Path.cwd())
    ignore = (lambda error: call.settings.add_problem(error, "it is ignored")) if call.settings.is_lenient else None
    top = repository.work_tree if repository is not None else None
    return read_handoff_options(top, config_home(), ignore=ignore)


def paif_config(call: Call) -> PaifConfig | None:
    """Return PAIF's settings; None if there are none, or a lenient call found invalid ones and added a problem.

    Raises:
        InvalidDocument: the settings are invalid.
        StoreError: the file cannot be read.
    """
    try:
        return read_settings(call.settings.folder)
    except BatonError as error:
        if not call.settings.is_lenient:
            raise
        call.settings.add_problem(error, "it is ignored")
        return None


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
