"""Commits made by hand that return to an older state: which wait for a person, and which were clearly intended."""

from __future__ import annotations

import pytest
from machines import Machine, loop

from baton_git.core.names import Oid
from baton_git.namespace.sync.actions import BranchTips, Plan, Terms, plan_sync

PATH = "open_loops/OL-2.toml"


@pytest.fixture
def bob(pair: tuple[Machine, Machine]) -> Machine:
    """Return a machine whose newest commit adds the loop `OL-2`."""
    _, bob = pair
    bob.loop("OL-2")
    return bob


@pytest.fixture
def known(bob: Machine) -> Oid:
    """Return the other machine's tip before the revert."""
    return Oid(str(bob.tip))


def received(bob: Machine, known: Oid) -> Plan:
    """Return the result of a sync with Bob's commits on a machine whose tip is `known`."""
    return plan_sync(bob.ws.branch, BranchTips(known, bob.tip, known), Terms())


def go_back(bob: Machine, message: str = "oops") -> Oid:
    """Commit all files as they were before the newest commit, like `git commit -a` in a stale work tree."""
    now, before = bob.files(), bob.files(f"{bob.tip}~1")
    return bob.by_hand(
        {path: before.get(path) for path in {*now, *before} if now.get(path) != before.get(path)}, message
    )


@pytest.mark.parametrize("flag", ["--no-edit", "--reference"])
def test_git_revert_is_recognised_by_its_message(bob: Machine, known: Oid, flag: str) -> None:
    tree = str(bob.top.with_name("tree"))
    bob.git("worktree", "add", "-q", tree, "baton/x")
    bob.git("-C", tree, "-c", "user.name=Bob", "-c", "user.email=b@x", "revert", "--no-edit", flag, "HEAD")
    assert bob.get("open_loop", "OL-2") is None
    assert received(bob, known).accepted == bob.tip


def test_a_revert_message_that_names_a_foreign_commit_is_ignored(bob: Machine, known: Oid) -> None:
    go_back(bob, f"Revert\n\nThis reverts commit {'1' * 40}.\n")
    assert received(bob, known).waiting == 1


def test_git_rm_of_an_unreadable_record_is_not_a_revert(bob: Machine, known: Oid) -> None:
    bob.by_hand({"open_loops/OL-3.toml": b"broken ["})
    go_back(bob, "git rm")
    assert received(bob, known).accepted == bob.tip


def test_commits_before_a_suspected_revert_are_merged_automatically(bob: Machine, known: Oid) -> None:
    fine = bob.by_hand({"open_loops/OL-3.toml": loop("OL-3")})
    bob.by_hand({"open_loops/OL-4.toml": loop("OL-4")})
    go_back(bob)
    bob.by_hand({"open_loops/OL-5.toml": loop("OL-5")})
    done = received(bob, known)
    assert done.waiting == 2
    assert bob.store.is_ancestor(fine, done.accepted)


def test_git_revert_of_a_suspected_revert_releases_later_commits(bob: Machine, known: Oid) -> None:
    oops = go_back(bob)
    assert received(bob, known).waiting == 1
    go_back(bob, f'Revert "oops"\n\nThis reverts commit {oops}.\n')
    bob.by_hand({"open_loops/OL-3.toml": loop("OL-3")})
    assert received(bob, known).accepted == bob.tip


def test_a_suspected_revert_without_remaining_effect_does_not_wait(bob: Machine, known: Oid) -> None:
    go_back(bob)
    go_back(bob, "put back by hand")
    bob.by_hand({"open_loops/OL-3.toml": loop("OL-3")})
    assert received(bob, known).accepted == bob.tip


def test_a_suspected_revert_of_a_foreign_file_waits_while_it_has_an_effect(bob: Machine) -> None:
    known = bob.by_hand({"notes.txt": b"theirs\n"})
    go_back(bob)
    assert received(bob, known).waiting == 1
    bob.by_hand({"notes.txt": b"new\n"})
    assert received(bob, known).accepted == bob.tip


def test_commits_after_a_completed_review_are_merged_automatically(pair: tuple[Machine, Machine]) -> None:
    ada, bob = pair
    bob.by_hand({PATH: loop("OL-2")})
    bob.push()
    ada.sync()
    go_back(bob)
    bob.push()
    assert ada.sync().waiting == 1
    ada.decide(refuse=["OL-2"], take=None)
    bob.by_hand({"open_loops/OL-3.toml": loop("OL-3")})
    bob.push()
    assert not ada.sync().waiting
    assert {"OL-2", "OL-3"} <= ada.state.ids("open_loop")


def test_the_hint_names_the_commit_to_undo(bob: Machine, known: Oid) -> None:
    oops = go_back(bob)
    bob.by_hand({"open_loops/OL-3.toml": loop("OL-3")})
    [stop] = plan_sync(bob.ws.branch, BranchTips(bob.tip, known, known), Terms()).actions
    assert f"baton undo {oops[:10]} " in stop.hint
