"""Commits of a remote are fetched into a quarantine and checked, then stored, and only then is a ref moved to them."""

from __future__ import annotations

import subprocess
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hostile import FILE, FOLDER, LINK, Hostile
from machines import INCOMING, REF, Machine

from baton_git.core.errors import Rejected, RemoteError
from baton_git.core.names import Namespace, Oid
from baton_git.git.remotes import FetchLimits, open_remote
from baton_git.git.store import Repository, Store
from baton_git.namespace.ingest.budget import SYNC, IngestDeadline
from baton_git.namespace.ingest.fetch import FetchResult, fetch_and_check
from baton_git.namespace.ingest.server import RefUpdate, check_ref_updates, find_refusals, format_refusal
from baton_git.namespace.ingest.trees import find_tree_fault
from baton_git.namespace.sync.actions import Terms
from baton_git.namespace.sync.synchronise import SyncOptions, synchronise
from baton_git.verbs.sessions.session_start import StartOptions, begin_session
from baton_git.verbs.sharing.auto_sync import sync_at_start

Pair = tuple[Machine, Machine]
LIMITS = FetchLimits(1 << 30, 1 << 30)
NAMESPACE = Namespace("x")


@pytest.fixture
def mallory(bare: Path) -> Hostile:
    return Hostile(bare)


def remote_of(one: Machine) -> Any:
    return open_remote(one.store.repository, "origin", one.ws.environment)


def received(one: Machine, remote: Any = None, **more: Any) -> FetchResult:
    """Fetch and check the branch of the remote."""
    return fetch_and_check(one.store, remote or remote_of(one), {REF: INCOMING}, **{"seconds": 30.0, **more})


def rejected(one: Machine, **budget: Any) -> str:
    """Return why the branch of the remote is rejected; check that everything here is unchanged."""
    before = (one.tip, one.store.tip(INCOMING), objects(one))
    found = received(one, budget=replace(SYNC, **budget)).rejected[REF]
    assert (one.tip, one.store.tip(INCOMING), objects(one)) == before
    assert found.hint
    return str(found)


def objects(one: Machine) -> set[str]:
    """Return the ids of all objects in the repository."""
    return set(one.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split())


# --- fetching and checking


class Pruning:
    """A remote after whose fetches git removes every object that is not reachable from a ref."""

    def __init__(self, one: Machine) -> None:
        self.remote, self.one, self.name = remote_of(one), one, "origin"

    @contextmanager
    def fetch(self, wants: Any, **more: Any) -> Iterator[Any]:
        with self.remote.fetch(wants, **more) as quarantine:
            self.one.git("gc", "-q", "--prune=now")
            yield quarantine


