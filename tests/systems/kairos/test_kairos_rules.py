"""How a protocol run advances, which steps are conflicts, and when a run is stale."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from looped_cases import for_each

from baton_git.core.errors import InvalidArgument, InvalidDocument, NotFound, StepConflict
from baton_git.core.merge import merge_fields
from baton_git.core.records.base import parse
from baton_git.systems.kairos.record import (
    Age,
    Handover,
    StepRequest,
    compute_age,
    describe_step,
    normalize_run,
    prepare_for_archive,
    take_step,
)

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


def run(challenge: str | None = "resolve", index: int | None = 1, **more: Any) -> Handover:
    step = {"current_challenge": challenge, "chain_uri": f"kairos://{challenge}"}
    if index is not None:
        step |= {"step_index": index}
    return parse(Handover, {"id": "run-1", "step": step, "updated_at": "2026-11-21T07:00:00Z", **more})


def make_step(challenge: str = "confirm", index: int | None = None, **more: Any) -> StepRequest:
    return StepRequest(challenge, f"kairos://{challenge}", index, **more)


def take(now: Handover | None, step_request: StepRequest) -> dict[str, Any]:
    return take_step(now, "run-1", step_request, NOW).as_data()


def get_conflict(now: Handover | None, step_request: StepRequest) -> str:
    with pytest.raises(StepConflict) as caught:
        take_step(now, "run-1", step_request, NOW)
    if now is not None:
        assert caught.value.data["current"]["step_index"] == now.step.step_index
        assert describe_step(now) in str(caught.value)
    return str(caught.value).rpartition(": ")[2]


# --- the next steps


def test_the_first_step_begins_the_run() -> None:
    assert take(None, make_step("resolve", 1, values={"n": 1})) == {
        "id": "run-1",
        "step": {"current_challenge": "resolve", "chain_uri": "kairos://resolve", "step_index": 1},
        "state": {"n": 1},
        "updated_at": "2026-11-21T08:00:00Z",
    }


def test_the_next_step_increments_the_index_and_keeps_the_state() -> None:
    data = take(run(state={"a": 1, "b": 2}), make_step(values={"c": 3}, without=("a",)))
    assert data["step"] == {"current_challenge": "confirm", "chain_uri": "kairos://confirm", "step_index": 2}
    assert data["state"] == {"b": 2, "c": 3}


def test_a_step_without_a_number_gets_none() -> None:
    assert "step_index" not in take(None, make_step())["step"]
    assert "step_index" not in take(run(index=None), make_step())["step"]
    assert take(run(index=None), make_step(index=7))["step"]["step_index"] == 7


def test_staying_keeps_the_step_and_updates_the_time() -> None:
    data = take(run(), StepRequest(stays=True, values={"n": 1}))
    assert data["step"] == run().as_data()["step"]
    assert (data["state"], data["updated_at"]) == ({"n": 1}, "2026-11-21T08:00:00Z")
    assert take(run(), make_step("resolve", 1, stays=True, came_from="resolve"))["step"]["step_index"] == 1


def test_a_run_keeps_its_own_order_of_keys() -> None:
    order = ["n", "SESSION_ID", "current_challenge", "chain_uri", "step_index"]
    assert take(run(state={"n": 1}, order=order), make_step(values={"m": 1}))["order"] == [*order, "m"]


@for_each(
    ("now", "step_request", "why"),
    [
        (run("confirm", 2), make_step("confirm"), "it is already at this step"),
        (run("confirm", None), make_step("confirm"), "it is already at this step"),
        (run("confirm", 2), make_step("confirm", 2), "step 2 is not after its current step"),
        (run("confirm", 2), make_step("other", 2), "step 2 is not after its current step"),
        (run("confirm", 3), make_step("other", 2), "step 2 is not after its current step"),
        (run("confirm", 2), make_step("find_slot", came_from="resolve"), "it has left resolve"),
        (run("confirm", 2), make_step("find_slot", 3, came_from="resolve"), "it has left resolve"),
        (run("confirm", 2), StepRequest(stays=True, came_from="resolve"), "it is not at resolve"),
        (run("confirm", 2), make_step("resolve", stays=True), "its current_challenge is not resolve"),
        (run("confirm", 2), StepRequest(index=1, stays=True), "its step_index is not 1"),
        (None, make_step(came_from="resolve"), "it cannot continue from resolve"),
    ],
)
def test_a_wrong_expected_step_is_a_conflict(now: Handover | None, step_request: StepRequest, why: str) -> None:
    assert get_conflict(now, step_request) == why


def test_a_step_may_be_repeated_with_a_larger_number() -> None:
    assert take(run("confirm", 2), make_step("confirm", 3))["step"]["step_index"] == 3


@for_each(
    ("step_request", "message"),
    [
        (StepRequest(), "the step lacks challenge and uri"), (StepRequest("c"), "the step lacks uri"),
        (StepRequest("", "u"), "the step lacks challenge"), (make_step(values={"": 1}), "is empty"),
        (make_step(values={"updated_at": 1}), "format reserves"),
        (make_step(without=("SESSION_ID",)), "format reserves"),
        (make_step(values={"a: b": 1}), "holds a colon and a blank"),
    ],
)  # fmt: skip
def test_an_invalid_step_is_rejected(step_request: StepRequest, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        take_step(run(), "run-1", step_request, NOW)


def test_staying_in_a_run_that_never_began_is_an_error() -> None:
    with pytest.raises(NotFound):
        take_step(None, "run-1", StepRequest(stays=True), NOW)


def test_a_value_that_is_not_text_is_rejected() -> None:
    with pytest.raises(InvalidDocument):
        take_step(run(), "run-1", make_step(values={"a": "\ud800"}), NOW)


def test_texts_of_a_run_cannot_control_a_terminal() -> None:
    assert describe_step(run("a\x1b[31m\nb")) == "a [31m b, step 1, kairos://a [31m b, since 2026-11-21T07:00:00Z"
    assert describe_step(parse(Handover, {"id": "x"})) == "no challenge"


def test_an_ended_run_stores_its_order_of_keys_if_toml_changes_it() -> None:
    one = run(state={"t": {"a": 1}, "n": 1})
    assert prepare_for_archive(one).order == ("SESSION_ID", "current_challenge", "chain_uri", "step_index", "t", "n")
    assert prepare_for_archive(run(state={"n": 1, "t": {"a": 1}})).order is None
    sorted_state = {**prepare_for_archive(one).as_data(), "state": {"n": 1, "t": {"a": 1}}}
    assert list(normalize_run(sorted_state).state) == ["t", "n"]


# --- age


@for_each(
    ("updated_at", "expected"),
    [
        ("2026-11-21T07:00:00Z", Age(False, 3600)), ("2026-11-21T07:00:00", Age(False, 3600)),
        ("2026-11-21T09:00:00+02:00", Age(False, 3600)), ("2026-11-20T08:00:00Z", Age(False, 86_400)),
        ("2026-11-20T07:59:59Z", Age(True, 86_401)), ("2025-11-25", Age(True, 361 * 86_400 + 8 * 3600)),
        ("2026-11-21T08:04:00Z", Age(False, 0)),
        ("2026-11-21T08:06:00Z", Age(None, None, "updated_at is in the future: a clock is wrong")),
        ("yesterday", Age(None, None, "updated_at is not an ISO 8601 date and time")),
        ("1763712000", Age(None, None, "updated_at is not an ISO 8601 date and time")),
        ("0001-01-01T00:00:00+14:00", Age(None, why="updated_at is not an ISO 8601 date and time")),
        ("", Age(None, None, "updated_at is missing")), (None, Age(None, None, "updated_at is missing")),
    ],
)  # fmt: skip
def test_a_run_is_stale_after_a_day_and_an_uncertain_age_is_unknown(updated_at: str | None, expected: Age) -> None:
    assert compute_age(run().replace(updated_at=updated_at), NOW) == expected


def test_the_reader_decides_after_which_age_a_run_is_stale() -> None:
    assert compute_age(run(), NOW, timedelta(minutes=59)).stale is True
    assert compute_age(run(), NOW, timedelta(hours=1)).stale is False


# --- merging


def test_a_merge_keeps_the_whole_step_of_one_side_and_combines_the_state_key_by_key() -> None:
    base = run(state={"p": 1})
    ours = take_step(base, "run-1", make_step("confirm", values={"a": 1}), NOW)
    theirs = take_step(base, "run-1", make_step("find_slot", 3, values={"b": 2}, without=("p",)), NOW)
    for one, other in ((ours, theirs), (theirs, ours)):
        merged, contested = merge_fields(Handover, base.as_data(), one.as_data(), other.as_data())
        assert [one.field for one in contested] == ["step"]
        assert merged["step"] in (ours.as_data()["step"], theirs.as_data()["step"])
        assert merged["state"] == {"a": 1, "b": 2}
