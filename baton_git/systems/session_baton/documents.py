"""Read the whole document of session-baton."""

from __future__ import annotations

from typing import Any, NamedTuple

from baton_git.core.state import Unreadable
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.document import EXPORTED, to_document


class Read(NamedTuple):
    """A namespace as session-baton's clients read it; `baton` is None when it does not exist."""

    version: Revision
    baton: dict[str, Any] | None
    unreadable: tuple[Unreadable, ...] = ()


def read(ws: Workspace, at: str | None = None) -> Read:
    version = ws.branch.read(at)
    if version.commit is None:
        return Read(version, None)
    damaged = tuple(version.state.unreadable(EXPORTED))
    return Read(version, to_document(version.state), damaged)
