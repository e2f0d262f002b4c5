"""Find the repository of a hook, and whether it may have a namespace, by looking only at files.

If the repository certainly has no namespace, the hook exits before the rest of the program is imported.
"""

from __future__ import annotations

import os
from typing import NamedTuple


class RepositoryPaths(NamedTuple):
    """The directories of a repository.

    Attributes:
        git_dir: the git directory of this work tree.
        common_dir: the directory shared by all work trees.
    """

    git_dir: str
    common_dir: str


def find_repository(folder: str) -> RepositoryPaths | None:
    """Return the repository that contains `folder`; None outside of one."""
    here = os.path.abspath(folder)
    while True:
        paths = _find_at(here)
        if paths is not None:
            return paths
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def _find_at(folder: str) -> RepositoryPaths | None:
    dot_git = os.path.join(folder, ".git")
    if os.path.isdir(dot_git):
        return RepositoryPaths(dot_git, dot_git)
    if os.path.isfile(dot_git):  # a linked work tree, or a submodule
        line = _read_first_line(dot_git)
        if line.startswith("gitdir:"):
            git_dir = os.path.join(folder, line[len("gitdir:") :].strip())
            common = _read_first_line(os.path.join(git_dir, "commondir"))
            return RepositoryPaths(git_dir, os.path.normpath(os.path.join(git_dir, common)) if common else git_dir)
    if os.path.isfile(os.path.join(folder, "HEAD")) and os.path.isdir(os.path.join(folder, "objects")):
        return RepositoryPaths(folder, folder)
    return None


def may_hold_state(repository: RepositoryPaths) -> bool:
    """Whether the repository may have a namespace; False only when it certainly has none."""
    common = repository.common_dir
    if os.path.isdir(os.path.join(common, "baton")) or os.path.isdir(os.path.join(common, "refs", "heads", "baton")):
        return True
    try:
        return _has_packed_ref(os.path.join(common, "packed-refs")) or _has_remote_ref(
            os.path.join(common, "refs", "remotes")
        )
    except OSError:
        return True


def _has_packed_ref(file: str) -> bool:
    if not os.path.exists(file):
        return False
    with open(file, "rb") as packed:
        return b"/baton/" in packed.read()


def _has_remote_ref(folder: str) -> bool:
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return any(os.path.isdir(os.path.join(folder, name, "baton")) for name in names)


def _read_first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline().strip()
    except OSError:
        return ""
