"""Find work trees that have a branch checked out.

A write moves the branch, but does not change these work trees, so `git status` there shows the write as reverted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from baton_git.core.errors import StoreError
from baton_git.git.files import durable_files
from baton_git.git.store.repository import Repository, linked_top


def find_checkout(repository: Repository, ref: str) -> Path | None:
    """Return the top folder of a work tree whose HEAD is `ref`, or None. Unreadable work trees are skipped."""
    wanted = f"ref: {ref}".encode("utf-8", "surrogateescape")
    for head, top in _heads(repository):
        with suppress(StoreError, OSError, ValueError):  # ValueError: a path with a NUL in it
            if durable_files.content(head).strip() == wanted:
                work_tree = top()
                if work_tree is not None:
                    return work_tree
    return None


def _heads(repository: Repository) -> Iterator[tuple[str, Callable[[], Path | None]]]:
    """Yield each HEAD file, and a function that returns the top folder of its work tree."""
    common = repository.common_dir
    yield f"{common}{os.sep}HEAD", lambda: _main_top(repository)
    linked = f"{common}{os.sep}worktrees{os.sep}"
    for name in _names(linked):
        yield f"{linked}{name}{os.sep}HEAD", partial(linked_top, Path(linked, name))


def list_work_trees(repository: Repository) -> list[Path]:
    """Return the top folders of the work trees, including deleted linked ones that git has not pruned yet.

    Unreadable work trees are skipped.
    """
    tops = []
    linked = f"{repository.common_dir}{os.sep}worktrees{os.sep}"
    for top in (partial(_main_top, repository), *(partial(linked_top, Path(linked, name)) for name in _names(linked))):
        with suppress(StoreError, OSError, ValueError):
            tops.append(top())
    return [top for top in tops if top is not None]


def _names(worktrees: str) -> list[str]:
    try:
        return sorted(os.listdir(worktrees))
    except OSError:
        return []


def _main_top(repository: Repository) -> Path | None:
    if repository.git_dir == repository.common_dir:
        return repository.work_tree
    return Repository.open(repository.common_dir).work_tree
