"""Lanes: refs on the remote by which machines send at the same time, merged by whoever pushes to the branch next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from machines import REF, SEEN, Machine, loop, sync_until_equal
from overtaking import AlwaysFaster, Watched, faster, merges, remote_tip, run

from baton_git.core.errors import Unsettled
from baton_git.core.names import LANES, Oid
from baton_git.git.remotes import PushOvertaken
from baton_git.namespace.ingest.budget import PUSHED, Budget
from baton_git.namespace.ingest.server import RefUpdate, check_ref_updates
from baton_git.namespace.remote_selection import count_pending_commits
from baton_git.namespace.sync.actions import Terms
from baton_git.namespace.sync.lanes import fold_tips, name_lane
from baton_git.namespace.sync.outgoing import find_known_tips
from baton_git.namespace.sync.remote_names import check_remote
from baton_git.namespace.sync.tracking_refs import TRACKED_LANES, list_tracked_lanes
from baton_git.verbs.sharing.auto_sync import sync_at_start

Pair = tuple[Machine, Machine]
TERMS = Terms(lanes=True, name="origin", machine="m")


def terms_of(one: Machine) -> Terms:
    return replace(TERMS, machine=one.ws.actor.machine)


class LosesBranch(Watched):
    """Another machine always pushes to the branch first; lanes are accepted."""

    pushes = 0

    def push(self, moves: Any, *, seconds: float) -> Any:
        self.pushes += 1
        lanes = [move for move in moves if move.ref.startswith(LANES)]
        lost = {move.ref: PushOvertaken("somebody was faster") for move in moves if move not in lanes}
        return {**lost, **(self.remote.push(lanes, seconds=seconds) if lanes else {})}


def use_lanes(*machines: Machine) -> None:
    for one in machines:
        one.set_remotes(lanes=frozenset({"origin"}))


def lanes_on_remote(one: Machine) -> dict[str, str]:
    lines = one.git("ls-remote", "origin", f"{LANES}*").splitlines()
    return {ref: tip for tip, ref in (line.split("\t") for line in lines)}


def send_by_lane(one: Machine, id_: str) -> None:
    """Write a loop, and send it by the lane, because the branch is always lost to others."""
    one.loop(id_)
    done = run(one, LosesBranch(one), terms_of(one))
    assert done.error is None
    assert (done.sent, done.pending) == (1, 0)


def test_a_machine_that_is_overtaken_sends_by_its_lane(pair: Pair) -> None:
    ada, bob = pair
    send_by_lane(bob, "OL-bob")
    own = bob.tip
    assert list(lanes_on_remote(bob).values()) == [own]
    assert merges(bob) == []
    assert own in find_known_tips(bob.ws.branch, "origin")
    use_lanes(ada, bob)
    ada.loop("OL-ada")
    done = ada.sync()  # merges the lane
    assert (done.received, done.sent) == (1, 2)
    assert {"OL-ada", "OL-bob"} < ada.state.ids("open_loop")
    assert remote_tip(ada) == ada.tip
    assert bob.sync().received == 2
    assert bob.tip == ada.tip
    assert len(merges(ada)) == 1
    bob.loop("OL-next")
    bob.sync()
    left = name_lane(ada.ws.branch, ada.ws.actor.machine)  # until she syncs again: she had pushed both at once
    assert list(lanes_on_remote(bob)) == [left]  # that of bob is gone, because the branch has its commits


@pytest.mark.slow
def test_what_a_lane_has_already_is_not_sent_again_and_again(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-ada")
    ada.sync()
    send_by_lane(bob, "OL-bob")
    remote = LosesBranch(bob)
    done = run(bob, remote, terms_of(bob))
    assert (done.error, done.sent, done.pending) == (None, 0, 0)
    assert remote.pushes <= 6
    assert merges(bob) == []


def test_nothing_changes_if_nobody_else_pushes(pair: Pair) -> None:
    ada, bob = pair
    use_lanes(ada, bob)
    for one in (ada, bob, ada, bob):
        one.sync()
        one.loop(f"OL-{one.name}-{one.clock():%H%M%S%f}")
        assert one.sync().sent == 1
    assert lanes_on_remote(ada) == {}
    assert merges(bob) == []


@pytest.mark.slow
def test_merges_of_lanes_that_the_branch_does_not_take_leave_no_trace(pair: Pair, make: Callable[..., Machine]) -> None:
    ada, bob = pair
    cara = make("cara")
    cara.sync()
    send_by_lane(bob, "OL-bob")
    ada.loop("OL-ada")
    ada.sync()  # without lanes
    before = cara.tip
    done = run(cara, LosesBranch(cara), terms_of(cara))  # has nothing of its own, but merges the lanes of others
    assert (done.error, done.sent, done.pending) == (None, 0, 0)
    assert cara.tip == ada.tip != before
    assert merges(cara) == []
    use_lanes(cara)
    assert cara.sync().sent == 1  # the merge alone, since the remote has all that it merges
    assert remote_tip(cara) == cara.tip
    assert len(merges(cara)) == 1


@pytest.mark.slow
def test_a_burst_leaves_no_more_merges_than_writes(pair: Pair, make: Callable[..., Machine]) -> None:
    ada, bob = pair
    cara = make("cara")
    cara.sync()
    send_by_lane(cara, "OL-cara")
    bob.loop("OL-bob")
    use_lanes(ada)

    def others() -> None:
        ada.loop("OL-ada")
        ada.sync()

    done = run(bob, Watched(bob, [others, faster(ada, 2), faster(ada, 3)]), terms_of(bob))
    assert done.error is None
    sync_until_equal(ada, bob, cara)
    assert {"OL-ada", "OL-bob", "OL-cara"} < ada.state.ids("open_loop")
    own = [info for info in ada.store.log(ada.tip) if len(info.parents) == 1]
    assert len(merges(ada)) <= len(own)


def test_a_lane_is_sent_at_once_while_others_wait(pair: Pair, make: Callable[..., Machine]) -> None:
    ada, bob = pair
    cara = make("cara")
    cara.sync()
    send_by_lane(bob, "OL-bob")
    cara.loop("OL-cara")
    remote = LosesBranch(cara)
    done = run(cara, remote, TERMS)
    assert (done.error, done.sent) == (None, 1)
    assert len(lanes_on_remote(ada)) == 2
    use_lanes(ada)
    ada.sync()  # has written nothing itself
    assert {"OL-bob", "OL-cara"} < ada.state.ids("open_loop")
    assert remote_tip(ada) == ada.tip
    cara.pull()
    assert cara.tip == ada.tip


def test_a_session_begins_with_lanes_that_the_branch_lacks(pair: Pair) -> None:
    ada, bob = pair
    use_lanes(ada)
    send_by_lane(bob, "OL-bob")
    assert not sync_at_start(ada.ws, bob.clock.now - timedelta(seconds=30))  # it may come with the branch in a moment
    ada.clock.now = bob.clock.now
    sync_at_start(ada.ws, ada.clock())
    assert "OL-bob" in ada.state.ids("open_loop")
    assert ada.tip == bob.tip
    assert remote_tip(ada) != ada.tip  # the start of a session pushes nothing


def test_a_machine_without_the_setting_uses_the_branch_alone(pair: Pair, make: Callable[..., Machine]) -> None:
    ada, bob = pair
    send_by_lane(bob, "OL-bob")
    ada.loop("OL-ada")
    assert ada.sync().sent == 1
    assert "OL-bob" not in ada.state.ids("open_loop")
    use_lanes(bob)
    assert bob.sync().error is None
    ada.git("fetch", "-q", "origin", f"{REF}:refs/heads/seen")
    assert ada.git("rev-parse", "seen") == bob.tip
    sync_until_equal(ada, bob)


def test_the_setting_can_be_turned_off_while_a_lane_waits(pair: Pair) -> None:
    ada, bob = pair
    send_by_lane(bob, "OL-bob")
    assert bob.sync().error is None
    assert remote_tip(bob) == bob.tip
    ada.sync()
    assert "OL-bob" in ada.state.ids("open_loop")


def test_private_refs_of_lanes_that_are_gone_are_deleted(pair: Pair) -> None:
    ada, bob = pair
    send_by_lane(bob, "OL-bob")
    use_lanes(ada, bob)
    ada.sync()
    assert list(list_tracked_lanes(ada.ws.branch, "origin").values()) == [bob.tip]
    bob.loop("OL-next")
    bob.sync()  # removes its lane
    ada.sync()
    assert list_tracked_lanes(ada.ws.branch, "origin") == {}
    bob.sync()
    assert list_tracked_lanes(bob.ws.branch, "origin") == {}


@pytest.mark.slow
def test_lanes_of_remotes_that_are_gone_are_forgotten(pair: Pair) -> None:
    ada, bob = pair
    send_by_lane(bob, "OL-bob")
    use_lanes(ada)
    ada.sync()
    ada.git("remote", "rename", "origin", "upstream")
    ada.set_remotes(lanes=frozenset())
    ada.try_sync(remote="upstream")
    assert ada.store.refs(TRACKED_LANES) == {}


def test_switching_lanes_off_sends_all_to_the_branch_and_removes_what_is_left(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-ada")
    ada.sync()
    send_by_lane(bob, "OL-bob")
    sync_at_start(bob.ws, bob.clock())  # the setting is off now: pushes nothing, and must not forget what the lane has
    assert lanes_on_remote(bob)
    assert bob.sync().error is None
    assert remote_tip(bob) == bob.tip
    assert lanes_on_remote(bob) == {}
    assert list_tracked_lanes(bob.ws.branch, "origin") == {}
    use_lanes(bob)  # and on again
    send_by_lane(bob, "OL-again")
    ada.sync()
    bob.sync()
    sync_until_equal(ada, bob)
    assert {"OL-ada", "OL-bob", "OL-again"} < ada.state.ids("open_loop")


def test_a_lane_of_another_clone_stays_when_lanes_are_switched_off_here(pair: Pair) -> None:
    ada, bob = pair
    use_lanes(ada)
    send_by_lane(bob, "OL-bob")
    ada.sync(dry_run=True)
    ada.set_remotes(lanes=frozenset())
    ada.loop("OL-ada")
    ada.sync()
    assert list(lanes_on_remote(ada).values()) == [bob.tip]
    assert list_tracked_lanes(ada.ws.branch, "origin") == {}


def test_a_ref_with_another_name_is_no_lane(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-ada")
    ada.git("push", "-q", "origin", f"{REF}:{LANES}x/main")
    use_lanes(bob)
    bob.loop("OL-bob")
    done = bob.sync()
    assert any("not the name of a lane" in note for note in done.notes)
    assert "OL-ada" not in bob.state.ids("open_loop")
    assert list(lanes_on_remote(bob)) == [f"{LANES}x/main"]


def test_commits_in_a_lane_count_as_unsent_once_lanes_are_off(pair: Pair) -> None:
    bob = pair[1]
    use_lanes(bob)
    send_by_lane(bob, "OL-bob")
    assert count_pending_commits(bob.ws) == {}
    bob.set_remotes(lanes=frozenset())
    assert count_pending_commits(bob.ws) == {"origin": 1}
    bob.sync()
    assert count_pending_commits(bob.ws) == {}


def test_two_clones_with_the_same_lane_lose_nothing(pair: Pair) -> None:
    ada, bob = pair
    name = name_lane(bob.ws.branch, bob.ws.actor.machine)
    ada.loop("OL-ada")
    ada.git("push", "-q", "origin", f"{REF}:{name}")
    send_by_lane(bob, "OL-bob")
    assert set(lanes_on_remote(bob).values()) == {ada.tip, bob.tip}
    use_lanes(bob)
    bob.sync()
    assert {"OL-ada", "OL-bob"} < bob.state.ids("open_loop")


def test_a_lane_that_is_no_namespace_is_left_out_with_a_note(pair: Pair) -> None:
    ada, bob = pair
    ada.git("commit", "-q", "--allow-empty", "-m", "code")
    ada.git("push", "-q", "origin", f"HEAD:{LANES}x/0123456789abcdef")
    use_lanes(bob)
    bob.loop("OL-bob")
    done = bob.sync()
    assert done.sent == 1
    assert any("0123456789abcdef was left out" in note for note in done.notes)


def test_a_lane_that_the_server_refuses_on_the_branch_does_not_hold_up_others(pair: Pair, bare: Path) -> None:
    ada, bob = pair
    send_by_lane(ada, "OL-refused")
    hook = bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    test = "git ls-tree -r --name-only $new | grep -q refused && exit 1"
    hook.write_text(f"#!/bin/sh\nwhile read -r old new ref; do {test}; done\nexit 0\n")
    hook.chmod(0o755)
    use_lanes(bob)
    bob.loop("OL-bob")
    done = bob.sync()
    assert (done.error, done.sent) == (None, 1)
    assert "OL-refused" not in bob.state.ids("open_loop")


def test_lanes_wait_for_a_review_like_the_branch(pair: Pair) -> None:
    ada, bob = pair
    send_by_lane(bob, "OL-bob")
    ada.set_policy("review")
    use_lanes(ada)
    ada.loop("OL-ada")
    done = ada.sync()
    assert (done.waiting, done.sent) == (1, 0)
    assert ada.list_waiting() == ["OL-bob"]
    ada.decide(take=["OL-bob"])
    assert "OL-bob" in ada.state.ids("open_loop")
    ada.sync()
    assert remote_tip(ada) == ada.tip


def test_a_rewritten_branch_is_not_repaired_from_lanes(pair: Pair) -> None:
    ada, bob = pair
    bob.loop("OL-bob")
    bob.sync()
    ada.sync()
    send_by_lane(bob, "OL-lane")
    before = ada.git("rev-parse", f"{REF}~1")
    ada.git("push", "-q", "-f", "origin", f"{before}:{REF}")
    use_lanes(ada)
    assert isinstance(ada.try_sync().error, Unsettled)
    assert remote_tip(ada) == before


@pytest.mark.parametrize("is_sent", [False, True])
def test_a_kill_during_the_push_of_a_lane_loses_nothing(pair: Pair, is_sent: bool) -> None:
    ada, bob = pair
    bob.loop("OL-bob")
    own = bob.tip

    def kill() -> None:
        raise KeyboardInterrupt

    turns = [faster(ada, 1), *([lambda: None] if is_sent else [kill])]
    with pytest.raises(KeyboardInterrupt):
        run(bob, Watched(bob, turns, [lambda: None, kill]), TERMS)
    assert bob.tip == own
    use_lanes(bob, ada)
    sync_until_equal(bob, ada)
    assert {"OL-bob", "OL-ada-1"} < ada.state.ids("open_loop")


def test_a_sync_that_never_gets_through_still_fails_with_busy_without_lanes(pair: Pair) -> None:
    bob = pair[1]
    bob.loop("OL-bob")
    done = run(bob, AlwaysFaster(bob), TERMS, seconds=1)
    assert done.error is not None
    assert done.pending == 1


def test_a_dry_run_shows_what_lanes_would_bring(pair: Pair) -> None:
    ada, bob = pair
    send_by_lane(bob, "OL-bob")
    use_lanes(ada)
    before = ada.tip
    done = ada.sync(dry_run=True)
    assert [change.id for change in done.changes] == ["OL-bob"]
    assert (ada.tip, ada.sync().received) == (before, 1)


def test_a_namespace_with_lanes_that_wait_is_not_renamed_on_the_remote(pair: Pair) -> None:
    ada, bob = pair
    send_by_lane(bob, "OL-bob")
    remote: Any = Watched(ada).remote
    with pytest.raises(Unsettled):
        check_remote(remote, ada.ws.branch, ada.tip)
    use_lanes(ada)
    ada.sync()
    assert check_remote(remote, ada.ws.branch, ada.tip) == ada.tip


@pytest.mark.slow
def test_all_namespaces_are_synced_with_their_lanes(pair: Pair, make: Callable[..., Machine]) -> None:
    send_by_lane(pair[1], "OL-bob")
    cara = make("cara", lanes=frozenset({"origin"}))
    [done] = cara.run_sync(everything=True).outcomes
    assert done.error is None
    assert "OL-bob" in cara.state.ids("open_loop")


@pytest.mark.slow
def test_concurrent_machines_lose_nothing(pair: Pair, make: Callable[..., Machine]) -> None:
    """Each machine syncs in the middle of the other's sync; every accepted write is on the remote at once."""
    ada, bob = pair
    use_lanes(ada, bob)
    for number in range(3):
        bob.loop(f"OL-bob-{number}")
        done = run(bob, Watched(bob, [faster(ada, 2 * number), faster(ada, 2 * number + 1)]), TERMS)
        assert done.error is None
        on_remote = [remote_tip(ada), *lanes_on_remote(ada).values()]
        bob.git("fetch", "-q", "origin", f"+{LANES}*:refs/seen/*", f"+{REF}:refs/seen/branch")
        assert any(bob.git("ls-tree", "-r", tip).count(f"OL-bob-{number}.toml") for tip in on_remote)
    sync_until_equal(ada, bob)
    assert bob.store.tip(SEEN) == remote_tip(ada)
    assert {f"OL-bob-{number}" for number in range(3)} < ada.state.ids("open_loop")
    count = int(ada.git("rev-list", "--count", REF))
    assert len(merges(ada)) <= 3
    assert count <= 3 + 2 * (3 + 6)


