"""Counters of one id that two machines began before they first met."""

from __future__ import annotations

import pytest
from machines import Machine, settled

from baton_git.core.layout import path_of
from baton_git.core.state import Key
from baton_git.namespace.merge_driver import merge_file
from baton_git.systems.session_baton.document_writing import write

FOLLOW_UP = path_of(Key("follow_up", "FU-1"))
PATTERN = path_of(Key("pattern", "PAT-1"))


@pytest.mark.parametrize(("mine", "yours"), [(1, 1), (3, 3), (2, 1)])
def test_what_two_machines_counted_before_their_first_sync_adds_up(
    ada: Machine, bob: Machine, mine: int, yours: int
) -> None:
    for one, times in ((ada, mine), (bob, yours)):
        one.pattern("PAT-1", times=times)
        one.follow_up("FU-1")
        for _ in range(times):
            one.defer("FU-1")
    texts = [one.files() for one in (ada, bob)]
    settled(ada, bob)
    assert ada.get("pattern", "PAT-1").count == mine + yours
    assert ada.get("follow_up", "FU-1").defer_count == mine + yours
    for path in (FOLLOW_UP, PATTERN):
        assert merge_file(ada.store, path, b"", *(text[path] for text in texts)).text == ada.files()[path]


def test_a_document_that_two_machines_took_over_counts_once(ada: Machine, bob: Machine) -> None:
    item = {"id": "FU-1", "item": "x", "first_seen": "2026-11-01", "defer_count": 3, "last_deferred": "2026-11-02"}
    document = {"session_id": "s", "open_loops": [], "follow_ups": [item], "patterns": [], "active_decisions": []}
    for one in (ada, bob):
        write(one.ws, one.clock(), document, op="import")
    ada.defer("FU-1")
    settled(ada, bob)
    assert ada.get("follow_up", "FU-1").defer_count == 4
