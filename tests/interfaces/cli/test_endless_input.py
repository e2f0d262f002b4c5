"""Endless input is read up to the size limit, then refused."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("command", [("write", "--file"), ("wrap", "--file")], ids=" ".join)
def test_a_file_without_an_end_is_refused(baton, command):
    baton("init")
    done = baton(*command, "/dev/zero", code=None)
    assert done.code == 1
    assert "/dev/zero: " in done.err
    assert "the limit is 67,108,864 bytes" in done.err
