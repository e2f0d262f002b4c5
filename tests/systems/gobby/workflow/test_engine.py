"""The engine: the effects of an event's workflows. A failing workflow does not stop the others."""

from __future__ import annotations

import pytest
from looped_cases import for_each

from baton_git.core.brief import Section
from baton_git.core.errors import InvalidArgument, NotFound
from baton_git.git.hooks.shipped import find_shipped
from baton_git.systems.gobby.workflow.definition import Event, SessionInfo, SourceContent, parse_workflow
from baton_git.systems.gobby.workflow.engine import run_workflows


class Recorded:
    """Effects that record their calls."""

    def __init__(self, kept=None):
        self.done = []
        self.kept = {"compact_handoff": {"initial_goal": "Ship"}, "brief": {}, "in_force": {}} if kept is None else kept

    def extract_facts(self, include):
        self.done.append(("extract", include))
        return {"initial_goal": "Ship"}

    def read_source(self, source):
        if source not in ("compact_handoff", "previous_session_summary", "brief", "in_force", "changes"):
            raise InvalidArgument(f"there is no source {source}")
        return SourceContent(self.kept[source], (Section(source, ("a",), "x"),)) if source in self.kept else None

    def summarize(self):
        self.done.append(("summary",))
        return "It went well"

    def keep_notes(self, notes):
        self.done.append(("hand_over", notes))
        return {"id": "s"}

    def save_checkpoint(self, summary):
        self.done.append(("checkpoint", summary))
        raise NotFound("agent", "nobody")

    def run_checks(self):
        self.done.append(("verify",))
        raise RuntimeError("boom")


SESSION = SessionInfo("s1", "codex", "/tmp")


def run_event(text, name="on_stop", data=None, variables=None, effects=None, started=None, **options):
    """Run workflows at an event, and return what they did. `started` collects the sessions that they start."""
    started = [] if started is None else started

    def starter(request, spawn_variables):
        started.append((request, spawn_variables))
        return {"session_spawned": True, "cli": request.cli, "pid": 7}

    texts = [text] if isinstance(text, str) else text
    workflows = [parse_workflow(one, name=f"w{number}", is_checked=False) for number, one in enumerate(texts)]
    event = Event(name, data or {})
    return run_workflows(event, SESSION, workflows, effects or Recorded(), variables or {}, starter, **options)


def step(action, **arguments):
    """Return a workflow with one action at `on_stop`."""
    import json

    return f"triggers: {{on_stop: [{json.dumps({'action': action, **arguments})}]}}"


LOOP = (find_shipped("workflows") / "autonomous-loop.yaml").read_text()
WANTED = {"loop_enabled": True, "loop_prompt": "Fix it"}


def test_the_documented_loop_runs_until_its_marker():
    effects, started = Recorded(), []
    begun = run_event(LOOP, "on_session_start", {"source": "startup"}, WANTED)
    assert begun.variables["iteration_count"] == 1
    ended = run_event(LOOP, "on_session_end", {}, begun.variables, effects, started)
    request, variables = started[0]
    assert ended.problems == []
    assert "## Autonomous Loop - Iteration 2/20" in request.system_prompt
    assert "Fix it" in request.system_prompt
    assert "It went well" in request.system_prompt
    assert (request.cli, request.cwd, request.most, request.loop) == ("codex", "/tmp", 20, "autonomous-loop")
    assert request.prompt == "Continue the task from the previous session."
    assert variables["iteration_count"] == 2
    answered = run_event(LOOP, "on_after_agent", {"response": "ok LOOP_COMPLETE"}, ended.variables)
    assert answered.variables["task_complete"] is True
    assert run_event(LOOP, "on_session_end", {}, answered.variables).ran == []


def test_the_documented_loop_does_nothing_at_its_limit_or_when_disabled():
    assert run_event(LOOP, "on_session_end", {}, {**WANTED, "iteration_count": 20}).ran == []
    assert run_event(LOOP, "on_session_start", {}, {}).ran == []


HANDOFF = (find_shipped("workflows") / "session-handoff.yaml").read_text()


@for_each(
    ("source", "wanted"),
    [
        ("compact", "compact_handoff, in_force"),
        ("startup", "brief"),
        ("clear", "brief"),
        ("fork", "brief"),
        ("of a later version", "brief"),
        ("resume", None),
    ],
)
def test_a_session_gets_the_context_for_its_start_source(source, wanted):
    found = run_event(HANDOFF, "on_session_start", {"source": source})
    assert found.problems == []
    assert [one.source for one in found.injected] == ([wanted] if wanted else [])


@pytest.mark.parametrize("trigger", ["auto", "manual"])
def test_facts_are_extracted_before_every_compaction(trigger):
    effects = Recorded()
    assert run_event(HANDOFF, "on_pre_compact", {"trigger": trigger}, effects=effects).variables == {}
    assert effects.done[0][0] == "extract"
    assert "initial_goal" in effects.done[0][1]


def test_a_template_renders_the_injected_text():
    text = step("inject_context", source="compact_handoff", template="## Go on\n{{ initial_goal }}\n")
    found = run_event(text).injected[0]
    assert found.text == "## Go on\nShip"
    assert found.sections[0].lines == ("| ## Go on", "| Ship")


def test_a_missing_handoff_is_reported_and_never_blocks():
    found = run_event(step("inject_context", source="previous_session_summary", require=True))
    assert found.block is None
    assert "there is no content for previous_session_summary" in found.problems[0]
    assert run_event(step("inject_context", source="previous_session_summary")).problems == []
    assert "no source nowhere" in run_event(step("inject_context", source="nowhere")).problems[0]


