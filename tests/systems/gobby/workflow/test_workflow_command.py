"""`baton workflow`: which workflows run, which need an approval, how to switch them, and the effects of an event."""

from __future__ import annotations

import json
import os

import pytest
from pseudo_terminal import typing

from baton_git.systems.gobby.workflow.event_run import KeptVariables

MINE = """
description: {}
triggers:
  on_stop:
    - action: notify
      message: "from {}"
"""


@pytest.fixture
def project(top):
    """Return a function that writes a workflow of the project."""

    def write(name, text):
        folder = top / ".baton" / "workflows"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.yaml").write_text(text)
        return folder / f"{name}.yaml"

    return write


@pytest.fixture
def users(tmp_path, monkeypatch):
    """Return a function that writes a workflow of the user."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def write(name, text):
        folder = tmp_path / "config" / "baton" / "workflows"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.yaml").write_text(text)

    return write


@pytest.fixture(autouse=True)
def _namespace(baton):
    baton("init")


def states(baton):
    return {(one["name"], one["tier"]): one["state"] for one in baton("workflow", "list", "--json").json}


def notices(baton, event="on_stop", **options):
    done = baton("workflow", "run", event, "--session", "s1", "--json", **options)
    return [one["result"]["message"] for one in done.json["ran"] if one["action"] == "notify"]


def test_shipped_workflows_are_listed(baton):
    assert states(baton) == {("session-handoff", "built-in"): "on", ("autonomous-loop", "built-in"): "off"}


def test_a_projects_workflow_runs_only_if_exactly_this_content_was_allowed(baton, project):
    file = project("mine", MINE.format("x", "project"))
    assert states(baton)["mine", "project"] == "not allowed"
    assert notices(baton) == []
    done = baton("workflow", "allow", "mine")
    assert "at on_stop it runs notify" in done.err
    assert notices(baton) == ["from project"]
    file.write_text(file.read_text() + "# more\n")
    assert states(baton)["mine", "project"] == "not allowed"
    assert notices(baton) == []
    assert baton("workflow", "allow", "mine", "--json").json["allowed"] is True
    assert baton("workflow", "allow", "mine", "--json").json["allowed"] is False


def test_an_approval_of_a_workflow_can_be_withdrawn(baton, project):
    project("mine", MINE.format("x", "project"))
    baton("workflow", "allow", "mine")
    done = baton("workflow", "disallow", "mine")
    assert done.err.startswith("no longer allowed: /")
    assert states(baton)["mine", "project"] == "not allowed"
    assert baton("workflow", "disallow", "mine", "--json").json["withdrawn"] is False


def test_a_projects_workflow_overrides_the_users_and_the_users_overrides_the_built_in_one(baton, project, users):
    project("session-handoff", MINE.format("p", "project"))
    users("session-handoff", MINE.format("u", "user"))
    assert notices(baton) == ["from user"]
    assert states(baton) == {
        ("session-handoff", "project"): "not allowed", ("session-handoff", "user"): "on",
        ("session-handoff", "built-in"): "hidden", ("autonomous-loop", "built-in"): "off",
    }  # fmt: skip
    baton("workflow", "allow", "session-handoff")
    assert notices(baton) == ["from project"]
    assert states(baton)["session-handoff", "user"] == "hidden"


def test_everything_that_would_run_is_shown_before_approval(baton, project):
    project("mine", MINE.format("x", "go \u202eon") + "      # the end")
    shown = baton("workflow", "allow", "mine").err
    assert 'message: "go \\u202eon"' in shown.replace("from go", "go")
    assert "# the end" in shown
    assert "\u202e" not in shown
    assert "\u202e" not in baton("workflow", "show", "mine").out


def test_exactly_what_was_shown_is_allowed(baton, project, top):
    file = project("mine", MINE.format("x", "shown"))
    code, screen = typing(
        top, "workflow", "allow", "mine", asked="Allow?", typed=b"y\n",
        before=lambda: file.write_text(MINE.format("x", "changed")),
    )  # fmt: skip
    assert (code, "shown" in screen) == (0, True)
    assert states(baton)["mine", "project"] == "not allowed"
    file.write_text(MINE.format("x", "shown"))
    assert states(baton)["mine", "project"] == "on"


def test_an_agent_cannot_allow_a_workflow(baton, project):
    project("mine", MINE.format("x", "y"))
    for name in ("CLAUDECODE", "CODEX_THREAD_ID", "GEMINI_CLI", "BATON_SPAWNED"):
        done = baton("workflow", "allow", "mine", code=None, env={name: "1"})
        assert done.code != 0
        assert "at a terminal: baton workflow allow mine" in done.err
    assert states(baton)["mine", "project"] == "not allowed"
    assert baton("workflow", "allow", "mine", "--json", env={"CODEX_HOME": "/x"}).json["allowed"] is True


def test_approvals_that_cannot_be_read_allow_nothing(baton, project, top, monkeypatch):
    project("mine", MINE.format("x", "project"))
    baton("workflow", "allow", "mine")
    from pathlib import Path

    (Path(os.environ["XDG_DATA_HOME"]) / "baton" / "approved.json").write_text("{")
    done = baton("workflow", "run", "on_stop", "--session", "s1", "--json", code=1)
    assert done.json["ran"] == []
    assert "no workflow of the project can run" in done.json["problems"][0]


def test_special_files_are_reported(baton, project):
    folder = project("a\nb", "triggers: [").parent
    os.mkfifo(folder / "pipe.yaml")
    (folder / "folder.yml").mkdir()
    (folder / "link.yaml").symlink_to("/nowhere")
    (folder / "device.yaml").symlink_to("/dev/zero")
    errors = baton("workflow", "list").err
    assert "pipe.yaml: is a pipe or a device" in errors
    assert "device.yaml: is a pipe or a device" in errors
    assert "folder.yml: is a folder" in errors
    assert "link.yaml: is a dangling link" in errors
    assert "a\\x0ab.yaml" in errors


def test_a_broken_workflow_is_reported_and_the_others_run(baton, users):
    users("good", MINE.format("g", "good"))
    users("bad", "triggers: {on_stop: [{action: rm}]}")
    users("worse", "a: [")
    done = baton("workflow", "run", "on_stop", "--session", "s1", "--json", code=1)
    assert [one["workflow"] for one in done.json["ran"]] == ["good"]
    assert len(done.json["problems"]) == 2
    assert states(baton)["bad", "user"] == "broken"


def test_workflows_are_switched_in_untracked_configuration(baton, git, top):
    baton("workflow", "enable", "autonomous-loop")
    baton("workflow", "disable", "session-handoff")
    assert git(top, "config", "baton.enabledWorkflows") == "autonomous-loop"
    assert states(baton) == {("session-handoff", "built-in"): "off", ("autonomous-loop", "built-in"): "on"}
    baton("workflow", "enable", "session-handoff")
    baton("workflow", "disable", "autonomous-loop")
    assert states(baton) == {("session-handoff", "built-in"): "on", ("autonomous-loop", "built-in"): "off"}
    assert git(top, "status", "--porcelain") == ""


def test_the_check_of_a_workflow_reports_all_its_faults(baton, project, top):
    file = project("mine", "triggers: {on_stop: [{action: rm}, {action: verify, when: 'a =='}]}")
    done = baton("workflow", "check", str(file), code=1)
    assert "triggers.on_stop[0]: there is no action 'rm'" in done.err
    assert "triggers.on_stop[1].when" in done.err
    file.write_text(MINE.format("x", "y") + "colour: red\n")
    assert "colour: is unknown" in baton("workflow", "check", str(file)).err


def test_a_workflow_is_shown_verbatim(baton):
    done = baton("workflow", "show", "session-handoff")
    assert "on_pre_compact:" in done.out
    assert "built-in, on" in done.err


def test_variables_stay_with_their_session(baton, users, top):
    users("count", "triggers: {on_stop: [{action: increment_variable, name: n}]}")
    for wanted in (1, 2, 3):
        assert baton("workflow", "run", "on_stop", "--session", "s1", "--json").json["variables"] == {"n": wanted}
    assert baton("workflow", "run", "on_stop", "--session", "s2", "--json").json["variables"] == {"n": 1}
    assert json.loads((top / ".git/baton/workflow/s1.json").read_text()) == {"n": 3}


def test_variables_belong_to_the_repository_and_not_to_a_work_tree(baton, users, git, top, tmp_path):
    users("count", "triggers: {on_stop: [{action: increment_variable, name: n}]}")
    git(top, "worktree", "add", "-q", str(tmp_path / "other"))
    for where, wanted in ((top, 1), (tmp_path / "other", 2)):
        done = baton("workflow", "run", "on_stop", "--session", "s1", "--json", cwd=where)
        assert done.json["variables"] == {"n": wanted}
    assert [one.name for one in (top / ".git/baton/workflow").iterdir()] == ["s1.json"]
    assert not list((top / ".git/worktrees").glob("*/baton/workflow"))


def test_sessions_have_distinct_files_inside_the_folder(tmp_path):
    ids = [
        "a",
        "A",
        "a/b",
        "a_b",
        "..",
        "../x",
        "",
        "-",
        "a.json",
        "ä",
        "a\u0308",
        "x" * 3000,
        "\udc80",
        "a\0b",
        "con ",
    ]
    paths = [KeptVariables(tmp_path, one).path for one in ids]
    assert len({str(one).lower() for one in paths}) == len(ids)
    assert {one.parent for one in paths} == {tmp_path}
    for path, id_ in zip(paths, ids, strict=True):
        KeptVariables(tmp_path, id_).save({"id": len(id_)})
        assert path.exists()


def test_damaged_variables_are_reported_and_set_aside(baton, users, top):
    users("count", "triggers: {on_stop: [{action: increment_variable, name: n}]}")
    baton("workflow", "run", "on_stop", "--session", "s1")
    (top / ".git/baton/workflow/s1.json").write_text("{torn")
    done = baton("workflow", "run", "on_stop", "--session", "s1", "--json", code=1)
    assert done.json["variables"] == {"n": 1}
    assert "variables are reset" in done.json["problems"][0]
    assert (top / ".git/baton/workflow/s1.damaged").read_text() == "{torn"


def test_variables_are_bounded(baton, users):
    users("big", "triggers: {on_stop: [{action: set_variable, name: n, value: \"{{ 'a' * 60000 ~ n }}\"}]}")
    for _ in range(4):
        baton("workflow", "run", "on_stop", "--session", "s1")
    users(
        "big",
        "triggers: {on_stop: ["
        + ",".join(
            f"{{action: set_variable, name: n{number}, value: \"{{{{ 'a' * 60000 }}}}\"}}" for number in range(9)
        )
        + "]}",
    )
    done = baton("workflow", "run", "on_stop", "--session", "s1", "--json", code=1)
    assert "the limit is 262,144 bytes" in done.json["problems"][0]


def test_a_dry_run_of_an_event_does_nothing_and_gives_the_reasons(baton, users, top):
    users("mine", MINE.format("x", "{{ session.id }}") + "      when: \"event.data.get('x') == 1\"\n")
    done = baton("workflow", "run", "on_stop", "--session", "s1", "--dry-run", "--data", '{"x": 1}')
    assert "would notify" in done.out
    done = baton("workflow", "run", "on_stop", "--session", "s1", "--dry-run")
    assert "because this is false: event.data.get('x') == 1" in done.out
    assert not (top / ".git/baton/notices").exists()
    assert not (top / ".git/baton/workflow").exists()


def test_a_notice_is_stored_and_passed_to_the_users_command(baton, users, git, top, tmp_path):
    users("mine", MINE.format("x", "{{ session.id }} $(touch /tmp/never) api_key=ghp_" + "a1B2" * 10))
    script = tmp_path / "tell"
    script.write_text(f'#!/bin/sh\nprintf "%s|" "$@" > {tmp_path}/told\n')
    script.chmod(0o755)
    git(top, "config", "baton.notifyCommand", f"{script} --title")
    notices(baton)
    assert (tmp_path / "told").read_text().startswith("--title|mine|from s1 $(touch /tmp/never)")
    assert "mine: from s1" in (top / ".git/baton/notices").read_text()
    assert "ghp_" not in (top / ".git/baton/notices").read_text()
    git(top, "config", "baton.notifyCommand", "/nonexistent")
    assert "could not be delivered" in baton("workflow", "run", "on_stop", "--session", "s1", code=1).err
