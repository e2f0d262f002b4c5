"""Merge bases and the commits ahead, compared with git on random graphs with wrong times and revision numbers."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_world import REF, WHO

from baton_git.core.errors import Corrupt
from baton_git.core.names import Oid
from baton_git.git.objects.values import CommitInfo
from baton_git.git.store import ReflogEntry, Repository, Store, history

EMPTY_TREE = Oid("4b825dc642cb6eb9a060e54bf8d69288fbee4904")

Drawn = tuple[tuple[int, ...], int, int | None]
"""A commit of a random graph: the positions of its parents, its time, and the revision in its trailer."""


@st.composite
def graphs(draw: st.DrawFn) -> list[Drawn]:
    """Draw commits, parents first."""
    rng = random.Random(draw(st.integers()))
    count = draw(st.integers(1, 30))
    near = draw(st.sampled_from([2, 5, 30]))
    merges, roots = draw(st.sampled_from([0.1, 0.5])), draw(st.sampled_from([0.0, 0.1]))
    clock = draw(st.sampled_from(["right", "equal", "reversed", "random"]))
    by_hand, forged = draw(st.sampled_from([0.0, 0.3, 1.0])), draw(st.sampled_from([0.0, 0.0, 0.2, 1.0]))
    found: list[Drawn] = []
    true: list[int] = []
    for place in range(count):
        reach = range(max(0, place - near), place)
        wanted = 0 if not place or rng.random() < roots else rng.choice([2, 2, 3]) if rng.random() < merges else 1
        parents = tuple(rng.sample(reach, min(wanted, len(reach))))
        true.append(1 + max((true[one] for one in parents), default=-1))
        claimed = None if rng.random() < by_hand else rng.randrange(2 * count) if rng.random() < forged else true[-1]
        time = {"right": place, "equal": 0, "reversed": count - place, "random": rng.randrange(count)}[clock]
        found.append((parents, 1_700_000_000 + time, claimed))
    return found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Return a bare repository for all graphs."""
    folder = tmp_path_factory.mktemp("graphs")
    subprocess.run(["git", "init", "-q", "--bare", str(folder)], check=True)
    with Store(Repository.open(folder)) as store:
        yield store


def message(place: int, claimed: int | None) -> str:
    return f"{place}" if claimed is None else f"{place}\n\nBaton-Op: x\nBaton-Revision: {claimed}"


def stored(store: Store, graph: list[Drawn]) -> list[Oid]:
    draft = store.draft()
    tree = draft.tree(None, {})
    assert tree == EMPTY_TREE
    made: list[Oid] = []
    for place, (parents, time, claimed) in enumerate(graph):
        ids = [made[one] for one in parents]
        made.append(draft.commit(tree, ids, author=WHO, time=time, timezone=0, message=message(place, claimed)))
    tips = tuple(dict.fromkeys(made))
    top = draft.commit(tree, tips, author=WHO, time=1, timezone=0, message="all of them")
    assert store.publish(draft, REF, store.tip(REF), top, ReflogEntry(WHO, 1, 0, "graph"))
    return made


def run_git(store: Store, *words: str) -> list[str]:
    argv = ["git", "-C", str(store.repository.common_dir), *words]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return [str(done.returncode), *done.stdout.split()]


def come_before_their_parents(given_commits: list[CommitInfo]) -> bool:
    place = {commit.oid: number for number, commit in enumerate(given_commits)}
    return all(place[one.oid] < place.get(parent, len(place)) for one in given_commits for parent in one.parents)


def reachable(graph: Mapping[Oid, CommitInfo], tip: Oid) -> set[Oid]:
    """Return the ids of all commits that can be reached from the tip, by a simple search."""
    found, todo = set(), [tip]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += graph[one].parents
    return found


def in_memory(graph: list[Drawn]) -> dict[Oid, CommitInfo]:
    return {
        Oid(str(place)): CommitInfo(
            Oid(str(place)), EMPTY_TREE, tuple(Oid(str(one)) for one in parents), WHO, time, 0, message(place, claimed)
        )
        for place, (parents, time, claimed) in enumerate(graph)
    }


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(graphs(), st.randoms(use_true_random=False))
def test_the_answers_are_those_of_git(world: Store, graph, rng):
    made = stored(world, graph)
    a, b, c = (rng.choice(made) for _ in range(3))
    bases = world.merge_bases(a, b)
    assert bases == world.merge_bases(b, a) == sorted(run_git(world, "merge-base", "--all", a, b)[1:])
    assert world.is_ancestor(a, b) == (run_git(world, "merge-base", "--is-ancestor", a, b) == ["0"])
    ahead = list(world.only_in(a, b, c))
    # not `rev-list a ^b ^c`: git trusts the clocks and stops early, so it lists too many commits if they are wrong
    reachable_from_each = [set(run_git(world, "rev-list", tip)[1:]) for tip in (a, b, c)]
    assert {one.oid for one in ahead} == reachable_from_each[0] - reachable_from_each[1] - reachable_from_each[2]
    assert come_before_their_parents(ahead)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(graphs(), st.randoms(use_true_random=False))