# --- the merge is a pure function


@pytest.fixture
def tips(pair: Pair, tmp_path: Path) -> list[Oid]:
    """Commits of several machines on one base, some of which contradict each other or build on others."""
    ada = pair[0]
    base, found = ada.tip, []
    for number in range(4):
        ada.git("update-ref", REF, str(base))
        ada.store.kept_refs.set(REF, base)
        found.append(ada.by_hand({"open_loops/OL-1.toml": loop("OL-1", f"{number}")}, seconds=1_800_000_000 + number))
        if number % 2:
            found.append(ada.by_hand({f"open_loops/OL-{number}x.toml": loop("OL-2", "x")}, seconds=1_800_000_100))
    ada.git("update-ref", REF, str(base))
    ada.store.kept_refs.set(REF, base)
    return [base, *found]


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_the_order_in_which_lanes_are_listed_does_not_matter(pair: Pair, tips: list[Oid], data: st.DataObject) -> None:
    store = pair[0].store
    chosen = data.draw(st.lists(st.sampled_from(tips[1:]), unique=True, min_size=1))
    again = data.draw(st.permutations(chosen))
    first, second = fold_tips(store, tips[0], chosen), fold_tips(store, tips[0], [*again, chosen[0]])
    assert (first.commit, first.draft.objects) == (second.commit, second.draft.objects)
    with store.expose(first.draft):
        assert all(store.is_ancestor(tip, first.commit) for tip in (tips[0], *chosen))


