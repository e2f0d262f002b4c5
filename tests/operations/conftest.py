"""Workspaces on real repositories, for tests of the verbs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from world import workspace

from baton_git.git.store import Repository, Store
from baton_git.namespace.workspace import Workspace


@pytest.fixture
def open_workspace(tmp_path: Path) -> Iterator[Callable[..., Workspace]]:
    """Opens workspaces, each with a store of its own, on the bare repository `name`."""
    stores = []

    def make(session: str | None = "s1", *, name: str = "state.git", **more: object) -> Workspace:
        store = Store(Repository.create_bare(tmp_path / name))
        stores.append(store)
        return workspace(store, session, **more)

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def ws(open_workspace: Callable[..., Workspace]) -> Workspace:
    return open_workspace()