def test_clocks_and_forged_numbers_do_not_change_the_ancestry(drawn, rng):
    graph = in_memory(drawn)
    load = graph.__getitem__
    for _ in range(3):
        a, b, c = (rng.choice(list(graph)) for _ in range(3))
        all_a, all_b, all_c = (reachable(graph, tip) for tip in (a, b, c))
        worse = {other for one in all_a & all_b for other in reachable(graph, one) - {one}}
        assert history.merge_bases(load, a, b) == sorted((all_a & all_b) - worse)
        assert history.is_ancestor(load, a, b) == (a in all_b)
        ahead = list(history.only_in(load, a, [b, c]))
        assert sorted(one.oid for one in ahead) == sorted(all_a - all_b - all_c)
        assert come_before_their_parents(ahead)
        assert {one.oid for one in history.only_in(load, a, [])} == all_a


@pytest.mark.parametrize("numbered", ["all", "none", "all but the newest", "every third"])
def test_near_tips_of_a_long_history_read_little(numbered):
    count = 3000
    has_number = {
        "all": lambda place: True, "none": lambda place: False,
        "all but the newest": lambda place: place < count, "every third": lambda place: place % 3 == 0,
    }[numbered]  # fmt: skip
    line: list[Drawn] = [
        (() if not place else (place - 1,), 1_700_000_000 + place, place if has_number(place) else None)
        for place in range(count + 5)
    ]
    side = count - 1  # the other machine built five commits on the 3,000th, with its clock an hour reachable
    for place in range(count + 5, count + 10):
        line.append(
            ((side,), 1_700_000_000 + place - 3600 * (numbered != "none"), place - 5 if has_number(place) else None)
        )
        side = place
    graph = in_memory(line)
    loaded: list[Oid] = []

    def load(oid: Oid) -> CommitInfo:
        loaded.append(oid)
        return graph[oid]

    ours, theirs, base = Oid(str(count + 4)), Oid(str(side)), Oid(str(count - 1))
    assert history.merge_bases(load, ours, theirs) == [base]
    assert not history.is_ancestor(load, ours, theirs)
    assert history.is_ancestor(load, base, theirs)
    assert len(list(history.only_in(load, ours, [theirs]))) == 5
    assert len(loaded) < 60


def test_a_side_branch_is_followed_to_where_it_began():
    """The branches of two machines were merged often. Only the commits since the last common merge are read."""
    line: list[Drawn] = [((), 0, 0)]
    tips = [0, 0]
    for turn in range(1, 2000):
        mine = turn % 2
        parents = (tips[mine],) if turn % 5 else tuple(dict.fromkeys(tips))
        line.append((parents, turn, 1 + max(line[one][2] for one in parents)))
        tips[mine] = len(line) - 1
        if len(parents) > 1:
            tips[1 - mine] = tips[mine]
    graph = in_memory(line)
    loaded: list[Oid] = []

    def load(oid: Oid) -> CommitInfo:
        loaded.append(oid)
        return graph[oid]

    history.merge_bases(load, *(Oid(str(tip)) for tip in tips))
    assert len(loaded) < 20


def test_a_missing_commit_is_not_taken_for_a_root(world: Store):
    made = stored(world, [((), 1, 0), ((0,), 2, 1)])
    with pytest.raises(Corrupt):
        world.merge_bases(made[1], Oid("0" * 39 + "1"))


def test_a_shallow_clone_answers_like_git(top, git, writer, new_writer, tmp_path):
    tips = [writer.commit({"a": str(number).encode()}) for number in range(6)]
    git(tmp_path, "clone", "-q", "--bare", "--depth", "3", "-b", "baton/x", top.as_uri(), "shallow")
    shallow = new_writer(tmp_path / "shallow").store
    assert shallow.is_shallow
    assert [one.oid for one in shallow.only_in(tips[5])] == tips[:2:-1]
    assert shallow.merge_bases(tips[3], tips[5]) == [tips[3]]
    assert shallow.is_ancestor(tips[3], tips[5])