def test_facts_stored_under_another_name_can_be_injected_later():
    stored = run_event(step("extract_handoff_context", store_as="mine", include=["initial_goal"]))
    later = run_event(step("inject_context", source="mine"), variables=stored.variables)
    assert later.injected[0].sections[0].lines == ("| initial_goal: Ship",)


def test_a_failure_is_reported_and_the_next_action_runs():
    text = """
triggers:
  - event: on_stop
    when: "nope.x"
    actions: [{action: verify}]
  - event: on_stop
    actions:
      - {action: checkpoint, summary: "{{ session.id }}"}
      - {action: verify}
      - {action: increment_variable, name: word}
      - {action: set_variable, name: n, value: "{{ 'a' * 10**9 }}"}
      - {action: verify, when: "missing"}
      - {action: increment_variable, variable: n, amount: 2}
"""
    effects = Recorded()
    found = run_event(text, variables={"word": "x"}, effects=effects)
    assert effects.done == [("checkpoint", "s1"), ("verify",)]
    assert found.variables == {"word": "x", "n": 2}
    for position, message in zip(
        ("triggers[0].when", "actions[0]", "actions[1]", "actions[2]", "actions[3]", "actions[4].when"),
        ("'nope' is undefined", "there is no agent", "RuntimeError: boom", "not a number: 'x'", "larger", "undefined"),
        strict=True,
    ):
        assert any(position in one and message in one and one.startswith("workflow w0: ") for one in found.problems)


def test_results_of_an_action_are_visible_to_later_actions_of_the_event_only():
    text = """
triggers:
  on_stop:
    - {action: start_new_session, prompt: go}
    - {action: set_variable, name: seen, value: "{{ pid }} {{ variables.cli }}", when: "session_spawned"}
"""
    assert run_event(text).variables == {"seen": "7 codex"}


def test_variables_cannot_replace_the_event_or_the_session():
    text = step("set_variable", name="seen", value="{{ session.id }} {{ event.name }}")
    found = run_event(text, variables={"session": {"id": "other"}, "event": 3})
    assert found.variables["seen"] == "s1 on_stop"


def test_the_first_block_action_is_used_and_later_actions_are_skipped():
    first = "triggers: {on_stop: [{decision: block, reason: 'not yet {{ session.id }}'}, {action: verify}]}"
    found = run_event([first, step("block", reason="later")])
    assert found.block == "not yet s1"
    assert len(found.ran) == 1
    assert len(found.skipped) == 2


def test_a_session_starts_with_the_variables_of_the_workflow():
    text = "variables: {n: 5}\n" + step("increment_variable", name="n")
    assert run_event(text).variables == {"n": 6}
    assert run_event(text, variables={"n": 9}).variables == {"n": 10}


def test_mark_loop_complete_sets_the_stop_reason():
    found = run_event(step("mark_loop_complete"))
    assert found.variables == {"stop_reason": "completed"}
    assert found.ran[0].result == {"loop_marked_complete": True}


@for_each(
    ("arguments", "error"),
    [
        ({}, "Missing prompt parameter"),
        ({"prompt": "{{ variables.nope }}"}, "Missing prompt parameter"),
        ({"prompt": "x", "timeout": 0}, "timeout must be a number"),
        ({"prompt": "x", "timeout": "inf"}, "timeout must be a number"),
        ({"prompt": "x", "timeout": 10**9}, "timeout must be a number"),
    ],
)
def test_an_invalid_request_for_a_session_is_an_error(arguments, error):
    started = []
    found = run_event(step("start_new_session", **arguments), started=started)
    assert found.ran[0].result["error"].startswith(error)
    assert started == []


@for_each(
    "settings",
    [
        *({"max_iterations": one} for one in (0, -1, "many", True, 1.5, 10**9)),
        {"total_timeout": 10**12}, {"total_timeout": True}, {"budget": "many"}, {"budget": 0},
    ],
)  # fmt: skip
def test_an_invalid_limit_starts_no_session(settings):
    import json

    started = []
    found = run_event(f"settings: {json.dumps(settings)}\n" + step("start_new_session", prompt="x"), started=started)
    assert f"settings.{next(iter(settings))} is not a " in found.ran[0].result["error"]
    assert started == []


@pytest.mark.parametrize(
    ("settings", "limits"),
    [
        ({}, (28800.0, 20.0)), ({"total_timeout": 60, "budget": 0.5}, (60, 0.5)),
    ],
)  # fmt: skip
def test_every_chain_has_a_time_limit_and_a_budget(settings, limits):
    import json

    started = []
    run_event(f"settings: {json.dumps(settings)}\n" + step("start_new_session", prompt="x"), started=started)
    assert (started[0][0].chain_seconds, started[0][0].budget_usd) == limits


def test_a_dry_run_evaluates_everything_and_does_nothing():
    effects, started = Recorded(), []
    found = run_event(LOOP, "on_session_end", {}, {**WANTED, "iteration_count": 1}, effects, started, dry_run=True)
    assert [one.action for one in found.ran] == ["increment_variable", "generate_handoff", "start_new_session"]
    assert "Iteration 2/20" in found.ran[2].result["system_prompt"]
    assert (effects.done, started) == ([], [])
    for text in (HANDOFF, step("checkpoint"), step("verify"), step("notify", message="x")):
        for name in ("on_stop", "on_session_start", "on_session_end", "on_pre_compact"):
            run_event(text, name, {"source": "compact"}, effects=effects, dry_run=True)
    assert effects.done == []
