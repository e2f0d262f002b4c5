"""Open a remote, given its name, URL or path."""

from __future__ import annotations

import os
from collections.abc import Mapping

from baton_git.git.remotes import configured
from baton_git.git.remotes.configured import ConfiguredRemotes
from baton_git.git.remotes.git_command import Progress
from baton_git.git.remotes.remote import Remote
from baton_git.git.store import Repository


def open_remote(
    repository: Repository,
    name: str,
    environment: Mapping[str, str],
    *,
    progress: Progress | None = None,
    known: ConfiguredRemotes | None = None,
) -> Remote:
    """Open the remote with this name, URL or path; a relative path starts at the top of the work tree.

    `environment` has the environment variables for git. `known` is the configuration, if it was already read.

    Raises:
        NotFound: the remote is not configured.
        RemoteError: git is not installed or cannot be started.
    """
    program = configured.find_git(repository, environment)
    known = known or configured.read_configured(program)
    address = configured.check_remote_name(name, known.names)
    return Remote(program, address, known.ssh, progress, named=address in known.names)


def remote_names(repository: Repository, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the configured remotes, in the order of the configuration.

    Raises:
        RemoteError: a remote is configured, but git is not installed or cannot be started.
    """
    if not configured.has_git(environment) and not repository.config().keys("remote"):
        return ()
    return configured.read_configured(configured.find_git(repository, environment)).names


def remote_address(
    repository: Repository, name: str, environment: Mapping[str, str], *, known: ConfiguredRemotes | None = None
) -> str:
    """Return the URL or absolute path of a remote, with `insteadOf` applied. It may contain a login: see `mask_logins`.

    Raises:
        NotFound: the remote is not configured.
        RemoteError: git is not installed or cannot be started.
    """
    program = configured.find_git(repository, environment)
    known = known or configured.read_configured(program)
    printed = program.ask("ls-remote", "--get-url", configured.check_remote_name(name, known.names))
    return _make_absolute(repository, (printed or name).rstrip("\n"))


def _make_absolute(repository: Repository, address: str) -> str:
    """Make a relative path absolute; return URLs unchanged."""
    head = address.partition("/")[0]
    if ":" in head or address.startswith("/"):
        return address
    return os.path.normpath((repository.work_tree or repository.common_dir) / address)
