"""A short name of a session names that session only, and everything that takes an id takes it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton_git.core.errors import Ambiguous
from baton_git.core.records.lineage import Session
from baton_git.core.sessions import SessionNames, complete_session, is_named, list_session_ids
from baton_git.core.state import State

STARTED = "2026-11-21T08:00:00Z"
HEX = "0123456789abcdef"
UUIDS = st.builds(
    lambda first, *rest: "-".join([first, *rest]),
    st.sampled_from(["019e3f2a", "7f3e9a52"]),
    *(st.text("01", min_size=size, max_size=size) for size in (4, 4, 4, 12)),
)
NAMES = st.one_of(UUIDS, st.sampled_from(["2026-11-20-k3f9q2", "s1", "7f3e9a52", "019e3f2a-0", "monday"]))


def state_of(ids: set[str]) -> State:
    state = State()
    for id_ in ids:
        state = state.put(Session(id=id_, started=STARTED))
    return state


@given(st.sets(NAMES, min_size=1, max_size=8))
def test_a_short_name_is_completed_to_its_session(ids: set[str]) -> None:
    state = state_of(ids)
    names = SessionNames(lambda: list_session_ids(state))
    for id_ in ids:
        short = names.shorten(id_)
        assert complete_session(state, short) == id_
        assert is_named(id_, short)
        assert names.shorten(f"claude/{id_}") == f"claude/{short}"


def test_a_uuid_has_8_characters_and_more_only_beside_a_uuid_that_begins_alike() -> None:
    claude, codex = "7f3e9a52-1c44-4c1e-9a0d-5b7d2f5e8a11", "019e3f2a-1c44-7c1e-9a0d-5b7d2f5e8a11"
    other = "019e3f2a-2d55-7c1e-9a0d-5b7d2f5e8a12"
    names = SessionNames(lambda: [claude, codex, other])
    assert [names.shorten(id_) for id_ in (claude, codex, other)] == ["7f3e9a52", "019e3f2a-1c44", "019e3f2a-2d55"]
    assert SessionNames(lambda: [claude, codex]).shorten(codex) == "019e3f2a"
    assert names.shorten("2026-11-20-k3f9q2") == "2026-11-20-k3f9q2"
    with pytest.raises(Ambiguous, match="could be 019e3f2a-1c44"):
        complete_session(state_of({claude, codex, other}), "019e3f2a")
    assert complete_session(state_of({claude}), "7f3e9a5") == "7f3e9a5"  # too short to be a short name
