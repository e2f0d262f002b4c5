"""Partial clones, whose promisor remote has what git's repack drops: what baton keeps, fetches, and says without it."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import baton_git
from baton_git.core.errors import Corrupt
from baton_git.core.names import Namespace
from baton_git.git.store import Repository, Store
from baton_git.git.store.housekeeping import HELD_MARK, NotedPack
from baton_git.namespace import folding
from baton_git.namespace.branch import Branch
from baton_git.namespace.ingest.budget import ON_DEMAND
from baton_git.namespace.ingest.promised import PromisedObjects

Git = Callable[..., str]
FILTERS = ("blob:none", "tree:0", "blob:limit=1")


@pytest.fixture
def hub(baton: Any, top: Path, git: Git) -> Path:
    """Return a bare repository with a namespace of five revisions, which allows filters."""
    baton("init", "-n", "x")
    for number in range(3):
        baton("followup", "add", f"item {number}", "--id", f"FU-{number}")
    baton("followup", "done", "FU-2")
    hub = top.parent / "hub.git"
    git(top, "clone", "-q", "--bare", ".", str(hub))
    git(hub, "config", "uploadpack.allowFilter", "true")
    return hub


def make_clone(git: Git, hub: Path, what: str = "blob:none", *, has_branch: bool = True) -> Path:
    """Return a partial clone; its local branch has the commits, but not the objects that the filter leaves out."""
    top = hub.parent / "clone"
    git(hub.parent, "clone", "-q", f"--filter={what}", "--no-checkout", hub.as_uri(), str(top))
    git(top, "config", "baton.namespace", "x")
    if has_branch:
        git(top, "branch", "-q", "baton/x", "origin/baton/x")
    return top


def find_missing(git: Git, top: Path) -> list[str]:
    printed = git(top, "rev-list", "--objects", "--missing=print", "baton/x")
    return [line for line in printed.splitlines() if line.startswith("?")]


def count_follow_ups(baton: Any, top: Path) -> int:
    return sum(record["kind"] == "follow_up" for record in baton("list", "--json", cwd=top).json["records"])


def packs(top: Path, suffix: str = ".pack") -> list[Path]:
    return sorted((top / ".git/objects/pack").glob(f"pack-*{suffix}"))


# --- what baton keeps


@pytest.mark.parametrize(
    "repack",
    [
        ("repack", "-adq"), ("gc", "-q", "--prune=now"), ("repack", "-Adq"),
        ("maintenance", "run", "--quiet", "--task=gc"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_git_does_not_drop_what_baton_stored(git: Git, hub: Path, baton: Any, repack: tuple[str, ...]) -> None:
    top = make_clone(git, hub, has_branch=False)
    baton("boot", cwd=top)
    baton("followup", "add", "mine", "--id", "FU-mine", cwd=top)
    git(top, "fetch", "-q", "origin")  # the filtered commits promise what baton has
    git(top, *repack)
    hub.rename(hub.with_name("gone.git"))
    assert count_follow_ups(baton, top) == 3
    baton("followup", "add", "third", cwd=top)
    assert find_missing(git, top) == []
    git(top, "fsck", "--connectivity-only")


def test_blobs_of_own_commits_stay_when_the_remote_has_commits_on_top_of_them(
    git: Git, hub: Path, baton: Any, top: Path
) -> None:
    """git counts an object as promised, and drops it, once a commit from the remote refers to it."""
    clone = make_clone(git, hub, has_branch=False)
    baton("boot", cwd=clone)
    baton("followup", "add", "mine", "--id", "FU-mine", cwd=clone)
    baton("sync", cwd=clone)
    git(top, "remote", "add", "origin", str(hub))
    baton("sync", cwd=top)
    baton("followup", "add", "theirs", cwd=top)
    baton("sync", cwd=top)
    git(clone, "fetch", "-q", "origin")
    git(clone, "gc", "-q", "--prune=now")
    hub.rename(hub.with_name("gone.git"))
    assert baton("show", "FU-mine", "--json", cwd=clone).json["record"]["item"] == "mine"


def open_clone(top: Path) -> tuple[Store, Branch]:
    store = Store(Repository.open(top))
    return store, Branch(store, Namespace("x"))


def test_held_packs_are_merged_and_the_merged_ones_are_released(git: Git, hub: Path, baton: Any) -> None:
    top = make_clone(git, hub)
    for number in range(4):
        baton("followup", "add", f"mine {number}", cwd=top)
    held = packs(top, ".keep")
    assert len(held) >= 4
    assert {keep.read_bytes() for keep in held} == {HELD_MARK}
    baton("gc", cwd=top)
    [keep] = packs(top, ".keep")
    assert keep.read_bytes() == HELD_MARK
    assert keep.with_suffix(".pack").exists()
    assert count_follow_ups(baton, top) == 6


def test_a_held_pack_in_a_multi_pack_index_is_merged_and_left_to_git(git: Git, hub: Path, baton: Any) -> None:
    top = make_clone(git, hub)
    for number in range(4):
        baton("followup", "add", f"mine {number}", cwd=top)
    git(top, "multi-pack-index", "write")
    listed = set(packs(top))
    baton("gc", cwd=top)
    assert listed <= set(packs(top))
    [keep] = packs(top, ".keep")
    assert keep.with_suffix(".pack") not in listed
    git(top, "multi-pack-index", "verify")


def test_packs_of_an_older_version_are_held_at_the_next_write(git: Git, hub: Path, baton: Any) -> None:
    top = make_clone(git, hub)
    baton("followup", "add", "mine", cwd=top)
    for keep in packs(top, ".keep"):
        keep.unlink()
    baton("followup", "add", "again", cwd=top)
    assert len(packs(top, ".keep")) == len(list((top / ".git/baton/packs").iterdir()))


def test_an_older_version_leaves_a_held_pack_alone() -> None:
    assert not HELD_MARK.startswith(b"baton "), "older versions remove such files of dead processes"


def test_packs_are_released_when_the_clone_is_not_partial_any_more(git: Git, hub: Path, baton: Any) -> None:
    top = make_clone(git, hub)
    baton("followup", "add", "mine", cwd=top)
    assert packs(top, ".keep")
    baton("sync", cwd=top)
    git(top, "config", "--unset", "remote.origin.promisor")
    for promisor in packs(top, ".promisor"):
        promisor.unlink()
    baton("gc", cwd=top)
    assert packs(top, ".keep") == []
    assert count_follow_ups(baton, top) == 3


def test_a_killed_writers_pack_is_held(git: Git, hub: Path) -> None:
    top = make_clone(git, hub)
    store, _ = open_clone(top)
    with store:
        draft = store.draft()
        draft.blob(b"left")
        pack = store.store_draft(draft)
        assert pack is not None
        Path(pack.keep_path).write_bytes(b"baton 999999999\n")
        os.utime(pack.keep_path, (1, 1))
        store.roll_up()
        assert Path(pack.keep_path).read_bytes() == HELD_MARK
        assert NotedPack(1, pack.name) in store.housekeeping.list_present()


# --- what commands fetch


@pytest.mark.parametrize("what", FILTERS)
@pytest.mark.parametrize(
    "words", [("list",), ("followup", "add", "more"), ("log",), ("show", "FU-1"), ("validate",), ("recall", "item")]
)
def test_a_command_fetches_what_it_needs(git: Git, hub: Path, baton: Any, what: str, words: tuple[str, ...]) -> None:
    top = make_clone(git, hub, what)
    assert find_missing(git, top)
    baton(*words, cwd=top)
    baton("list", cwd=top)
    hub.rename(hub.with_name("gone.git"))
    assert count_follow_ups(baton, top) in (2, 3)


def test_everything_that_is_missing_comes_in_two_requests(git: Git, hub: Path, baton: Any) -> None:
    top = make_clone(git, hub)
    assert len(find_missing(git, top)) >= 5
    baton("list", cwd=top)
    assert len(packs(top, ".keep")) == 1
    for words in (("diff", "2", "3"), ("log", "--record", "FU-0"), ("diff", "1", "4")):
        baton(*words, cwd=top)
    assert len(packs(top, ".keep")) == 2
    assert find_missing(git, top) == []


def test_an_object_that_the_remote_lost_does_not_hide_the_others(git: Git, hub: Path, baton: Any) -> None:
    top = make_clone(git, hub)
    oid = git(hub, "rev-parse", "baton/x:follow_ups/FU-1.toml")
    for pack in list((hub / "objects/pack").glob("*.pack")):
        moved = pack.rename(hub / "moved.pack")
        subprocess.run(["git", "-C", str(hub), "unpack-objects", "-q"], input=moved.read_bytes(), check=True)
    (hub / "objects" / oid[:2] / oid[2:]).unlink()
    lines = {line.split()[-1]: line for line in baton("list", cwd=top).out.splitlines()}
    assert "item 0" in lines["FU-0"]
    assert "unreadable" in lines["FU-1"]
    assert "item 2" in baton("show", "FU-2", cwd=top).out


def test_objects_of_older_revisions_are_fetched_by_a_sync(git: Git, hub: Path, baton: Any) -> None:
    top = make_clone(git, hub)
    baton("list", cwd=top)
    assert find_missing(git, top)
    assert "that only the promisor remote had came here" in baton("sync", cwd=top).err
    assert find_missing(git, top) == []
    assert "promisor" not in baton("sync", cwd=top).err


def test_an_unsynced_write_can_be_undone_when_its_base_was_promised(git: Git, hub: Path, baton: Any) -> None:
    top = make_clone(git, hub, "tree:0")
    baton("followup", "add", "mine", "--id", "FU-mine", cwd=top)
    baton("undo", cwd=top)
    baton("rollback", "3", "--yes", cwd=top)
    assert count_follow_ups(baton, top) == 3


@pytest.fixture
def folded_hub(baton: Any, top: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the same as `hub`, for a namespace whose archived records are in bundles."""
    monkeypatch.setattr(folding, "FIRST", 3)
    baton("init", "-n", "x")
    for number in range(3):
        baton("followup", "add", f"deploy part {number}", "--id", f"FU-{number}")
        baton("followup", "done", f"FU-{number}")
    baton("gc")
    baton("followup", "add", "live", "--id", "FU-live")
    hub = top.parent / "hub.git"
    git(top, "clone", "-q", "--bare", ".", str(hub))
    git(hub, "config", "uploadpack.allowFilter", "true")
    return hub


