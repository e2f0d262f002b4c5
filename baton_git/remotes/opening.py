"""Choosing the driver: the git program where there is one, else dulwich."""

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
    git: str | None = "git",
    known: Configured | None = None,
) -> Remote:
    """The remote called `name`, or at that URL or path (a relative path is meant from the top of the work tree).

    `environment` is what programs are started with, and says where git and its files are. `git` is the program to
    use, None for none. `known`: what git's configuration says, where that was asked already.

    Raises:
        NotFound: there is no such remote.
        RemoteError: it cannot be used without the git program, or git cannot be started.
    """
    program = configured.git_for(repository, environment, git)
    if program is not None:
        known = known or configured.by_git(program)
        address = configured.checked(name, known.names)
        return GitProgram(program, address, known.ssh, progress, named=address in known.names)
    from baton_git.remotes import dulwich_client  # slow to load, and rarely needed

    return dulwich_client.opened(repository, name, environment, progress)


def remote_names(repository: Repository, environment: Mapping[str, str], *, git: str | None = "git") -> tuple[str, ...]:
    """The remotes that the configuration names, in its order."""
    program = configured.git_for(repository, environment, git)
    if program is not None:
        return configured.by_git(program).names
    from baton_git.remotes import git_files

    return git_files.GitFiles.of(repository, environment).names


def remote_url(repository: Repository, name: str, environment: Mapping[str, str], *, git: str | None = "git") -> str:
    """The address of a remote, as git would use it (`url.<base>.insteadOf`), fit for showing: without a password.

    Raises:
        NotFound: there is no such remote.
    """
    program = configured.git_for(repository, environment, git)
    if program is None:
        from baton_git.remotes import git_files

        return masked(git_files.GitFiles.of(repository, environment).address(name, push=False))
    printed = None if name.startswith("-") else program.ask("remote", "get-url", name)
    if printed is None:
        raise NotFound("remote", masked(name), hint="git remote -v shows those that there are")
    return masked(printed.rstrip("\n"))
