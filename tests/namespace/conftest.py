"""Machines around one bare repository, for tests of merging, syncing and reviewing."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from folder_copies import FolderCopy
from machines import NOW, Clock, Machine, machine


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return the bare repository that is the `origin` of all machines."""
    return _bare(tmp_path)


def _bare(folder: Path) -> Path:
    bare = folder / "origin.git"
    if not bare.exists():
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", "--template=", str(bare)], check=True)
    return bare


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Machine]]:
    """Return a function that opens the machine with a given name, or creates it."""
    made: list[Machine] = []
    clock = Clock(NOW + timedelta(hours=1))

    def make_one(name: str, **reach: object) -> Machine:
        _bare(tmp_path)
        made.append(machine(tmp_path, name, clock, **reach))
        return made[-1]

    yield make_one
    for one in made:
        one.store.close()


@pytest.fixture
def ada(make: Callable[..., Machine]) -> Machine:
    """Return a machine without records; `bob` is another."""
    return make("ada")


@pytest.fixture
def bob(make: Callable[..., Machine]) -> Machine:
    return make("bob")


@pytest.fixture(scope="session")
def template() -> dict[str, FolderCopy]:
    """Copies of the first pair of machines and of its remote; empty until a test needs them."""
    return {}


@pytest.fixture
def pair(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    template: dict[str, FolderCopy],
    make: Callable[..., Machine],
) -> tuple[Machine, Machine]:
    """Return two machines with the same records: a loop `OL-1` and a follow-up `FU-1`."""
    if not template:
        folder = tmp_path_factory.mktemp("template")
        _fill(folder)
        template |= {name: FolderCopy.of(folder / name) for name in ("origin.git", "ada", "bob")}
    for name, copy in template.items():
        copy.write(tmp_path / name)
    return make("ada"), make("bob")


def _fill(template: Path) -> None:
    """Create the pair of machines and their remote in `template`."""
    _bare(template)
    ada, bob = (machine(template, name, Clock()) for name in ("ada", "bob"))
    ada.loop("OL-1")
    ada.follow_up("FU-1")
    ada.sync()
    bob.sync()
    assert ada.tip == bob.tip
    for one in (ada, bob):
        one.store.close()
