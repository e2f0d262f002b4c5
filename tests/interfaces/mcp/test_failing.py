"""The errors that a model receives: one line, with the next step."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp_client import talk


def refusal(tool, era="auto", **arguments):
    found = talk(lambda client: client.call_tool(tool, arguments), mode=era)
    assert found.is_error, found
    assert found.structured_content is None
    (one,) = found.content
    assert "\n" not in one.text
    return one.text


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("loop_add", {"action": "x"}, "loop_add: the argument expect is missing"),
        ("loop_verify", {"id": "x", "result": "good"}, "result: input should be 'passed' or 'failed', not 'good'"),
        (
            "loop_add",
            {"action": "x", "expect": "y", "verify": {"method": "bash"}},
            "verify.method: input should be 'http'",
        ),
        ("log", {"limit": 0}, "limit: input should be greater than or equal to 1, not 0"),
        ("recall", {"question": ""}, "question is empty"),
        ("followup_add", {"item": 3}, "item: input should be a valid string, not 3"),
        ("loop_close", {"id": "x", "why": "y"}, "there is no argument why; the arguments are id, reason, session"),
        ("nonsense", {}, "Unknown tool: nonsense; see the list of tools"),
    ],
)
def test_missing_unknown_and_invalid_arguments_are_named(here, era, tool, arguments, expected):
    text = refusal(tool, era, **arguments)
    assert expected in text
    assert "pydantic" not in text


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("loop_verify", {"id": "OL-nope", "result": "passed"}, "there is no open loop 'OL-nope'"),
        ("loop_add", {"action": " ", "expect": "x"}, "the action is empty; describe it in a sentence"),
        ("decision_supersede", {"id": "a", "by": "b"}, "there is no decision 'a'"),
        ("diff", {"a": "nonsense"}, "nonsense"),
        ("followup_add", {"item": "x", "session": "a\nb"}, "session"),
        ("todo_list", {}, "boot begins a session"),
    ],
)
def test_errors_of_tools_have_a_hint(here, era, tool, arguments, expected):
    assert expected in refusal(tool, era, **arguments)


def test_errors_of_the_operating_system_are_reported(here, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "/somewhere")

    monkeypatch.setattr("baton_git.verbs.work_items.followups.fresh_id", full)
    assert refusal("followup_add", item="x") == "/somewhere: No space left on device"


def test_a_bug_is_reported_as_a_bug_and_leaves_a_report(here, monkeypatch, tmp_path, capfd):
    def broken(*_, **__):
        raise ZeroDivisionError("a secret of the caller")

    monkeypatch.setattr("baton_git.verbs.work_items.followups.fresh_id", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    text = refusal("followup_add", item="x")
    assert text.startswith("a bug in baton itself: ZeroDivisionError; nothing is lost; the details are in ")
    assert "secret" not in text
    report = Path(text.rpartition(" ")[2]).read_text()
    assert "ZeroDivisionError: a secret of the caller" in report
    assert "followups.py" in report
    assert "Traceback" not in capfd.readouterr().err


def test_control_characters_are_escaped_in_errors(here):
    assert "\x1b" not in refusal("loop_verify", id="\x1b[31m", result="passed")


@pytest.mark.parametrize("tool", ["boot", "status", "ready", "followup_add", "wrap"])
def test_a_branch_that_another_program_deleted_is_reported(here, baton, git, top, tool):
    baton("followup", "add", "A")
    tip = git(top, "rev-parse", "baton/work")
    git(top, "branch", "-q", "-D", "baton/work")
    text = refusal(tool, **{"followup_add": {"item": "x"}, "wrap": {"context": "c"}}.get(tool, {}))
    assert tip[:10] in text
    assert "baton namespace restore work" in text
