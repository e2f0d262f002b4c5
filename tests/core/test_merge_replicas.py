"""Replicas that edit separately and merge in any order all reach the same state, and no added record is lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from merge_histories import Step, Tree, conflict_titles, grown, read, steps, titles, tree
from strategies import examples, laws

from baton_git.core.merge import apply, decide
from baton_git.core.records.work_items import FollowUp
from baton_git.core.state import State

Version = str
"""The name of a revision: a digest of its parents and files, so two machines give equal revisions the same name."""


@dataclass
class World:
    """All revisions that any replica made."""

    parents: dict[Version, tuple[Version, ...]] = field(default_factory=dict)
    states: dict[Version, State] = field(default_factory=dict)

    def commit(self, state: State, *parents: Version) -> Version:
        files = tree(state)
        name = sha256(repr((sorted(parents), sorted(files.items()))).encode()).hexdigest()
        self.parents[name] = tuple(sorted(parents))
        self.states[name] = state
        return name

    def ancestors(self, version: Version) -> set[Version]:
        """Return a revision and all its ancestors."""
        found, waiting = set(), [version]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting += self.parents[one]
        return found

    def bases(self, one: Version, other: Version) -> list[Version]:
        common = self.ancestors(one) & self.ancestors(other)
        return sorted(v for v in common if not any(v in self.ancestors(w) for w in common if w != v))

    def base(self, one: Version, other: Version) -> State:
        """Return the merge base of two revisions; several bases are merged one after the other."""
        found = self.bases(one, other)
        if not found:
            return State()
        state, *rest = [self.states[base] for base in found]
        for base, theirs in zip(found[1:], rest, strict=True):
            below = self.base(found[0], base)
            state = apply(state, decide(below, state, theirs), record_conflicts=False)
        return state

    def merge(self, mine: Version, other: Version) -> Version:
        """Merge as the holder of `mine` would; an ancestor needs no merge."""
        if other in self.ancestors(mine):
            return mine
        if mine in self.ancestors(other):
            return other
        ours, theirs = self.states[mine], self.states[other]
        return self.commit(apply(ours, decide(self.base(mine, other), ours, theirs)), mine, other)


Event = tuple[int, int, list[Step]]
"""The replica that acts, the replica that it merges with, and its edits before the merge."""

REPLICAS = 4


def events(**more: Any) -> st.SearchStrategy[list[Event]]:
    """Draw events: a replica edits, then merges with another one. If both numbers are equal, it only edits."""
    who = st.integers(0, REPLICAS - 1)
    works = [steps(word, most=3, **more) for word in ("a", "b", "c", "d")]
    return st.lists(who.flatmap(lambda one: st.tuples(st.just(one), who, works[one])), min_size=2, max_size=7)


def lived(happened: list[Event]) -> tuple[World, list[Version]]:
    """Return the world after all events, and the tip of each replica."""
    world = World()
    root = world.commit(State())
    at = [root] * REPLICAS
    for who, whom, work in happened:
        at[who] = worked(world, at[who], work)
        at[who] = world.merge(at[who], at[whom])
    return world, at


def worked(world: World, at: Version, work: list[Step]) -> Version:
    """Return the revision after these edits; `at` itself if they change nothing."""
    before = world.states[at]
    after = grown(before, work)
    return at if tree(after) == tree(before) else world.commit(after, at)


def synced(world: World, at: list[Version], order: list[int]) -> list[Version]:
    """Every replica merges with the hub and stores the result there; then every replica takes the hub's state."""
    hub = at[order[0]]
    for one in order:
        hub = at[one] = world.merge(at[one], hub)
    return [world.merge(one, hub) for one in at]


orders = st.permutations(range(REPLICAS))
some = settings(laws, max_examples=examples(15))


@some
@given(events(), orders)
def test_all_replicas_converge_to_one_commit(happened: list[Event], order: list[int]) -> None:
    world, at = lived(happened)
    assert len(set(synced(world, at, order))) == 1


@some
@given(events(), st.integers(0, REPLICAS - 1), st.integers(0, REPLICAS - 1))
def test_merging_the_same_commits_makes_the_same_commit(happened: list[Event], one: int, other: int) -> None:
    world, at = lived(happened)
    assert world.merge(at[one], at[other]) == world.merge(at[other], at[one])


@some
@given(events(), orders)
def test_storing_between_merges_makes_no_difference(happened: list[Event], order: list[int]) -> None:
    world, at = lived(happened)
    again = World(dict(world.parents), {name: read(tree(state)) for name, state in world.states.items()})
    assert synced(world, list(at), order) == synced(again, list(at), order)


@some
@given(events(without=("remove", "break", "title", "settle", "restore")), orders)
def test_no_added_title_is_lost(happened: list[Event], order: list[int]) -> None:
    world, at = lived(happened)
    added = {title for version in world.states.values() for title in titles(version)}
    result = world.states[synced(world, at, order)[0]]
    assert added <= titles(result) | conflict_titles(result)


@some
@given(st.lists(st.tuples(*[st.integers(0, REPLICAS - 1)] * 2, st.integers(0, 3)), max_size=12), orders)
def test_every_increment_is_counted_once(happened: list[tuple[int, int, int]], order: list[int]) -> None:
    world = World()
    root = world.commit(State().put(FollowUp(id="F", item="x", first_seen="2026-11-01")))
    at = [root] * REPLICAS
    for number, (who, whom, count) in enumerate(happened):
        now = world.states[at[who]]
        item = now.get(FollowUp, "F")
        if count:
            later = item.replace(defer_count=item.defer_count + count, **{f"at {number}": who})
            at[who] = world.commit(now.put(later), at[who])
        at[who] = world.merge(at[who], at[whom])
    result = world.states[synced(world, at, order)[0]].get(FollowUp, "F")
    assert result.defer_count == sum(count for _, _, count in happened)


@some
@given(st.lists(st.tuples(*[st.integers(0, REPLICAS - 1)] * 2, st.integers(0, 3)), max_size=12), orders)
def test_every_increment_of_independently_created_records_is_counted_once(
    happened: list[tuple[int, int, int]], order: list[int]
) -> None:
    world = World()
    root = world.commit(State())
    dates = [f"2026-11-01T0{one}:00:00Z" for one in range(REPLICAS)]
    made = [FollowUp(id="F", item="x", first_seen=one, defer_count=1, **{one: 1}) for one in dates]
    at = [world.commit(State().put(one), root) for one in made]
    for number, (who, whom, count) in enumerate(happened):
        now = world.states[at[who]]
        item = now.get(FollowUp, "F")
        if count:
            later = item.replace(defer_count=item.defer_count + count, **{f"at {number}": who})
            at[who] = world.commit(now.put(later), at[who])
        at[who] = world.merge(at[who], at[whom])
    result = world.states[synced(world, at, order)[0]].get(FollowUp, "F")
    assert result.defer_count == REPLICAS + sum(count for _, _, count in happened)


def test_a_criss_cross_history_has_two_merge_bases() -> None:
    world = World()
    root = world.commit(State())
    item = FollowUp(id="F", item="x", first_seen="2026-11-01")
    one, other = (world.commit(State().put(item.replace(id=name)), root) for name in "ab")
    left = world.merge(one, other)
    right = world.commit(world.states[left].put(item.replace(id="c")), one, other)
    assert len(world.bases(left, right)) == 2
    files: Tree = tree(world.base(left, right))
    assert set(files) == {"follow_ups/a.toml", "follow_ups/b.toml"}
