"""Workflow files: both documented forms, faults with their positions, and warnings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from looped_cases import for_each

from baton_git.core.errors import BatonError, InvalidDocument
from baton_git.git.hooks.shipped import find_shipped
from baton_git.systems.gobby.rendering import render
from baton_git.systems.gobby.workflow.definition import parse_workflow

HANDOFF = '''
triggers:
  on_session_end:
    - action: generate_handoff
      when: "event.data.get('reason') == 'clear'"
  on_pre_compact:
    - action: extract_handoff_context
      when: "event.data.get('trigger') == 'auto'"
      store_as: compact_handoff
      include:
        - active_task
        - todo_state
  on_session_start:
    - action: inject_context
      when: "event.data.get('source') == 'clear'"
      source: previous_session_summary
      template: |
        ## Previous Session Context
        {{ summary }}
'''  # fmt: skip


def test_the_mapping_form_is_read():
    workflow = parse_workflow(HANDOFF, name="session-handoff")
    assert workflow.name == "session-handoff"
    assert [one.event for one in workflow.triggers] == ["on_session_end", "on_pre_compact", "on_session_start"]
    assert workflow.triggers[1].steps[0].arguments == {
        "store_as": "compact_handoff",
        "include": ["active_task", "todo_state"],
    }
    assert workflow.enabled
    assert workflow.priority == 100
    assert workflow.warnings == ()


def test_the_list_form_is_read_with_its_settings():
    workflow = parse_workflow((find_shipped("workflows") / "autonomous-loop.yaml").read_text(), name="x")
    assert workflow.name == "autonomous-loop"
    assert workflow.settings == {"max_iterations": 20, "completion_marker": "LOOP_COMPLETE"}
    assert [len(one.steps) for one in workflow.triggers] == [1, 1, 3]
    assert not workflow.enabled


def test_every_shipped_workflow_is_without_fault_and_warning():
    files = sorted(find_shipped("workflows").glob("*.yaml"))
    assert len(files) >= 2
    for file in files:
        workflow = parse_workflow(file.read_text(), name=file.stem)
        assert (workflow.name, workflow.warnings) == (file.stem, ())


def test_the_priority_is_read_from_the_top_level_or_the_settings():
    assert parse_workflow("priority: 5\ntriggers: {}", name="x").priority == 5
    assert parse_workflow("settings: {priority: 7}\ntriggers: {}", name="x").priority == 7


def test_a_version_that_is_a_number_becomes_text():
    assert parse_workflow("version: 1.5\ntriggers: {}", name="x").version == "1.5"


FAULTS = {
    "just text": "is not a table",
    "name: x": "triggers: is missing",
    "triggers: 3": "triggers: is neither",
    "triggers: {on_nothing: []}": "triggers.on_nothing: there is no event 'on_nothing'",
    "triggers: {on_stop: 3}": "triggers.on_stop: is not a list",
    "triggers: {on_stop: [3]}": "triggers.on_stop[0]: is not a table",
    "triggers: {on_stop: [{action: rm}]}": "triggers.on_stop[0]: there is no action 'rm'",
    "triggers: {on_stop: [{if: x}]}": "there is no action None",
    "triggers: {on_stop: [{action: verify, when: 'a =='}]}": "triggers.on_stop[0].when: the condition",
    "triggers: {on_stop: [{action: verify, when: 3}]}": "triggers.on_stop[0].when: is not text",
    "triggers: {on_stop: [{action: notify}]}": "triggers.on_stop[0].message: is missing",
    "triggers: {on_stop: [{action: set_variable, value: 1}]}": "triggers.on_stop[0].name: is missing",
    "triggers: {on_stop: [{action: notify, message: '{{ x'}]}": "triggers.on_stop[0].message: the template",
    "triggers: {on_session_start: [{action: block, reason: x}]}": "on_session_start cannot be blocked",
    "triggers: {on_pre_compact: [{action: block, reason: x}]}": "on_pre_compact cannot be blocked",
    "triggers: [3]": "triggers[0]: is not a table",
    "triggers: [{event: on_stop}]": "triggers[0].actions: is not a list",
    "triggers: [{actions: []}]": "triggers[0]: there is no event None",
    "name: 'a b'\ntriggers: {}": "name: ",
    "name: 3\ntriggers: {}": "name: ",
    "name: a/b\ntriggers: {}": "name: must be at most 64 letters, digits, '.', '_' and '-'",
    "type: step\ntriggers: {}": "type: ",
    "enabled: 'yes'\ntriggers: {}": "enabled: ",
    "priority: high\ntriggers: {}": "priority: ",
    "settings: [1]\ntriggers: {}": "settings: ",
    "settings: {max_iterations: 0}\ntriggers: {}": "settings.max_iterations: is not a whole number from 1 to 1,000",
    "settings: {max_iterations: lots}\ntriggers: {}": "settings.max_iterations: is not a whole number",
    "settings: {max_iterations: 1000000000}\ntriggers: {}": "settings.max_iterations: is no",
    "settings: {budget: -1}\ntriggers: {}": "settings.budget: is not a number above 0",
    "triggers: {on_stop: [{action: start_new_session}]}": "triggers.on_stop[0].prompt: is missing",
    "a: &x 1\nb: *x": "not YAML",
    "a: [": "not YAML",
}


@for_each("text", FAULTS, ids=FAULTS.values())
def test_a_fault_is_reported_on_one_line_with_its_position(text):
    with pytest.raises(BatonError) as caught:
        parse_workflow(text, name="x", where="x.yaml")
    assert FAULTS[text] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_faults_are_reported_at_once():
    with pytest.raises(InvalidDocument) as caught:
        parse_workflow("name: 3\ntriggers: {on_stop: [{action: rm}], on_x: []}", name="x")
    assert len(caught.value.faults) == 3


def test_keys_without_effect_are_warnings_with_their_path():
    workflow = parse_workflow("colour: red\ntriggers: {on_stop: [{action: verify, if: x}]}\nsteps: []", name="x")
    assert [re.sub(":.*", "", one) for one in workflow.warnings] == ["colour", "steps", "triggers.on_stop[0].if"]


def test_names_that_nothing_defines_and_empty_conditions_are_warnings():
    workflow = parse_workflow(
        "variables: {mine: 1}\ntriggers:\n  on_stop:\n"
        "    - {action: set_variable, name: made, value: 1, when: 'mine and len(variables) and evnt.data'}\n"
        "    - {action: verify, when: 'made and event.data'}\n    - {action: verify, when: ''}\n",
        name="x",
    )
    assert sorted(workflow.warnings) == [
        "triggers.on_stop[0].when: nothing in the file defines evnt",
        "triggers.on_stop[2].when: is empty, so it is always true",
    ]


DOCUMENT = Path(__file__).parent / "from_the_document"
"""The two workflows in Gobby's document "Autonomous Session Handoff", copied verbatim."""


