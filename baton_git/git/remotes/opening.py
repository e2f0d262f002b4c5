"""Opening a remote, which takes the git program: it brings the user's credentials, ssh and proxies."""

from __future__ import annotations

import os
from collections.abc import Mapping

from baton_git.git.remotes import configured
from baton_git.git.remotes.configured import Configured
from baton_git.git.remotes.git_command import Progress
from baton_git.git.remotes.git_program import GitProgram
from baton_git.git.remotes.remote import Remote
from baton_git.git.store import Repository


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
    known = known or configured.read_configured(program)
    address = configured.check_remote_name(name, known.names)
    return GitProgram(program, address, known.ssh, progress, named=address in known.names)


def remote_names(repository: Repository, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The remotes that the configuration names, in its order.

    Raises:
        RemoteError: there is a remote, but no git program, or it cannot be started.
    """
    if not configured.has_git(environment) and not repository.config().keys("remote"):
        return ()
    return configured.read_configured(configured.git_for(repository, environment)).names


def remote_address(
    repository: Repository, name: str, environment: Mapping[str, str], *, known: Configured | None = None
) -> str:
    """Where a remote is, as git would go there (after `insteadOf`, paths whole). It may hold a login: see `masked`.

    Raises:
        NotFound: there is no such remote.
        RemoteError: there is no git program, or it cannot be started.
    """
    program = configured.git_for(repository, environment)
    known = known or configured.read_configured(program)
    asked = program.ask("ls-remote", "--get-url", configured.check_remote_name(name, known.names))
    return _whole(repository, (asked or name).rstrip("\n"))


def _whole(repository: Repository, address: str) -> str:
    """A path as it is without a folder to stand in; anything else as it is."""
    head = address.partition("/")[0]
    if ":" in head or address.startswith("/"):
        return address
    return os.path.normpath((repository.work_tree or repository.common_dir) / address)
