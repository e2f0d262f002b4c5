"""Real git repositories, isolated from the machine's own git configuration."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from store_world import REF, Writer, files_below

from baton_git.git.store import Repository, Store

Git = Callable[..., str]


@pytest.fixture(autouse=True)
def _sealed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "0")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Person")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "person@home")


@pytest.fixture
def git() -> Git:
    def run(where: Path, *args: str, code: int = 0, text: str | None = None) -> str:
        done = subprocess.run(["git", "-C", str(where), *args], capture_output=True, text=True, input=text, timeout=60)
        assert done.returncode == code, f"git {args}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    return run


@pytest.fixture
def top(tmp_path: Path, git: Git) -> Path:
    """Return a work tree with one commit on main."""
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-b", "main")
    (folder / "readme").write_text("hello\n")
    git(folder, "add", "readme")
    git(folder, "commit", "-m", "first")
    return folder


@pytest.fixture
def store(top: Path) -> Iterator[Store]:
    with Store(Repository.open(top)) as opened:
        yield opened


@pytest.fixture
def writer(store: Store) -> Writer:
    return Writer(store)


@pytest.fixture
def new_writer() -> Iterator[Callable[..., Writer]]:
    """Return a function that creates writers for other repositories; their stores are closed at the end."""
    stores = []

    def make(path: Path, ref: str = REF) -> Writer:
        opened = Store(Repository.open(path))
        stores.append(opened)
        return Writer(opened, ref)

    yield make
    for opened in stores:
        opened.close()


@pytest.fixture
def snapshot() -> Callable[[Path], dict[str, bytes]]:
    return files_below
