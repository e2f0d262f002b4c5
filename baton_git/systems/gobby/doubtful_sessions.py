"""Decide whether a session that ran in this repository's folder belongs to another project."""

from __future__ import annotations

from pathlib import Path

from baton_git.agents.mining.belonging import is_folder
from baton_git.agents.mining.evidence import Evidence, find_evidence
from baton_git.agents.mining.git_use import read_git_use
from baton_git.agents.mining.weighing import Doubt, RepositoryEvidence, Weighed, find_doubt
from baton_git.core.errors import BatonError
from baton_git.git.store import Repository
from baton_git.namespace.namespaces import list_namespaces
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.record import Handoff


def open_repository_evidence(ws: Workspace, clone: Repository | None = None) -> RepositoryEvidence:
    """Return what the repository of the workspace, or another clone of the project, shows of itself."""
    names = map(str, (ws.branch.namespace, *list_namespaces(ws.branch.store, ws.branch.prefix)))
    if clone is not None:
        return RepositoryEvidence(clone, clone.work_tree, ws.environment, names)
    return RepositoryEvidence(ws.branch.store.repository, ws.folder, ws.environment, names)


def weigh_transcript(
    repository: RepositoryEvidence, agent: str, path: Path, folder: str | None, named: Evidence, changed: float,
    *, is_removed: bool = False,
) -> Doubt | None:  # fmt: skip
    """Return why the session of a transcript probably worked in another project, or None.

    Args:
        folder: the folder of the session, for a transcript that does not name it.
        named: what a search for patterns finds in the transcript.
        changed: when the transcript was last changed, in seconds since 1970.
        is_removed: whether hooks ran in the folder, and it was removed since.

    Raises as the reader of the transcript does.
    """
    return find_doubt(Weighed(named, changed, lambda: read_git_use(agent, path, folder), is_removed), repository)


def is_stored(ws: Workspace, agent: str, session: str) -> bool:
    """Return whether the namespace has a handoff of a session."""
    state, id_ = ws.branch.read().state, f"{agent}/{session}"
    return id_ in {*state.ids(Handoff.kind), *state.ids(Handoff.kind, archived=True)}


def find_session_doubt(ws: Workspace, agent: str, session: str, path: Path, folder: str | None) -> Doubt | None:
    """Return why a session whose hooks run here probably worked in another project, or None.

    A session whose handoff the namespace already has is not in doubt, nor one whose transcript cannot be read, since
    nothing of it can be saved either.
    """
    if is_stored(ws, agent, session):
        return None
    try:
        repository = open_repository_evidence(ws)
        changed, is_removed = path.stat().st_mtime, folder is not None and not is_folder(folder)
        return weigh_transcript(repository, agent, path, folder, find_evidence(path), changed, is_removed=is_removed)
    except (BatonError, OSError):
        return None