# --- on a server


def refusals(bare: Machine, ref: str, old: Oid | None, new: Oid | None, budget: Budget = PUSHED) -> list[str]:
    update = RefUpdate(old, new, ref)
    return [one.why for one in check_ref_updates(bare.store, "refs/heads/baton/", [update], budget=budget)]


def test_a_server_checks_lanes_like_the_branch(pair: Pair) -> None:
    ada, _ = pair
    lane, base = f"{LANES}x/0123456789abcdef", ada.tip
    good = ada.by_hand({"open_loops/OL-2.toml": loop("OL-2")})
    bad = ada.by_hand({"open_loops/OL-3.toml": b"not toml"})
    ada.git("update-ref", REF, str(base))
    ada.store.kept_refs.set(REF, base)
    assert refusals(ada, lane, None, good) == []
    assert "files changed" in refusals(ada, lane, None, good, replace(PUSHED, changed=0))[0]
    assert refusals(ada, lane, good, bad) != []
    assert "would remove commits" in refusals(ada, lane, good, None)[0]
    assert "would remove commits" in refusals(ada, lane, good, base)[0]
    assert refusals(ada, lane, base, None) == []  # the branch has it
    for name in ("x", "x/", "x/main", "x/0123456789ABCDEF", "x/0123456789abcdef0"):
        assert "is not the name of a lane" in refusals(ada, f"{LANES}{name}", None, good)[0]
    assert refusals(ada, f"{LANES}x/main", base, None) == []  # what should not be there may go
    assert "is not the name of a lane" in refusals(ada, f"{LANES}x/a/b", None, good)[0]
    assert refusals(ada, "refs/other/x", None, bad) == []