@pytest.mark.parametrize("what", FILTERS)
def test_bundled_records_are_fetched_kept_and_missed_with_one_error(
    git: Git, folded_hub: Path, baton: Any, what: str
) -> None:
    top, gone = make_clone(git, folded_hub, what), folded_hub.with_name("gone.git")
    folded_hub.rename(gone)
    for words in (("show", "FU-1"), ("recall", "deploy"), ("gc",)):
        error, hint = baton(*words, cwd=top, code=1).err.splitlines()
        assert "is missing (origin: " in error
        assert "baton sync" in hint
    gone.rename(folded_hub)
    assert "part 1" in baton("show", "FU-1", cwd=top).out
    baton("followup", "add", "mine", cwd=top)
    baton("log", cwd=top)
    git(top, "fetch", "-q")
    git(top, "gc", "-q", "--prune=now")
    git(top, "repack", "-adq")
    folded_hub.rename(gone)
    assert "part 2" in baton("show", "FU-2", cwd=top).out
    assert "part 2" in baton("recall", "deploy part 2", cwd=top).out
    assert baton("validate", cwd=top).code == 0


def test_the_name_of_the_namespace_is_found_without_any_tree(git: Git, hub: Path, baton: Any) -> None:
    """A folder of another name, no setting, and `tree:0`: the commits alone tell that this is a namespace."""
    top = make_clone(git, hub, "tree:0", has_branch=False)
    git(top, "config", "--unset", "baton.namespace")
    git(top, "update-ref", "-d", "refs/remotes/origin/baton/work")
    assert "to create it from there: baton boot" in baton("list", cwd=top, code=1).err
    baton("boot", cwd=top)
    assert count_follow_ups(baton, top) == 2


