"""Open a remote, given its name, URL or path."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from typing import NamedTuple

from baton_git.core.errors import NotFound, RemoteError
from baton_git.git.remotes.error_messages import mask_logins
from baton_git.git.remotes.git_command import Progress, RemoteGit, SshSettings
from baton_git.git.remotes.remote import Remote
from baton_git.git.store import Repository
from baton_git.git.store.config import parse_listing

_KEYS = r"^(remote\..*\.(url|pushurl)|core\.sshcommand|ssh\.variant)$"
_REMOTE = re.compile(r"remote\.(.+)\.(?:url|pushurl)\Z", re.DOTALL)


class ConfiguredRemotes(NamedTuple):
    """The names of the remotes, in the order of the configuration, and the ssh settings."""

    names: tuple[str, ...]
    ssh: SshSettings


def has_git(environment: Mapping[str, str]) -> bool:
    return _program(environment) is not None


def _program(environment: Mapping[str, str]) -> str | None:
    return shutil.which("git", path=environment.get("PATH", ""))


def find_git(repository: Repository, environment: Mapping[str, str]) -> RemoteGit:
    """Return the git program found on the PATH of `environment`.

    Raises:
        RemoteError: git is not on the PATH.
    """
    program = _program(environment)
    if not program:
        raise RemoteError("the git program is not on the PATH", hint="install git, which baton uses to contact remotes")
    return RemoteGit(program, repository, environment)


def read_configured(git: RemoteGit) -> ConfiguredRemotes:
    """Read the remotes and ssh settings with `git config`, which includes all configuration files."""
    printed = git.ask("config", "-z", "--get-regexp", _KEYS) or ""
    settings = parse_listing(printed)
    names = dict.fromkeys(match[1] for key, _ in settings if (match := _REMOTE.match(key)))
    values = dict(settings)
    return ConfiguredRemotes(tuple(names), SshSettings(values.get("core.sshcommand"), values.get("ssh.variant")))


def check_remote_name(name: str, names: tuple[str, ...]) -> str:
    """Return `name` if it is the name of a remote, or looks like a URL or a path.

    Raises:
        NotFound: it is neither; the hint lists the configured remotes.
    """
    is_address = any(sign in name for sign in ":/\\") or name in {".", ".."}
    if name and not name.startswith("-") and (name in names or is_address):
        return name
    known = f"the remotes here are {', '.join(names)}" if names else "no remote is configured (git remote add NAME URL)"
    raise NotFound("remote", mask_logins(name), hint=f"{known}; a URL or a path can be given instead of a name")


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
    program = find_git(repository, environment)
    known = known or read_configured(program)
    address = check_remote_name(name, known.names)
    return Remote(program, address, known.ssh, progress, named=address in known.names)


def remote_names(repository: Repository, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the configured remotes, in the order of the configuration.

    Raises:
        RemoteError: a remote is configured, but git is not installed or cannot be started.
    """
    if not has_git(environment) and not repository.config().keys("remote"):
        return ()
    return read_configured(find_git(repository, environment)).names


def remote_address(
    repository: Repository, name: str, environment: Mapping[str, str], *, known: ConfiguredRemotes | None = None
) -> str:
    """Return the URL or absolute path of a remote, with `insteadOf` applied. It may contain a login: see `mask_logins`.

    Raises:
        NotFound: the remote is not configured.
        RemoteError: git is not installed or cannot be started.
    """
    program = find_git(repository, environment)
    known = known or read_configured(program)
    printed = program.ask("ls-remote", "--get-url", check_remote_name(name, known.names))
    address = (printed or name).rstrip("\n")
    if ":" in address.partition("/")[0] or address.startswith("/"):  # a URL, or an absolute path
        return address
    return os.path.normpath((repository.work_tree or repository.common_dir) / address)
