"""What the state machine of three clones found (tests/slow/test_three_clones.py), each as small as it can be."""

from __future__ import annotations


def test_a_namespace_that_is_nowhere_is_synced_and_still_nowhere(ada):
    done = ada.sync()
    assert (done.received, done.sent, done.pending) == (0, 0, 0)
    assert ada.tip is None
    assert ada.sync(receive_only=True).error is None
