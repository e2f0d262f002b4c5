"""Machine-specific inputs for handling one hook event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from baton_git.agents.extraction import Options
from baton_git.agents.hook_events.hook_session import HookSessionStore

if TYPE_CHECKING:
    from baton_git.systems.gobby.workflow.files import WorkflowFolders
    from baton_git.systems.paif.settings import PaifConfig


class HookInputs(NamedTuple):
    """This machine's settings.

    Attributes:
        memory: the sessions that hooks have seen.
        options: which facts are extracted.
        folders: gives the places of workflows; called only at events that some workflow wants.
        home, environment: where the agents' CLIs keep their transcripts.
        pid: the process of the agent.
        paif: PAIF's settings of the work tree.
        recalls: whether prompts are looked up.
    """

    memory: HookSessionStore
    options: Options
    folders: Callable[[], WorkflowFolders]
    home: Path
    environment: Mapping[str, str]
    pid: int = 0
    paif: PaifConfig | None = None
    recalls: bool = False