@pytest.mark.parametrize("name", ["session-handoff", "autonomous-loop"])
def test_the_yaml_of_the_document_is_parsed_verbatim(name):
    workflow = parse_workflow((DOCUMENT / f"{name}.yaml").read_text(), name=name)
    assert (workflow.name, workflow.warnings) == (name, ())
    assert workflow.triggers


def test_the_template_of_the_document_prints_the_facts():
    workflow = parse_workflow((DOCUMENT / "session-handoff.yaml").read_text(), name="x")
    template = workflow.triggers_of("on_session_start")[0].steps[1].arguments["template"]
    facts = {
        "active_task": {"title": "Parser", "id": "T-1", "status": "in_progress"},
        "todo_state": [{"content": "Test", "status": "completed"}, {"content": "Ship", "status": "pending"}],
        "git_commits": [{"hash": "abc1234", "message": "Add it"}],
        "git_status": " M a.py",
        "files_modified": ["a.py"],
        "initial_goal": "Ship the parser",
    }
    lines = render(template, facts).splitlines()
    for line in ("**Parser** (T-1)", "- [x] Test", "- [ ] Ship", "- `abc1234` Add it", " M a.py", "Ship the parser"):
        assert line in lines
    assert render(template, {}).split() == ["##", "Continuation", "Context"]