def test_git_may_prune_between_the_fetch_and_the_storing(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-2")
    ada.sync()
    assert received(bob, Pruning(bob)).tips == {REF: ada.tip}
    assert bob.store.tip(INCOMING) == ada.tip
    bob.git("fsck", "--strict", "--connectivity-only")
    bob.git("gc", "-q", "--prune=now")


def test_git_may_prune_between_the_storing_and_the_moving_of_the_ref(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-2")
    ada.sync()
    with remote_of(bob).fetch({REF: INCOMING}, seconds=30, limits=LIMITS) as quarantine:
        tip = quarantine.tips[REF]
        with bob.store.adopt_packs(quarantine.packs([tip], 30)):
            bob.git("gc", "-q", "--prune=now")
            bob.store.move(INCOMING, tip)
    bob.git("fsck", "--strict", "--connectivity-only")
    assert not list((bob.top / ".git/objects/pack").glob("*.keep"))
    assert bob.git("show", f"{INCOMING}:open_loops/OL-2.toml")


def test_existing_unprotected_objects_are_protected_too(pair: Pair) -> None:
    """The user fetched the objects, and they are no longer reachable from a ref. The server has nothing to send."""
    ada, bob = pair
    ada.loop("OL-2")
    ada.sync()
    bob.git("fetch", "-q", "origin", f"{REF}:refs/heads/mine")
    bob.git("update-ref", "-d", "refs/heads/mine")
    assert received(bob, Pruning(bob)).tips == {REF: ada.tip}
    bob.git("gc", "-q", "--prune=now")
    bob.git("fsck", "--strict", "--connectivity-only")
    assert bob.sync().received == 1


def test_fetched_objects_are_invisible_until_they_are_accepted(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-2")
    ada.sync()
    before = objects(bob)
    with remote_of(bob).fetch({REF: INCOMING}, seconds=30, limits=LIMITS):
        assert objects(bob) == before
    assert objects(bob) == before
    assert not list((bob.top / ".git/baton").glob("view-*"))


# --- budgets


def test_a_tree_of_a_billion_paths_is_rejected_at_once(pair: Pair, mallory: Hostile) -> None:
    _, bob = pair
    commit = mallory.push(mallory.bomb())
    why = rejected(bob)
    assert f"commit {commit[:8]}: has more than 200,000 files" in why
    assert bob.try_sync().error is not None
    assert bob.tip


def test_endlessly_nested_folders_are_rejected(pair: Pair, mallory: Hostile) -> None:
    inside = mallory.tree((FILE, b"x", mallory.blob()))
    for _ in range(100):
        inside = mallory.tree((FOLDER, b"d", inside))
    mallory.push((FOLDER, b"deep", inside))
    assert "nested deeper than 64" in rejected(pair[1])


def test_a_large_file_is_rejected_by_its_header(pair: Pair, mallory: Hostile) -> None:
    _, bob = pair
    folder = mallory.tree((FILE, b"notes", mallory.blob(bytes(3_000_000))))
    commit = mallory.push((FOLDER, b"docs", folder))
    assert rejected(bob, object_bytes=1 << 20) == (
        f"{REF} is rejected: commit {commit[:8]}, docs/notes: has 3,000,000 bytes, the limit is 1,048,576"
    )


def test_a_file_that_expands_beyond_the_budget_is_rejected_during_the_fetch(pair: Pair, mallory: Hostile) -> None:
    _, bob = pair
    mallory.push((FILE, b"zeros", mallory.blob(bytes(70 << 20))))
    with pytest.raises(Rejected, match="an object of 73,4"):
        received(bob)
    assert bob.store.tip(INCOMING) == bob.tip
    assert not list((bob.top / ".git/objects/pack").glob("tmp*"))


def test_a_fetch_over_the_byte_budget_is_aborted(pair: Pair, mallory: Hostile) -> None:
    _, bob = pair
    noise = b"".join(number.to_bytes(32, "big") for number in range(1, 1 << 15))
    mallory.push((FILE, b"noise", mallory.blob(noise)))
    with pytest.raises(Rejected, match="more than 10,000 bytes"):
        received(bob, budget=replace(SYNC, total_bytes=10_000))


def test_too_many_commits_are_rejected(pair: Pair, mallory: Hostile) -> None:
    tree, tip = mallory.root(), mallory.tip()
    for number in range(30):
        tip = mallory.commit(tree, tip, message=str(number))
    mallory.move_branch(tip)
    assert "more than 20 new commits" in rejected(pair[1], commits=20)


def test_checks_over_the_time_limit_reject_the_fetch_for_now(pair: Pair, mallory: Hostile) -> None:
    tip = mallory.push()
    assert "takes more than 0 s" in rejected(pair[1], seconds=0.0)
    assert received(pair[1], retry=False).tips == {REF: tip}


def test_the_session_starts_in_time_without_rejected_commits(pair: Pair, mallory: Hostile) -> None:
    _, bob = pair
    mallory.push(mallory.bomb())
    begun = begin_session(bob.ws, bob.clock(), StartOptions(sync_seconds=3.0, check_seconds=0))
    assert [one for one in begun.news if "has more than 50,000 files" in one]
    assert "OL-1" in begun.brief.text


def test_a_tip_that_was_rejected_is_not_fetched_again_by_the_next_session(pair: Pair, mallory: Hostile) -> None:
    _, bob = pair
    mallory.push(mallory.bomb())
    [first] = sync_at_start(bob.ws, bob.clock())
    trace = bob.top / "trace"
    bob.ws = replace(bob.ws, environment={**bob.ws.environment, "GIT_TRACE": str(trace)})
    assert list(sync_at_start(bob.ws, bob.clock())) == [first]
    assert " fetch " not in trace.read_text()
    mallory.move_branch(bob.tip or "")
    assert list(sync_at_start(bob.ws, bob.clock())) == []
    mallory.push(mallory.bomb())
    assert bob.try_sync().error is not None
    assert " fetch " in trace.read_text()


def test_one_rejected_branch_does_not_affect_the_other(pair: Pair, mallory: Hostile) -> None:
    ada, bob = pair
    ada.loop("OL-2")
    ada.sync()
    good = mallory.tip()
    mallory.push(mallory.bomb())
    bad = mallory.tip()
    wants = {REF: INCOMING, "refs/heads/baton/y": "refs/baton-incoming/origin/y"}
    (mallory.bare / "refs/heads/baton/y").write_text(f"{good}\n")
    found = fetch_and_check(bob.store, remote_of(bob), wants, seconds=30)
    assert found.tips == {"refs/heads/baton/y": good}
    assert set(found.rejected) == {REF}
    assert bad not in objects(bob)
    bob.git("fsck", "--strict", "--connectivity-only")


# --- names


UNSAFE = [
    b"a/b", b".git", b".GIT", b"git~1", b"GIT~1", b".git.", b".git ", b".git::$INDEX_ALLOCATION", b".", b"..",
    ".g\u200cit".encode(), ".gi\u200dt".encode(), "\ufeff.git".encode(), ".git\u206f".encode(),
]  # fmt: skip
SAFE = [
    b"OL-1.toml",
    b".gitattributes",
    b".gitignore",
    b"git~2",
    b".gitx",
    b"x.git",
    b"a b",
    "\u00e9".encode(),
    b".github",
    b"...",
]


def test_trees_that_git_fsck_rejects_are_rejected(mallory: Hostile) -> None:
    """Compare with git's own check of the same trees."""
    trees = {mallory.tree((FILE, name, mallory.blob())): name for name in UNSAFE}
    trees |= {tree: kind.encode() for kind, tree in _trees(mallory).items()}
    safe = {mallory.tree((FILE, name, mallory.blob())): name for name in SAFE}
    said = git_fsck(mallory.bare)
    for tree, name in {**trees, **safe}.items():
        fault = find_tree_fault(raw_tree(mallory.bare, tree), 20)
        assert (fault is not None, tree.hex() in said) == (tree in trees, tree in trees), name


def git_fsck(bare: Path) -> str:
    done = subprocess.run(["git", "-C", str(bare), "fsck", "--strict", "--no-dangling"], capture_output=True, text=True)
    return done.stderr


def raw_tree(bare: Path, tree: bytes) -> bytes:
    raw = (bare / "objects" / tree.hex()[:2] / tree.hex()[2:]).read_bytes()
    return zlib.decompress(raw).partition(b"\0")[2]


@pytest.mark.parametrize("name", [b"a/b", ".g\u200cit".encode()])
def test_an_invalid_tree_is_rejected_with_its_commit_and_path(pair: Pair, mallory: Hostile, name: bytes) -> None:
    folder = mallory.tree((FILE, name, mallory.blob()))
    commit = mallory.push((FOLDER, b"docs", folder))
    assert f"commit {commit[:8]}, docs/{name.decode()}: " in rejected(pair[1])


@pytest.mark.parametrize("entry", [(FILE, b"", b"x" * 20), (FILE, b"a", bytes(20))], ids=["no name", "null id"])
def test_objects_that_git_cannot_read_are_rejected(pair: Pair, mallory: Hostile, entry: Any) -> None:
    _, bob = pair
    mallory.push((FOLDER, b"docs", mallory.tree(entry)))
    with pytest.raises(RemoteError):
        received(bob)
    assert bob.store.tip(INCOMING) == bob.tip


def _trees(mallory: Hostile) -> dict[str, bytes]:
    blob, empty = mallory.blob(), mallory.tree()
    return {
        "duplicate": mallory.tree((FILE, b"a", blob), (FILE, b"a", mallory.blob(b"y"))),
        "duplicate folder": mallory.tree((FILE, b"a", blob), (FILE, b"a.b", blob), (FOLDER, b"a", empty)),
        "unsorted": mallory.tree((FILE, b"b", blob), (FILE, b"a", blob)),
        "padded": mallory.tree((b"0100644", b"a", blob)),
        "modules": mallory.tree((LINK, b".gitmodules", blob)),
        "modules, short": mallory.tree((LINK, b"GITMOD~1", blob)),
        "attributes": mallory.tree((LINK, b".GITATTRIBUTES", blob)),
    }


def test_a_bad_name_in_an_older_commit_counts_too(pair: Pair, mallory: Hostile) -> None:
    bad = mallory.push((FILE, b"git~1", mallory.blob()))
    mallory.push()
    assert f"commit {bad[:8]}, git~1" in rejected(pair[1])


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([(FILE, b"NOTES"), (FILE, b"notes")], "is the same name as"),
        ([(FILE, b"STRASSE"), (FILE, "straße".encode())], "is the same name as"),
        ([(LINK, b"notes")], "is a link or a submodule"),
        ([(FILE, b"archive")], "is in a folder of records"),
    ],
)
def test_commits_with_invalid_trees_wait(
    pair: Pair, mallory: Hostile, entries: list[tuple[bytes, bytes]], why: str
) -> None:
    bob = pair[1]
    before = bob.tip
    mallory.push(*((mode, name, mallory.blob()) for mode, name in entries))
    assert [why in one.why for one in bob.sync().actions] == [True]
    assert bob.tip == before


def test_the_next_sync_accepts_the_corrected_branch(pair: Pair, mallory: Hostile) -> None:
    ada, bob = pair
    good = mallory.tip()
    mallory.push(mallory.bomb())
    assert bob.try_sync().error is not None
    mallory.move_branch(good)
    ada.loop("OL-2")
    ada.sync()
    assert bob.sync().received == 1


def test_a_server_applies_the_same_checks_to_a_push(pair: Pair, mallory: Hostile) -> None:
    old = Oid(mallory.tip())
    new = Oid(mallory.push(mallory.bomb(), (FILE, b"git~1", mallory.blob())))
    with Store(Repository.open(mallory.bare)) as store:
        pushed = [RefUpdate(old, new, REF), RefUpdate(None, new, "refs/heads/main")]
        [refusal] = check_ref_updates(store, "refs/heads/baton/", pushed, quarantine=mallory.bare / "objects")
    assert format_refusal(refusal) == (
        f"refused: {REF} is rejected: commit {new[:8]}, git~1: is equivalent to .git on some systems (commit {new[:8]})"
    )


def test_a_server_refuses_a_link_and_a_record_that_cannot_be_read(pair: Pair, mallory: Hostile) -> None:
    old = Oid(mallory.tip())
    records = mallory.tree((FILE, b"OL-9.toml", mallory.blob(b"not [toml")))
    entries = {"is a link or a submodule": (LINK, b"notes", mallory.blob()), "TOML": (FOLDER, b"open_loops", records)}
    with Store(Repository.open(mallory.bare)) as store:
        for why, entry in entries.items():
            [refusal] = find_refusals(store, NAMESPACE, old, Oid(mallory.push(entry)))
            assert why in refusal.why


def test_a_server_requires_signatures_of_new_commits(ada: Machine) -> None:
    ada.loop("OL-1")
    old = ada.tip
    ada.loop("OL-2")
    first = ada.tip
    ada.loop("OL-3")
    last = ada.tip
    assert last is not None
    found = find_refusals(ada.store, NAMESPACE, old, last, trusted=lambda info: info.oid == last)
    assert [one.commit for one in found] == [first]


@pytest.mark.slow
def test_a_delta_that_would_become_large_is_not_applied(pair: Pair, mallory: Hostile) -> None:
    """A few hundred bytes that expand to 112 MiB: the same 14 MiB, copied eight times."""
    _, bob = pair
    base, result = mallory.delta_bomb(14 << 20, 8)
    mallory.push((FILE, b"a", base), (FILE, b"z", result))
    with pytest.raises(Rejected, match="an object of 117,4"):
        received(bob)
    assert bob.store.tip(INCOMING) == bob.tip


def test_local_changes_do_not_count_against_the_budget(pair: Pair) -> None:
    ada, bob = pair
    bob.by_hand({f"notes/{number}": b"x" for number in range(20)})
    ada.loop("OL-2")
    ada.sync()
    few = replace(SYNC, changed=10)
    stamp = bob.ws.stamp("sync", bob.clock())
    terms = Terms()
    [done] = synchronise([bob.ws.branch], remote_of(bob), "origin", terms, stamp, SyncOptions(30, budget=few))
    assert done.error is None
    assert done.sent == 2
    [done] = synchronise([ada.ws.branch], remote_of(ada), "origin", terms, stamp, SyncOptions(30, budget=few))
    assert "more than 10 files changed on the remote" in str(done.error)
    assert done.error is not None
    assert "run baton sync" in done.error.hint
    assert ada.sync().received == 2


def test_baton_sync_is_not_recommended_if_its_own_limit_is_exceeded(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = pair
    bob.by_hand({f"notes/{number}": b"x" for number in range(20)})
    bob.sync()
    few = replace(SYNC, changed=10)
    monkeypatch.setattr("baton_git.namespace.sync.tree_checks.SYNC", few)
    stamp = ada.ws.stamp("sync", ada.clock())
    [done] = synchronise([ada.ws.branch], remote_of(ada), "origin", Terms(), stamp, SyncOptions(30, budget=few))
    assert done.error is not None
    assert "baton sync" not in done.error.hint
    for seconds, is_recommended in ((3.0, True), (SYNC.seconds, False)):
        with pytest.raises(Rejected) as caught:
            IngestDeadline(0.0, seconds).check("checking the new objects")
        assert ("baton sync" in caught.value.hint) == is_recommended


def test_too_many_live_records_are_rejected(pair: Pair) -> None:
    ada, bob = pair
    for number in range(2, 6):
        ada.loop(f"OL-{number}")
    ada.sync()
    stamp, few = bob.ws.stamp("sync", bob.clock()), replace(SYNC, live=4)
    [done] = synchronise([bob.ws.branch], remote_of(bob), "origin", Terms(), stamp, SyncOptions(30, budget=few))
    assert "records outside the archive, the limit is 4" in str(done.error)
    assert bob.sync().received == 4
