"""The log yields every commit once, children before parents, and reads lazily."""

from __future__ import annotations

import random
from itertools import islice
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from store_world import REF, WHO

from baton_git.core.names import Oid
from baton_git.git.objects.values import CommitInfo
from baton_git.git.store import ReflogEntry
from baton_git.git.store.history import all_commits


def _commit(name, parents, time):
    return CommitInfo(oid=name, tree=Oid(""), parents=tuple(parents), author=WHO, time=time, timezone=0, message="")


def test_history_is_read_lazily():
    loaded = []

    def load(name):
        loaded.append(name)
        return _commit(name, [str(int(name) - 1)] if name != "0" else [], int(name))

    assert [commit.oid for commit in islice(all_commits(load, Oid("10000")), 3)] == ["10000", "9999", "9998"]
    assert len(loaded) <= 5


@st.composite
def _histories(draw):
    """Draw a graph of commits whose clocks differ by up to `skew` seconds."""
    count = draw(st.integers(1, 25))
    skew = draw(st.sampled_from([0, 3, 100]))
    rng = random.Random(draw(st.integers()))
    graph = {}
    for number in range(count):
        parents = [str(number - 1)] if number else []
        if number > 2 and rng.random() < 0.5:
            parents = list({str(rng.randrange(max(0, number - 6), number)) for _ in range(2)} | set(parents[:1]))
        graph[str(number)] = _commit(str(number), parents, number * 2 + rng.randrange(skew + 1))
    return graph, str(count - 1)


@settings(max_examples=200, deadline=None)
@given(_histories())
def test_every_commit_is_yielded_once(history):
    graph, tip = history
    order = [commit.oid for commit in all_commits(graph.__getitem__, tip)]
    reachable, todo = set(), [tip]
    while todo:
        name = todo.pop()
        if name not in reachable:
            reachable.add(name)
            todo += graph[name].parents
    assert len(order) == len(set(order))
    assert set(order) == reachable


def test_children_come_before_parents_though_a_clock_was_wrong():
    graph: dict[Any, Any] = {
        "root": _commit("root", [], 10),
        "a1": _commit("a1", ["root"], 500),  # the clock of this machine was ahead
        "a2": _commit("a2", ["a1"], 30),
        "b1": _commit("b1", ["root"], 40),
        "b2": _commit("b2", ["b1"], 41),
        "merge": _commit("merge", ["a2", "b2"], 50),
    }
    order: list[str] = [commit.oid for commit in all_commits(graph.__getitem__, Oid("merge"))]
    for name, commit in graph.items():
        assert all(order.index(name) < order.index(parent) for parent in commit.parents)


def test_first_parents_only_and_the_whole_history_agree_with_git(store, writer, git, top):
    base = writer.commit({"a": b"1"})
    left = writer.commit({"a": b"2"})
    git(top, "update-ref", "refs/heads/side", base)
    side = type(writer)(store, "refs/heads/side")
    side.time = writer.time + 10
    right = side.commit({"b": b"3"})
    draft = store.draft()
    tree = store.commit(left).tree
    merge = draft.commit(tree, [left, right], author=WHO, time=1_800_000_000, timezone=0, message="m")
    assert store.publish(draft, REF, left, merge, ReflogEntry(WHO, 1, 0, "m"))
    assert [commit.oid for commit in store.log(merge)] == git(top, "rev-list", "--date-order", REF).splitlines()
    assert [commit.oid for commit in store.log(merge, first_parent=True)] == [merge, left, base]
