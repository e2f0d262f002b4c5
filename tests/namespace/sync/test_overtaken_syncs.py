"""Syncs that other machines overtake: what they leave in the history, what they report, and what is here afterwards."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from default_run import slow_after
from machines import REF, SEEN, Clock, Machine, loop, machine
from overtaking import AlwaysFaster, Turn, Watched, faster, merges, remote_tip, run

from baton_git.core.errors import Busy, Unreachable, Unsettled
from baton_git.core.names import Namespace, Oid
from baton_git.namespace.provenance.ledger import find_ledger
from baton_git.namespace.sync.actions import Terms
from baton_git.namespace.sync.synchronise import SyncOptions, synchronise

Pair = tuple[Machine, Machine]


class Fails(Watched):
    """The connection breaks, before or after the remote moved the branch."""

    def __init__(self, one: Machine, *, is_sent: bool) -> None:
        super().__init__(one)
        self.is_sent = is_sent

    def push(self, moves: Any, *, seconds: float) -> Any:
        if self.is_sent:
            self.remote.push(moves, seconds=seconds)
        raise Unreachable("the connection broke")


def test_a_sync_that_is_overtaken_again_and_again_leaves_one_merge(pair: Pair) -> None:
    ada, bob = pair
    bob.loop("OL-bob")
    done = run(bob, Watched(bob, [faster(ada, number) for number in range(4)]))
    assert done.error is None
    assert (done.sent, done.received, done.pending) == (2, 4, 0)
    assert len(merges(bob)) == 1
    assert remote_tip(bob) == bob.tip == bob.store.tip(SEEN)
    assert {"OL-bob", *(f"OL-ada-{number}" for number in range(4))} < bob.state.ids("open_loop")
    assert not list((bob.store.repository.common_dir / "baton").glob("view-*"))
    ada.sync()
    assert ada.tip == bob.tip


@pytest.mark.slow
def test_a_sync_that_loses_every_race_merges_what_it_received_once(pair: Pair) -> None:
    ada, bob = pair
    bob.loop("OL-bob")
    ada.loop("OL-ada")
    ada.sync()
    done = run(bob, AlwaysFaster(bob), seconds=1)
    assert isinstance(done.error, Busy)
    assert (done.received, done.sent, done.pending) == (1, 0, 2)
    assert {"OL-bob", "OL-ada"} < bob.state.ids("open_loop")
    assert len(merges(bob)) == 1
    assert bob.sync().sent == 2


@pytest.mark.slow
def test_conflicts_and_new_ids_are_reported_once(pair: Pair) -> None:
    ada, bob = pair
    ada.edit("open_loop", "OL-1", "deployed", "rolled out")
    bob.edit("open_loop", "OL-1", "deployed", "installed")
    for one in pair:
        one.by_hand({"open_loops/OL-2.toml": loop("OL-2", f"made by {one.name}", created_by=one.name)})
    ada.sync()
    done = run(bob, Watched(bob, [faster(ada, 1), faster(ada, 2)]))
    assert done.error is None
    assert len(done.conflicts) == len(bob.conflicts()) == 1
    assert list(done.renamed or {}) == ["OL-2"]
    assert len([note for note in done.notes if "two records had the id" in note]) == 1
    assert len(merges(bob)) == 1


@pytest.mark.slow
def test_a_problem_of_a_commit_made_by_hand_is_reported_once(pair: Pair) -> None:
    ada, bob = pair
    bob.by_hand({"open_loops/OL-9.toml": b"not toml"})
    done = run(bob, Watched(bob, [faster(ada, 1), faster(ada, 2)]))
    assert len([problem for problem in done.problems if "OL-9" in problem]) == 1


@pytest.mark.slow
def test_writes_here_between_the_attempts_are_sent_or_pending(pair: Pair) -> None:
    ada, bob = pair
    bob.loop("OL-bob")

    def both(number: int) -> Turn:
        return lambda: (faster(ada, number)(), bob.follow_up(f"FU-bob-{number}"))

    done = run(bob, Watched(bob, [both(1), both(2)], [lambda: None, lambda: None, lambda: bob.follow_up("FU-late")]))
    assert done.error is None
    assert {"FU-bob-1", "FU-bob-2", "FU-late"} < bob.state.ids("follow_up")
    assert {"OL-bob", "OL-ada-1", "OL-ada-2"} < bob.state.ids("open_loop")
    # the last write came after the merge that the remote accepted, so a second merge joins the two
    assert (len(merges(bob)), done.pending) == (2, 2)
    assert bob.store.is_ancestor(Oid(remote_tip(bob)), bob.tip)
    bob.sync()
    ada.sync()
    assert ada.tip == bob.tip
    assert "FU-late" in ada.state.ids("follow_up")


@pytest.mark.parametrize("is_sent", slow_after(1, [True, False]))
def test_a_connection_that_breaks_during_the_push_loses_nothing(pair: Pair, is_sent: bool) -> None:
    ada, bob = pair
    bob.loop("OL-bob")
    ada.loop("OL-ada")
    ada.sync()
    with pytest.raises(Unreachable):
        run(bob, Fails(bob, is_sent=is_sent))
    assert {"OL-bob", "OL-ada"} < bob.state.ids("open_loop")
    done = bob.sync()
    assert (done.received, done.sent) == (0, 0 if is_sent else 2)
    assert remote_tip(bob) == bob.tip
    assert len(merges(bob)) == 1


@pytest.mark.parametrize("is_sent", slow_after(1, [True, False]))
def test_a_kill_during_the_push_loses_nothing(pair: Pair, is_sent: bool) -> None:
    ada, bob = pair
    bob.loop("OL-bob")
    ada.loop("OL-ada")
    ada.sync()
    own = bob.tip

    def kill() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(bob, Watched(bob, [] if is_sent else [kill], [kill]))
    assert bob.tip == own  # nothing of the merge is here yet
    assert (remote_tip(bob) != ada.tip) == is_sent
    assert bob.sync().error is None
    assert {"OL-bob", "OL-ada"} < bob.state.ids("open_loop")
    assert remote_tip(bob) == bob.tip
    assert len(merges(bob)) == 1
    ledger = find_ledger(bob.store.repository.common_dir)
    assert ledger is not None
    assert ledger.is_made_here(own)


def test_a_push_that_the_server_refuses_leaves_what_was_received_merged(pair: Pair, bare: Path) -> None:
    ada, bob = pair
    bob.loop("OL-bob")
    hook = bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)

    def refuse() -> None:
        faster(ada, 2)()
        hook.write_text("#!/bin/sh\necho 'not on a Sunday' >&2; exit 1\n")
        hook.chmod(0o755)

    done = run(bob, Watched(bob, [faster(ada, 1), refuse, lambda: None]))
    assert "not on a Sunday" in str(done.error)
    assert (done.received, done.pending) == (2, 2)
    assert {"OL-bob", "OL-ada-1", "OL-ada-2"} < bob.state.ids("open_loop")
    hook.unlink()
    assert bob.sync().sent == 2


def test_a_branch_that_is_rewritten_between_two_attempts_stops_the_sync(pair: Pair) -> None:
    ada, bob = pair
    bob.loop("OL-bob")
    ada.loop("OL-ada")
    ada.sync()
    old = ada.git("rev-parse", f"{REF}~1")

    def rewrite() -> None:
        ada.git("push", "-q", "-f", "origin", f"{old}:{REF}")

    done = run(bob, Watched(bob, [rewrite]))
    assert isinstance(done.error, Unsettled)
    assert {"OL-bob", "OL-ada"} < bob.state.ids("open_loop")  # what was received is not lost
    assert remote_tip(bob) == old


def test_a_review_that_becomes_necessary_between_two_attempts_leaves_what_was_accepted_before(pair: Pair) -> None:
    ada, bob = pair
    bob.loop("OL-bob")
    ada.loop("OL-ada")
    ada.sync()

    def push_link() -> None:
        ada.git("worktree", "add", "-q", str(ada.top.parent / "work"), "baton/x")
        work = ada.top.parent / "work"
        (work / "link").symlink_to("/etc/passwd")
        subprocess.run(["git", "-C", str(work), "add", "link"], check=True)
        subprocess.run(
            ["git", "-C", str(work), "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "link"], check=True
        )
        ada.push()

    done = run(bob, Watched(bob, [push_link]))
    assert done.waiting == 1
    assert {"OL-bob", "OL-ada"} < bob.state.ids("open_loop")


@pytest.mark.slow
def test_one_overtaken_namespace_does_not_hold_up_the_others(pair: Pair) -> None:
    ada, bob = pair
    other = replace(bob.ws.branch, namespace=Namespace("y"))
    other_bob = replace(bob, ws=replace(bob.ws, branch=other))
    other_bob.loop("OL-y")
    bob.loop("OL-bob")
    ada.loop("OL-ada")
    ada.sync()
    stamp = bob.ws.stamp("sync", bob.clock())
    remote: Any = Watched(bob, [faster(ada, 1), faster(ada, 2)])
    done = synchronise([bob.ws.branch, other], remote, "origin", Terms(), stamp, SyncOptions(30))
    assert {one.namespace: (one.sent, one.error) for one in done} == {"x": (2, None), "y": (2, None)}
    assert len(merges(bob)) == 1


@pytest.fixture
def odd(pair: Pair, bare: Path, tmp_path: Path) -> Iterator[Callable[[str], Machine]]:
    """Return a function that makes another machine, in a folder of the given name or a shallow clone."""
    made: list[Machine] = []

    def make(name: str) -> Machine:
        top = tmp_path / name / "cara"
        if name == "shallow":
            argv = ["git", "clone", "-q", "--depth=1", "-b", "baton/x", f"file://{bare}", str(top)]
            subprocess.run(argv, check=True, capture_output=True)
            subprocess.run(["git", "-C", str(top), "checkout", "-q", "--orphan", "main"], check=True)
        else:
            shutil.copytree(pair[1].top, top)
            subprocess.run(["git", "-C", str(top), "remote", "set-url", "origin", str(bare)], check=True)
        made.append(machine(top.parent, "cara", Clock()))
        return made[-1]

    yield make
    for one in made:
        one.store.close()


@pytest.mark.parametrize("name", ['a:b "c" \\d\n', "shallow"])
def test_a_merge_is_pushed_before_it_is_stored_from_any_clone(pair: Pair, odd: Any, name: str) -> None:
    cara = odd(name)
    cara.loop("OL-cara")
    done = run(cara, Watched(cara, [faster(pair[0], 1)]))
    assert (done.error, done.sent) == (None, 2)
    assert remote_tip(cara) == cara.tip
    assert not list((cara.store.repository.common_dir / "baton").glob("view-*"))