# --- without the remote


def test_without_the_remote_one_error_names_the_reason_and_the_command(git: Git, hub: Path, baton: Any) -> None:
    top = make_clone(git, hub)
    hub.rename(hub.with_name("gone.git"))
    for words in (("list",), ("followup", "add", "more"), ("recall", "item"), ("undo",)):
        error, hint = baton(*words, cwd=top, code=1).err.splitlines()
        assert "is missing (origin: " in error
        assert "baton sync" in hint
    hub.with_name("gone.git").rename(hub)
    baton("sync", cwd=top)
    assert count_follow_ups(baton, top) == 2


@pytest.fixture
def silent_server() -> Iterator[socket.socket]:
    """Yield a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def set_silent_remote(git: Git, top: Path, server: socket.socket) -> None:
    git(top, "remote", "set-url", "origin", f"git://127.0.0.1:{server.getsockname()[1]}/hub.git")


def count_connections(server: socket.socket) -> int:
    server.setblocking(False)
    for number in itertools.count():
        try:
            server.accept()[0].close()
        except BlockingIOError:
            return number
    return 0


def test_a_silent_remote_is_waited_for_once(git: Git, hub: Path, silent_server: socket.socket) -> None:
    top = make_clone(git, hub)
    set_silent_remote(git, top, silent_server)
    store, branch = open_clone(top)
    with store:
        budget = replace(ON_DEMAND, seconds=0.5)
        tip = store.tip(branch.ref)
        store.objects.supplier = PromisedObjects(store, dict(os.environ), lambda: tip, budget)
        for _ in range(3):
            with pytest.raises(Corrupt, match=r"no answer within 0\.5 s"):
                branch.read()
    assert count_connections(silent_server) == 1


@pytest.mark.slow
def test_the_start_of_a_session_has_one_budget_for_the_sync_and_for_missing_objects(
    git: Git, hub: Path, baton: Any, silent_server: socket.socket
) -> None:
    top = make_clone(git, hub)
    set_silent_remote(git, top, silent_server)
    assert "no time is left to fetch it" in baton("boot", cwd=top, code=1).out
    assert count_connections(silent_server) == 1


def test_more_bytes_than_the_limit_are_not_fetched(git: Git, hub: Path) -> None:
    top = make_clone(git, hub)
    store, branch = open_clone(top)
    with store:
        tip = store.tip(branch.ref)
        budget = replace(ON_DEMAND, total_bytes=100)
        store.objects.supplier = PromisedObjects(store, dict(os.environ), lambda: tip, budget)
        with pytest.raises(Corrupt, match="the limit for one fetch"):
            branch.read()


def test_git_never_prompts(git: Git, hub: Path, baton: Any, tmp_path: Path) -> None:
    top = make_clone(git, hub)
    asked = tmp_path / "asked"
    script = tmp_path / "ask"
    script.write_text(f"#!/bin/sh\ntouch {asked}\necho secret\n")
    script.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    git(top, "remote", "set-url", "origin", f"http://127.0.0.1:{port}/hub.git")
    env = {"GIT_ASKPASS": str(script), "SSH_ASKPASS": str(script)}
    baton("list", cwd=top, code=1, env=env)
    assert not asked.exists()


# --- servers and hooks


def test_a_servers_read_never_fetches(git: Git, hub: Path) -> None:
    """The library, the servers and the hooks open a workspace in the same way."""
    top = make_clone(git, hub)
    with baton_git.open(top) as namespace, pytest.raises(Corrupt, match="is missing"):
        namespace.status()
    assert len(packs(top)) == 1


# --- the doctor


def test_the_doctor_fetches_what_only_the_promisor_has(git: Git, hub: Path, baton: Any) -> None:
    top = make_clone(git, hub)
    found = baton("doctor", "objects", "--json", cwd=top, code=1).json["findings"]
    assert "only a promisor remote has them" in found[0]["cause"]
    baton("doctor", "objects", "--fix", "--yes", cwd=top)
    assert find_missing(git, top) == []


def test_the_doctor_fails_if_a_repair_failed(git: Git, hub: Path, baton: Any) -> None:
    top = make_clone(git, hub)
    hub.rename(hub.with_name("gone.git"))
    done = baton("doctor", "objects", "--fix", "--yes", cwd=top, code=1)
    assert "not repaired: no remote gave" in done.err


# --- other clones that lack objects


def test_a_linked_work_tree_of_a_partial_clone_keeps_what_it_stored(git: Git, hub: Path, baton: Any) -> None:
    main = make_clone(git, hub, "tree:0")
    top = main.with_name("linked")
    git(main, "worktree", "add", "-q", "--no-checkout", "-b", "work", str(top))
    baton("followup", "add", "mine", cwd=top)
    git(top, "gc", "-q", "--prune=now")
    git(top, "repack", "-adq")
    hub.rename(hub.with_name("gone.git"))
    assert count_follow_ups(baton, top) == 3


def test_a_shallow_clone_keeps_and_shows_what_it_has(git: Git, hub: Path, baton: Any) -> None:
    top = hub.parent / "shallow"
    git(hub.parent, "clone", "-q", "--depth=1", "--no-single-branch", "--no-checkout", hub.as_uri(), str(top))
    git(top, "config", "baton.namespace", "x")
    git(top, "branch", "-q", "baton/x", "origin/baton/x")
    baton("followup", "add", "mine", cwd=top)
    git(top, "gc", "-q", "--prune=now")
    assert count_follow_ups(baton, top) == 3
    assert "FU-0" in baton("show", "FU-0", cwd=top).out
    baton("sync", cwd=top)
    baton("undo", cwd=top)
    assert count_follow_ups(baton, top) == 2


def test_a_shared_clone_whose_source_lost_the_branch_says_so_and_is_repaired(git: Git, hub: Path, baton: Any) -> None:
    source, top = hub.parent / "source", hub.parent / "shared"
    git(hub.parent, "clone", "-q", "--mirror", str(hub), str(source))
    git(hub.parent, "clone", "-q", "--shared", "--no-checkout", str(source), str(top))
    git(top, "config", "baton.namespace", "x")
    git(top, "branch", "-q", "baton/x", "origin/baton/x")
    baton("followup", "add", "mine", cwd=top)
    git(source, "update-ref", "-d", "refs/heads/baton/x")
    git(source, "gc", "-q", "--prune=now")
    listed = baton("list", cwd=top, code=None)
    assert "to fetch it again: baton sync" in " ".join(listed.out.split()) or "baton sync" in listed.err
    assert "the remote does not have it" in baton("sync", cwd=top, code=1).err
    git(top, "remote", "set-url", "origin", str(hub))
    assert "were fetched again" in baton("sync", cwd=top).err
    assert count_follow_ups(baton, top) == 3
