"""The copy of a handover in the work tree, which KAIROS' own clients read and write."""

from __future__ import annotations

from pathlib import Path

from baton_git.core.errors import Busy, InvalidDocument, LimitExceeded, StepConflict, StoreError
from baton_git.interfaces.context.invocation import Call
from baton_git.namespace.workspace import Workspace
from baton_git.systems.kairos.work_tree_copy import Copy

IN_THE_WAY = (InvalidDocument, LimitExceeded, StepConflict, Busy, StoreError)
"""What keeps a copy from being taken over or written; who only asks where a run stands is told, and gets the answer."""


def copy_of(call: Call, ws: Workspace, file: Path | None) -> Copy | None:
    """Return the workspace copy that the caller wants, or that is set up for the repository."""
    path = file if file is not None else call.settings.handover_file
    return None if path is None else Copy.at(path, ws.branch.store.repository.common_dir, ws.branch.namespace)
