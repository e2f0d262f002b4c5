"""A rename of a namespace that is killed before any of its changes to files is finished or taken back by a command."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from folder_copies import FolderCopy

import baton_git
from baton_git.core.names import Namespace
from baton_git.git.store import Repository, Store
from baton_git.namespace.machine_state import PendingRename, PendingRenames

Baton = Callable[..., Any]
Git = Callable[..., str]
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.link", "os.truncate", "subprocess.Popen")
MOST = 200


def kill_before(number: int, action: Callable[[], object]) -> bool:
    """Run an action in a forked process that is killed before its change `number` to files (from 0).

    Returns:
        Whether it was killed; False if the action made fewer changes.
    """
    pid = os.fork()
    if pid == 0:
        left = number

        def count(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal left
            writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if event in CHANGES or writes:
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1

        try:
            sys.addaudithook(count)
            action()
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def rename(top: Path, old: str, new: str, remote: str | None = None) -> None:
    with baton_git.open(top, namespace=old) as opened:
        opened.rename_namespace(name=old, new_name=new, remote=remote, yes=True)


@pytest.fixture
def filled(baton: Baton, git: Git, top: Path) -> FolderCopy:
    baton("init")
    baton("followup", "add", "Ask Bo", "--id", "FU-1")
    baton("boot", "--session", "s1")
    return FolderCopy.of(top)


def list_items(baton: Baton, top: Path, name: str) -> list[str]:
    return [record["id"] for record in baton("list", "followups", "-n", name, "--json", cwd=top).json["records"]]


def list_refs(top: Path) -> set[str]:
    with Store(Repository.open(top)) as store:
        return {ref for ref in store.refs("refs/") if ref.endswith(("/work", "/shop"))}


@pytest.mark.parametrize(
    ("command", "every"),
    [
        pytest.param(("work", "shop"), 3, id="finished"),
        pytest.param(("shop", "work"), 7, id="taken back"),
        pytest.param(("work", "shop"), 1, id="finished at every step", marks=pytest.mark.slow),
        pytest.param(("shop", "work"), 1, id="taken back at every step", marks=pytest.mark.slow),
    ],
)
def test_a_rename_killed_at_any_step_is_settled_by_a_command(
    baton: Baton, filled: FolderCopy, tmp_path: Path, command: tuple[str, str], every: int
):
    steps = seen_by_doctor = 0
    for number in range(0, MOST, every):
        top = filled.write(tmp_path / "killed" / str(number) / "work")
        if not kill_before(number, partial(rename, top, "work", "shop")):
            break
        steps += 1
        was_begun = bool(PendingRenames(top / ".git").all())
        told = baton("doctor", "leftovers", cwd=top, code=None).out
        assert ("the rename of work to shop was not finished" in told) is was_begun, (number, told)
        seen_by_doctor += was_begun
        if command == ("shop", "work") and not (was_begun or list_refs(top) == {"refs/heads/baton/shop"}):
            continue  # nothing has happened yet
        assert baton("list", "followups", "--json", cwd=top).json["records"][0]["id"] == "FU-1", number
        rename(top, *command)
        name = command[1]
        assert list_refs(top) == {f"refs/heads/baton/{name}", f"refs/baton-kept/heads/baton/{name}"}, number
        assert (list_items(baton, top, name), PendingRenames(top / ".git").all()) == (["FU-1"], [])
        assert "2 checks passed" in baton("doctor", "refs", "leftovers", cwd=top).out
    else:
        pytest.fail(f"the rename did not end within {MOST} changes")
    assert steps > seen_by_doctor > 2


@pytest.mark.slow
def test_a_rename_on_a_remote_is_finished_there_too(baton: Baton, git: Git, top: Path, tmp_path: Path):
    hub, copies = tmp_path / "hub.git", {}
    git(tmp_path, "init", "-q", "--bare", "hub.git")
    git(top, "remote", "add", "origin", str(hub))
    baton("followup", "add", "Ask Bo", "--id", "FU-1")
    baton("sync")
    copies = {folder: FolderCopy.of(folder) for folder in (top, hub)}
    for number in range(30, MOST, 12):
        for folder, copy in copies.items():
            shutil.rmtree(folder)
            copy.write(folder)
        if not kill_before(number, lambda: rename(top, "work", "shop", "origin")):
            break
        told = baton("doctor", "leftovers", code=None).out
        assert "baton namespace rename work shop --remote origin" in told, number
        baton("namespace", "rename", "work", "shop", "--remote", "origin", "--yes")
        assert git(hub, "for-each-ref", "--format=%(refname)") == "refs/heads/baton/shop"
        assert (list_items(baton, top, "shop"), PendingRenames(top / ".git").all()) == (["FU-1"], [])
    assert number > 40


def test_doctor_finishes_an_interrupted_rename(baton: Baton, filled: FolderCopy, tmp_path: Path):
    for number in range(3, MOST, 8):
        top = filled.write(tmp_path / "fixed" / str(number) / "work")
        if not kill_before(number, partial(rename, top, "work", "shop")):
            break
        if PendingRenames(top / ".git").all():
            baton("doctor", "leftovers", "--fix", "--yes", cwd=top)
            assert (list_items(baton, top, "shop"), PendingRenames(top / ".git").all()) == (["FU-1"], [])


def test_another_rename_waits_for_the_interrupted_one(baton: Baton, filled: FolderCopy, top: Path):
    pending = PendingRenames(top / ".git")
    pending.note(PendingRename(Namespace("work"), Namespace("shop"), "origin"))
    refused = baton("namespace", "rename", "work", "other", code=1).err
    assert "a rename of work to shop was interrupted" in refused
    assert "baton namespace rename work shop --remote origin" in refused
    assert "baton namespace rename work shop --remote origin" in baton("doctor", "leftovers", code=None).out
    baton("namespace", "rename", "work", "shop")
    baton("namespace", "rename", "shop", "other")
    assert pending.all() == []


def test_a_damaged_or_newer_record_of_a_rename_is_ignored(baton: Baton, filled: FolderCopy, top: Path):
    pending = PendingRenames(top / ".git")
    pending.folder.mkdir(parents=True)
    for text in ("", "{", "[]", '{"format": 9, "new": "x", "remote": null}', '{"format": 1, "new": "", "remote": 1}'):
        pending.path(Namespace("work")).write_text(text)
        assert pending.all() == []
    baton("namespace", "rename", "work", "shop")
    assert list_refs(top) == {"refs/heads/baton/shop", "refs/baton-kept/heads/baton/shop"}
