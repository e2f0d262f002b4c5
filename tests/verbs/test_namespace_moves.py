"""Rename or delete a namespace while others write to it, here and on a remote."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from world import NOW, begin, later

import baton_git
from baton_git.core.errors import NotAllowed, NotFound
from baton_git.core.names import Namespace
from baton_git.namespace.moving import rename_branch
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.upkeep.namespace_moves import delete_namespace, rename_namespace
from baton_git.verbs.work_items.followups import add_follow_up

WRITER = """
import sys, time, baton_git
from baton_git.core.errors import NotFound
print("ready", flush=True)
with baton_git.open(sys.argv[1]) as opened:
    for number in range(40):
        try:
            print(opened.add_follow_up(item=f"{sys.argv[2]} {number}", id=f"FU-{sys.argv[2]}-{number}").id, flush=True)
        except NotFound as error:
            sys.exit("renamed" not in error.hint)
"""


@pytest.fixture
def shop(ws: Workspace) -> Workspace:
    """Return the namespace `x` with one record."""
    begin(ws.branch)
    add_follow_up(ws, NOW, item="Later", id="FU-1")
    return replace(ws, branch=replace(ws.branch, may_begin=False))


def named(ws: Workspace, name: str) -> Workspace:
    return replace(ws, branch=replace(ws.branch, namespace=Namespace(name)))


def test_a_rename_moves_everything_and_a_late_writer_gets_the_new_name(shop: Workspace) -> None:
    done = rename_namespace(shop, NOW, "x", "y")
    assert (done.new_name, done.revision, done.records) == ("y", 1, 1)
    assert named(shop, "y").branch.read().commit == done.commit
    for ws in (shop, replace(shop, branch=replace(shop.branch, may_begin=True))):
        with pytest.raises(NotFound) as refused:
            add_follow_up(ws, NOW, item="x")
        assert refused.value.hint == "it was renamed to y"
    assert rename_namespace(shop, NOW, "x", "y").commit == done.commit  # again, as after an interruption


def test_an_interrupted_rename_is_finished_with_the_records_added_to_both_names(
    shop: Workspace, monkeypatch: Any
) -> None:
    with monkeypatch.context() as here:
        here.setattr("baton_git.namespace.moving.delete_ref", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            rename_branch(shop.branch, Namespace("y"), shop.stamp("rename", NOW), shop.environment)
    add_follow_up(shop, later(minutes=1), item="in the old one", id="FU-2")
    add_follow_up(named(shop, "y"), later(minutes=2), item="in the new one", id="FU-3")
    rename_namespace(shop, NOW, "x", "y")
    assert set(named(shop, "y").branch.read().state.ids("follow_up")) == {"FU-1", "FU-2", "FU-3"}
    assert shop.branch.store.tip(shop.branch.ref) is None


def _interrupt(*_: object) -> bool:
    raise KeyboardInterrupt


@pytest.mark.slow
def test_writes_during_a_rename_are_not_lost(baton: Any, top: Path) -> None:
    argv = [sys.executable, "-c", WRITER, str(top)]
    writers = [subprocess.Popen([*argv, name], stdout=subprocess.PIPE, text=True) for name in "abcd"]
    outputs = [writer.stdout for writer in writers if writer.stdout is not None]
    written = [output.readline() and output.readline().strip() for output in outputs]
    baton("namespace", "rename", "work", "shop")
    for writer, output in zip(writers, outputs, strict=True):
        written += output.read().split()
        output.close()
        assert writer.wait(60) == 0
    with baton_git.open(top) as opened:  # the default namespace is now the renamed one
        assert opened.name == "shop"
        kept = {record["id"] for record in opened.list_records("follow_up", limit=1000).as_data()["records"]}
    assert kept == set(written)


def test_an_existing_name_is_rejected_and_a_dry_run_does_nothing(shop: Workspace) -> None:
    begin(named(shop, "y").branch)
    with pytest.raises(NotAllowed, match="the namespace y exists already"):
        rename_namespace(shop, NOW, "x", "y")
    before = shop.branch.store.refs("refs/")
    assert rename_namespace(shop, NOW, "x", "z", dry_run=True).dry_run
    assert delete_namespace(shop, NOW, "x", dry_run=True).backup is None
    assert shop.branch.store.refs("refs/") == before


def test_a_deleted_namespace_is_backed_up_and_only_init_recreates_it(shop: Workspace) -> None:
    done = delete_namespace(shop, NOW, "x", yes=True)
    assert shop.branch.store.tip(done.backup) == done.commit
    chosen = replace(shop.branch, may_begin=True)
    with pytest.raises(NotFound) as refused:
        add_follow_up(replace(shop, branch=chosen), NOW, item="x")
    assert done.backup.rpartition("/")[0] in refused.value.hint
    begin(chosen)
    add_follow_up(shop, NOW, item="x")


def test_a_remote_is_changed_only_if_it_has_no_unknown_commits(baton: Any, git: Any, top: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "hub.git")
    git(top, "remote", "add", "origin", str(tmp_path / "hub.git"))
    baton("followup", "add", "x", "--id", "FU-1")
    baton("sync")
    git(tmp_path, "clone", "-q", str(tmp_path / "hub.git"), "work2")
    baton("followup", "add", "y", "--id", "FU-2", cwd=tmp_path / "work2")
    baton("sync", cwd=tmp_path / "work2")
    refused_rename = baton("namespace", "rename", "work", "shop", "--remote", "origin", "--yes", code=3)
    assert "commits of work that are not here" in refused_rename.err
    baton("sync")
    baton("namespace", "rename", "work", "shop", "--remote", "origin", "--yes")
    assert list(_refs(git, tmp_path)) == ["refs/heads/baton/shop"]
    assert [line.split() for line in baton("namespace", "list").out.splitlines()] == [
        ["NAMESPACE", "REVISION", "RECORDS", "CHANGED"], ["shop", "2", "2", "just", "now"],
    ]  # fmt: skip
    baton("namespace", "rename", "work", "shop", cwd=tmp_path / "work2")
    baton("followup", "add", "z", "--id", "FU-3", cwd=tmp_path / "work2")
    baton("sync", cwd=tmp_path / "work2")
    baton("sync")
    assert {record["id"] for record in baton("list", "follow_up", "--json").json["records"]} == {"FU-1", "FU-2", "FU-3"}
    assert "there is no terminal" in baton("namespace", "delete", "shop", "--remote", "origin", code=2).err
    baton("namespace", "delete", "shop", "--remote", "origin", "--yes")
    assert list(_refs(git, tmp_path)) == []


def _refs(git: Any, tmp_path: Path) -> list[str]:
    return [line for line in git(tmp_path / "hub.git", "for-each-ref", "--format=%(refname)").splitlines() if line]
