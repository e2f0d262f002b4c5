"""Read the whole document of session-baton."""

from __future__ import annotations

from typing import Any, NamedTuple

from baton_git.core.state import Unreadable
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.document import EXPORTED, to_document


class DocumentRead(NamedTuple):
    """The baton of a namespace as session-baton's clients read it; None when the namespace does not exist."""

    version: Revision
    baton: dict[str, Any] | None
    unreadable: tuple[Unreadable, ...] = ()


def read_document(ws: Workspace, at: str | None = None) -> DocumentRead:
    version = ws.branch.read(at)
    if version.commit is None:
        return DocumentRead(version, None)
    damaged = tuple(version.state.unreadable(EXPORTED))
    return DocumentRead(version, to_document(version.state), damaged)
