"""Opening a remote, which takes the git program: it brings the user's credentials, ssh and proxies."""

from __future__ import annotations

from collections.abc import Mapping

from baton_git.errors import NotFound
from baton_git.remotes import configured
from baton_git.remotes.complaints import masked
from baton_git.remotes.configured import Configured
from baton_git.remotes.git_program import GitProgram
from baton_git.remotes.remote import Progress, Remote
from baton_git.store import Repository


def open_remote(
    repository: Repository,
    name: str,
    environment: Mapping[str, str],
    *,
    progress: Progress | None = None,
    known: Configured | None = None,
) -> Remote:
    """The remote called `name`, or at that URL or path (a relative path is meant from the top of the work tree).

    `environment` is what programs are started with, and says where git and its files are. `known`: what git's
    configuration says, where that was asked already.

    Raises:
        NotFound: there is no such remote.
        RemoteError: there is no git program, or it cannot be started.
    """
    program = configured.git_for(repository, environment)
    known = known or configured.by_git(program)
    address = configured.checked(name, known.names)
    return GitProgram(program, address, known.ssh, progress, named=address in known.names)


def remote_names(repository: Repository, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The remotes that the configuration names, in its order.

    Raises:
        RemoteError: there is no git program, or it cannot be started.
    """
    return configured.by_git(configured.git_for(repository, environment)).names


def remote_url(repository: Repository, name: str, environment: Mapping[str, str]) -> str:
    """The address of a remote, as git would use it (`url.<base>.insteadOf`), fit for showing: without a password.

    Raises:
        NotFound: there is no such remote.
        RemoteError: there is no git program, or it cannot be started.
    """
    program = configured.git_for(repository, environment)
    printed = None if name.startswith("-") else program.ask("remote", "get-url", name)
    if printed is None:
        raise NotFound("remote", masked(name), hint="git remote -v shows those that there are")
    return masked(printed.rstrip("\n"))
