"""The memory between sessions of AI coding agents, kept as small text files in git."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    from baton_git.interfaces.library.namespace import OpenNamespace

__version__ = "0.1.0"


def open(  # noqa: A001  callers write `baton_git.open(path)`
    path: str | PathLike[str] = ".",
    *,
    namespace: str | None = None,
    session: str | None = None,
    agent: str | None = None,
    create: bool = False,
) -> OpenNamespace:
    """Open a namespace of a git repository, and return an object that has the verbs as methods.

    Args:
        path: a repository, or a folder in its work tree.
        namespace: the name of the namespace; None means the one that the command `baton` would use in that folder:
            BATON_NAMESPACE or the setting `baton.namespace` of git, else the name of the folder, or the only namespace
            of the remotes.
        session: the session that acts; None means the session that `boot` begins.
        agent: the agent that acts.
        create: whether to create what is missing: a bare repository at `path` at once, and the namespace with the first
            write.

    Raises:
        NotARepository: there is no repository at `path`, and `create` is false.
        InvalidName: the namespace, the session or the agent is not a valid name.
    """
    from baton_git.interfaces.library.namespace import open_namespace  # not needed for `__version__` or the hooks

    return open_namespace(path, namespace, session, agent, create=create)
