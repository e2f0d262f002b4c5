"""`baton handoff`: the effect of a project's settings, the output of facts, and the choice of the handoff."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from transcript_sessions import GOAL, GREET, SESSIONS

from baton_git.agents.extraction import Options
from baton_git.core.errors import InvalidArgument
from baton_git.interfaces.cli.app import App
from baton_git.interfaces.cli.records.handoff_text import render_sections, render_sentences
from baton_git.interfaces.context.settings import CommonOptions, Settings
from baton_git.interfaces.context.system_settings import read_call_options

FACTS: dict[str, Any] = {
    "initial_goal": "Fix it",
    "active_task": {"title": "Report", "id": "7", "status": "in_progress", "description": "to all"},
    "todo_state": [
        {"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"},
        {"content": "c", "status": "pending"},
    ],
    "files_modified": ["/r/a.py", "/r/b\x1b[2J.py"],
    "git_commits": [
        {"hash": "abc1234", "message": "Add", "verified": True, "stat": " a | 1 +"},
        {"hash": "", "message": "Lost", "verified": False},
    ],
    "git_status": " M a.py\n?? b",
    "recent_activity": ["Ran: make", "Ran: ls"],
    "key_decisions": [{"text": "No regex", "kind": "wording"}],
    "unknown": {"git_commits": "git is gone"},
    "left_out": {"files_modified": 12},
}  # fmt: skip


@pytest.fixture
def options(top: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that writes the user's and the project's settings, and returns the options that result from
    them and the reported problems."""

    def read_options(own: str = "", project: str = "", *, lenient: bool = False) -> tuple[Options, list[str]]:
        for path, text in ((Path(os.environ["XDG_CONFIG_HOME"]) / "baton", own), (top / ".baton", project)):
            if text:
                path.mkdir(parents=True, exist_ok=True)
                (path / "config.yaml").write_text(f"autonomous_handoff: {text}\n")
        monkeypatch.chdir(top)
        settings = Settings(CommonOptions(), is_lenient=lenient)
        return read_call_options(App(settings, json=False)), settings.problems

    return read_options


def test_without_settings_files_the_defaults_apply(options):
    assert options() == (Options(), [])


@pytest.mark.parametrize(
    ("own", "project", "name", "expected"),
    [
        ("{enabled: false}", "{enabled: true}", "enabled", False),
        ("{enabled: true}", "{enabled: false}", "enabled", False),
        ("", "{enabled: false}", "enabled", False),
        ("{include_recent_activity: 5}", "{include_recent_activity: 50}", "include_recent_activity", 5),
        ("{include_recent_activity: 0}", "{include_recent_activity: 5}", "include_recent_activity", 0),
        ("{include_recent_activity: 50}", "{include_recent_activity: 7}", "include_recent_activity", 7),
        ("{max_turns_to_analyze: 9}", "{max_turns_to_analyze: null}", "max_turns_to_analyze", 9),
        ("{max_turns_to_analyze: null}", "{max_turns_to_analyze: 9}", "max_turns_to_analyze", 9),
        ("{injection_format: structured}", "{injection_format: narrative}", "injection_format", "narrative"),
    ],
)
def test_a_project_can_only_restrict_the_users_settings_and_choose_the_format(options, own, project, name, expected):
    found, problems = options(own, project)
    assert (getattr(found, name), problems) == (expected, [])


def test_a_project_cannot_loosen_the_users_settings_for_facts_and_git(options):
    own = "{extract: {initial_goal: false}, git: {include_diff_stats: false, max_commits: 3}}"
    project = "{extract: {initial_goal: true, todowrite: false}, git: {include_diff_stats: true, max_commits: 30}}"
    found, _ = options(own, project)
    assert (found.extract.initial_goal, found.extract.todowrite, found.extract.git_commits) == (False, False, True)
    assert (found.git.include_diff_stats, found.git.max_commits) == (False, 3)


def test_a_broken_settings_file_is_an_error_but_for_a_hook_only_a_problem(options):
    with pytest.raises(Exception, match="enabled"):
        options("", "{enabled: perhaps}")
    found, [problem] = options("{enabled: false}", "{enabled: perhaps}", lenient=True)
    assert found.enabled is False
    assert problem.endswith("it is ignored")


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_link_in_a_project_is_not_followed(options, top, tmp_path, kind):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "config.yaml").write_text("autonomous_handoff: {enabled: false}")
    if kind == "folder":
        (top / ".baton").symlink_to(tmp_path / "out")
    else:
        (top / ".baton").mkdir()
        (top / ".baton" / "config.yaml").symlink_to(tmp_path / "out" / "config.yaml")
    with pytest.raises(InvalidArgument, match="link"):
        options()
    found, [problem] = options(lenient=True)
    assert found.enabled
    assert "link" in problem


