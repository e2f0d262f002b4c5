"""Protocol runs that two machines continue before either has seen the other's steps."""

from __future__ import annotations

from machines import Machine

from baton_git.systems.kairos.handovers import end_run, record_step, resume_run
from baton_git.systems.kairos.record import Handover, StepRequest


def go(machine: Machine, challenge: str, index: int, *removed: str, **values: object) -> None:
    going = StepRequest(challenge, f"kairos://{challenge}", index, values=values, without=removed)
    record_step(machine.ws, machine.clock(), "run-1", going)


def keep(machine: Machine, **values: object) -> None:
    record_step(machine.ws, machine.clock(), "run-1", StepRequest(stays=True, values=values))


def run(machine: Machine) -> Handover:
    found: Handover = machine.get("handover", "run-1")
    return found


def begun(ada: Machine, bob: Machine) -> None:
    go(ada, "resolve", 1, p=1)
    ada.sync()
    bob.sync()
    assert run(bob) == run(ada)


def sync_both(ada: Machine, bob: Machine) -> None:
    for machine in (ada, bob, ada):
        machine.sync()
    assert ada.tip == bob.tip


def test_a_run_continues_on_another_machine(ada: Machine, bob: Machine) -> None:
    begun(ada, bob)
    go(bob, "confirm", 2, q=2)
    sync_both(ada, bob)
    assert run(ada).step.current_challenge == "confirm"
    assert run(ada).state == {"p": 1, "q": 2}
    assert ada.list_conflicting_fields() == []


def test_two_steps_from_the_same_step_conflict_as_a_whole(ada: Machine, bob: Machine) -> None:
    begun(ada, bob)
    go(ada, "confirm", 2, a=1)
    go(bob, "find_slot", 3, b=1)
    sync_both(ada, bob)
    assert ada.list_conflicting_fields() == [("run-1", "step")]
    steps = {("confirm", "kairos://confirm", 2), ("find_slot", "kairos://find_slot", 3)}
    found = run(ada).step
    assert (found.current_challenge, found.chain_uri, found.step_index) in steps
    assert run(ada).state == {"p": 1, "a": 1, "b": 1}
    [conflict] = resume_run(ada.ws, ada.clock(), "run-1").run.contested
    assert {str(one["current_challenge"]) for one in (conflict.ours, conflict.theirs)} == {"confirm", "find_slot"}


def test_the_same_step_on_both_is_no_conflict(ada: Machine, bob: Machine) -> None:
    begun(ada, bob)
    go(ada, "confirm", 2)
    go(bob, "confirm", 2)
    later = run(bob).updated_at
    sync_both(ada, bob)
    assert ada.list_conflicting_fields() == []
    assert run(ada).updated_at == later


def test_partial_state_is_merged_key_by_key(ada: Machine, bob: Machine) -> None:
    begun(ada, bob)
    keep(ada, p="ada", table={"a": 1})
    keep(bob, p="bob", table={"b": 1}, more=True)
    sync_both(ada, bob)
    assert ada.list_conflicting_fields() == [("run-1", "state.p")]
    assert run(ada).state == {"p": run(bob).state["p"], "table": {"a": 1, "b": 1}, "more": True}


def test_a_run_begun_on_both_machines_is_merged(ada: Machine, bob: Machine) -> None:
    go(ada, "resolve", 1, a=1)
    go(bob, "resolve", 1, b=1)
    sync_both(ada, bob)
    assert run(ada).state == {"a": 1, "b": 1}
    assert ada.list_conflicting_fields() == []


def test_a_run_ended_on_one_machine_and_stepped_on_another_is_ended_with_the_step(ada: Machine, bob: Machine) -> None:
    begun(ada, bob)
    end_run(ada.ws, ada.clock(), "run-1", "completed")
    go(bob, "confirm", 2)
    sync_both(ada, bob)
    assert ada.get("handover", "run-1") is None
    closed = bob.get("handover", "run-1", archived=True)
    assert closed.reason == "completed"
    assert closed.record["step"]["current_challenge"] == "confirm"
