"""Keep the turns of a session on this machine, for recall."""

from __future__ import annotations

from baton_git.agents.extraction import Extraction
from baton_git.agents.turns import SessionTurns, TurnStore, turns_folder
from baton_git.namespace.workspace import Workspace


def turn_store(ws: Workspace) -> TurnStore:
    """Return the turns of all sessions of the workspace's repository."""
    return TurnStore(turns_folder(ws.branch.store.repository.common_dir))


def store_turns(ws: Workspace, extraction: Extraction, work_tree: str | None) -> None:
    """Store the turns of a session, bounded and without secrets, in place of those that were stored.

    Args:
        work_tree: the top of the work tree that it worked in; None: the folder that its transcript names.

    Raises:
        InvalidName: the id of the session cannot be a file name.
        WriteFailed: the disk refuses.
    """
    folder = work_tree or extraction.home or extraction.cwd
    session, namespace = extraction.session or "unknown", str(ws.branch.namespace)
    turn_store(ws).save(
        SessionTurns(
            extraction.agent, session, extraction.started, folder, extraction.branch, namespace, extraction.turns
        )
    )
