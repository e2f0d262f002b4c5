"""Derived values are cached while there is room."""

from __future__ import annotations

import threading
from functools import partial

from baton_git.core.value_cache import OVERHEAD, ValueCache


def test_cached_values_are_computed_once():
    memory, made = ValueCache(), []

    def make():
        made.append(1)
        return object()

    assert memory.get_or_make("a", make, 10) is memory.get_or_make("a", make, 10)
    assert len(made) == 1


def test_the_least_recently_used_entry_is_evicted_first():
    memory = ValueCache(3 * (OVERHEAD + 100))
    for name in "abc":
        memory.put(name, name, 100)
    assert memory.get("a") == "a"
    memory.put("d", "d", 100)
    assert [memory.get(name) for name in "abcd"] == ["a", None, "c", "d"]


def test_an_entry_put_again_is_counted_once():
    memory = ValueCache(2 * (OVERHEAD + 100))
    for number in range(10):
        memory.put("a", number, 100)
        memory.put("b", number, 100)
    assert (memory.get("a"), memory.get("b"), len(memory)) == (9, 9, 2)


def test_values_larger_than_the_cache_are_not_cached():
    memory = ValueCache(1000)
    assert memory.put("a", "large", 10_000) == "large"
    assert memory.get("a") is None
    memory.put("b", "small", 10)
    assert memory.get("b") == "small"


def test_removed_entries_free_their_space():
    memory = ValueCache(2 * (OVERHEAD + 100))
    memory.put(("x", 1), "x", 100)
    memory.put(("y", 2), "y", 100)
    memory.forget(lambda key: key[-1] == 1)
    memory.put(("z", 3), "z", 100)
    assert [memory.get(("x", 1)), memory.get(("y", 2)), memory.get(("z", 3))] == [None, "y", "z"]


def test_threads_can_share_one_cache():
    memory = ValueCache(50 * (OVERHEAD + 10))
    failures = []

    def work(first: int) -> None:
        try:
            for number in range(first, first + 3000):
                key = number % 97
                assert memory.get_or_make(key, partial("value {}".format, key), 10) == f"value {key}"
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(one,)) for one in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not failures
    assert len(memory) == 50
