"""`git gc --prune=now` runs in a loop during syncs: no sync fails, and nothing is lost."""

from __future__ import annotations

import os
import subprocess
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from baton_git.core.names import Namespace
from baton_git.git.store import Repository, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.workspace import Actor, Workspace
from baton_git.verbs.sharing.sync import sync
from baton_git.verbs.work_items.loops import add_loop

pytestmark = pytest.mark.slow

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
SYNCS = 25


def clone(folder: Path, name: str) -> Workspace:
    top = folder / name
    subprocess.run(["git", "init", "-q", "-b", "main", str(top)], check=True)
    subprocess.run(["git", "-C", str(top), "remote", "add", "origin", "../origin.git"], check=True)
    branch = Branch(Store(Repository.open(top)), Namespace("x"))
    return Workspace(branch, Actor(f"{name} <{name}@example.org>", name), environment=dict(os.environ))


def prune_until(done: threading.Event, top: Path, failed: list[str]) -> None:
    while not done.is_set():
        ended = subprocess.run(["git", "-C", str(top), "gc", "-q", "--prune=now"], capture_output=True, text=True)
        if ended.returncode:
            failed.append(ended.stderr)


def test_no_sync_fails_while_git_prunes(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "origin.git")], check=True)
    ada, bob = clone(tmp_path, "ada"), clone(tmp_path, "bob")
    done, failed = threading.Event(), list[str]()
    pruning = threading.Thread(target=prune_until, args=(done, tmp_path / "bob", failed))
    pruning.start()
    try:
        for number in range(SYNCS):
            now = NOW + timedelta(minutes=number)
            add_loop(ada, now, action=f"did {number}", expect="it works", id=f"OL-{number}")
            assert not sync(ada, now).errors
            synced = sync(bob, now)
            assert synced.offline is None
            assert not synced.errors
    finally:
        done.set()
        pruning.join()
    assert not failed
    assert len(bob.branch.read().state.ids("open_loop")) == SYNCS
    subprocess.run(["git", "-C", str(tmp_path / "bob"), "fsck", "--strict"], check=True)
    subprocess.run(["git", "-C", str(tmp_path / "bob"), "gc", "-q", "--prune=now"], check=True)
