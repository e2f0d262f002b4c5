"""The memory between sessions of AI coding agents, kept as small text files in git."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    from baton_git.interfaces.library.namespace import OpenNamespace

__version__ = "0.1.0"


def open(  # noqa: A001  the name says it best: baton_git.open(path)
    path: str | PathLike[str] = ".",
    *,
    namespace: str | None = None,
    session: str | None = None,
    agent: str | None = None,
    create: bool = False,
) -> OpenNamespace:
    """Open a namespace of a git repository; the verbs are methods of the returned object.

    Args:
        path: a repository, or a folder in its work tree.
        namespace: the namespace; None means git config baton.namespace, else the folder's name.
        session: the acting session; None means the one that `boot` begins.
        agent: the acting agent.
        create: whether the first write creates the namespace, and a bare repository at `path`, if there is none.

    Raises:
        NotARepository: there is no repository at `path`.
        InvalidName: the namespace, the session or the agent is not a valid name.
    """
    from baton_git.interfaces.library.namespace import open_namespace  # not needed for `__version__` or the hooks

    return open_namespace(path, namespace, session, agent, create=create)