@pytest.mark.parametrize("create", [os.mkfifo, os.mkdir])
def test_settings_that_are_not_a_file_are_ignored(options, top, create):
    (top / ".baton").mkdir()
    create(top / ".baton" / "config.yaml")
    found, [problem] = options(lenient=True)
    assert found == Options()
    assert "not a file" in problem


# --- rendered text


def test_rendered_sections_contain_every_fact():
    text = render_sections(FACTS)
    for expected in (
        "### Active Task\n**Report** (7)\nStatus: in_progress\nto all", "- [x] a\n- [>] b\n- [ ] c",
        "- `abc1234` Add\n      a | 1 +\n- `?` Lost (not in the repository)", "```\n M a.py\n?? b\n```", "- /r/a.py",
        "### Original Goal\nFix it", "- Ran: ls", "- No regex (wording)", "- git_commits: git is gone",
        "### Left Out\n- files_modified: 12 more",
    ):  # fmt: skip
        assert expected in text
    assert "\x1b" not in text
    assert render_sections({}) == ""


def test_the_narrative_contains_every_fact():
    assert render_sentences(FACTS).split("\n\n") == [
        "The session was asked: Fix it", "It was working on Report, in_progress.", "Done: a.", "At work: b.",
        "Still to do: c.", "It committed abc1234 (Add); ? (Lost).", "It changed /r/a.py; /r/b [2J.py.",
        "Not committed:\n M a.py\n?? b", "Its last actions: Ran: make; Ran: ls.",
        "Possible decisions (heuristic): No regex", "Could not be determined: git_commits: git is gone.",
        "Not kept: 12 more of files_modified.",
    ]  # fmt: skip
    assert render_sentences({}) == ""


# --- the command


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(SESSIONS["claude-2.1"][1])
    return path


def test_the_format_comes_from_the_option_or_else_from_the_settings(baton, top, transcript):
    assert f"The session was asked: {GOAL}" in baton("handoff", "extract", str(transcript), "--format", "narrative").out
    assert f"### Original Goal\n{GOAL}" in baton("handoff", "extract", str(transcript)).out
    (top / ".baton").mkdir()
    (top / ".baton" / "config.yaml").write_text("autonomous_handoff: {injection_format: narrative}")
    assert f"The session was asked: {GOAL}" in baton("handoff", "extract", str(transcript)).out


def test_the_handoff_of_another_work_tree_is_shown_with_its_place(baton, transcript):
    assert "--keep makes one" in baton("handoff", "show", code=None).err
    baton("handoff", "extract", str(transcript), "--keep")
    shown = baton("handoff", "show", "--format", "narrative").out
    assert "in /work/shop" in shown
    assert f"The session was asked: {GOAL}" in shown


def test_relative_paths_start_at_the_given_folder(baton, top, tmp_path):
    path = tmp_path / "session.jsonl"
    path.write_bytes(SESSIONS["gemini-0.6"][1].replace(GREET.encode(), b"src/greet.py"))
    (top / "inner").mkdir()
    with_folder = baton("handoff", "extract", str(path), "--folder", "inner", "--json").json
    assert with_folder["files_modified"][0] == f"{top}/inner/src/greet.py"
    assert "files_modified" not in with_folder["unknown"]
    without_folder = baton("handoff", "extract", str(path), "--json").json
    assert without_folder["files_modified"][0] == "src/greet.py"
    assert without_folder["unknown"]["files_modified"] == "folder unknown for 1 relative path(s)"


def test_facts_are_extracted_without_a_namespace_and_outside_of_repositories(baton, transcript, top, tmp_path):
    unnamed = {"BATON_NAMESPACE": ""}
    for folder in (top, tmp_path):
        assert GOAL in baton("handoff", "extract", str(transcript), cwd=folder, env=unnamed).out
    assert baton("handoff", "extract", str(transcript), "--keep", cwd=tmp_path, env=unnamed, code=None).code != 0
