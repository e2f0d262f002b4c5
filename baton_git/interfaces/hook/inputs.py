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
    from baton_git.verbs.sessions.meeting import Meeting


class HookInputs(NamedTuple):
    """The inputs for one hook event.

    Attributes:
        memory: the stored states of sessions.
        options: which facts are extracted.
        folders: returns the folders of workflows; called only at the start of a session and for events that a workflow
            handles.
        home, environment: determine where agent CLIs keep their transcripts.
        pid: the process id of the agent.
        paif: PAIF's settings of the work tree.
        meeting: what the remotes answered that were asked for a namespace, which is not here; None if they were not.
        recalls: whether earlier sessions are searched for each prompt.
    """

    memory: HookSessionStore
    options: Options
    folders: Callable[[], WorkflowFolders]
    home: Path
    environment: Mapping[str, str]
    pid: int = 0
    paif: PaifConfig | None = None
    recalls: bool = False
    meeting: Meeting | None = None
