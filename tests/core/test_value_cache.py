"""Derived values are cached while there is room."""

from __future__ import annotations

import threading
from functools import partial

from baton_git.core.value_cache import OVERHEAD, ValueCache


def test_cached_values_are_computed_once():
    cache, made = ValueCache(), []

    def make():
        made.append(1)
        return object()

    assert cache.get_or_make("a", make, 10) is cache.get_or_make("a", make, 10)
    assert len(made) == 1


def test_the_least_recently_used_entry_is_evicted_first():
    cache = ValueCache(3 * (OVERHEAD + 100))
    for name in "abc":
        cache.put(name, name, 100)
    assert cache.get("a") == "a"
    cache.put("d", "d", 100)
    assert [cache.get(name) for name in "abcd"] == ["a", None, "c", "d"]


def test_an_entry_put_again_is_counted_once():
    cache = ValueCache(2 * (OVERHEAD + 100))
    for number in range(10):
        cache.put("a", number, 100)
        cache.put("b", number, 100)
    assert (cache.get("a"), cache.get("b"), len(cache)) == (9, 9, 2)


def test_values_larger_than_the_cache_are_not_cached():
    cache = ValueCache(1000)
    assert cache.put("a", "large", 10_000) == "large"
    assert cache.get("a") is None
    cache.put("b", "small", 10)
    assert cache.get("b") == "small"


def test_removed_entries_free_their_space():
    cache = ValueCache(2 * (OVERHEAD + 100))
    cache.put(("x", 1), "x", 100)
    cache.put(("y", 2), "y", 100)
    cache.forget(lambda key: key[-1] == 1)
    cache.put(("z", 3), "z", 100)
    assert [cache.get(("x", 1)), cache.get(("y", 2)), cache.get(("z", 3))] == [None, "y", "z"]


def test_threads_can_share_one_cache():
    cache = ValueCache(50 * (OVERHEAD + 10))
    failures = []

    def work(first: int) -> None:
        try:
            for number in range(first, first + 3000):
                key = number % 97
                assert cache.get_or_make(key, partial("value {}".format, key), 10) == f"value {key}"
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(one,)) for one in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not failures
    assert len(cache) == 50
