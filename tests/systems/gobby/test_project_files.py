"""Files that came with a clone are read without following links and without waiting for pipes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from world import NOW

from baton_git.core.errors import BatonError, InvalidArgument, NotFound
from baton_git.core.records.handoff import Handoff
from baton_git.systems.gobby.injections import render_handoff
from baton_git.systems.gobby.project_files import read_project_file

NAME = ".baton/templates/handoff.md.j2"
HANDOFF = Handoff.model_validate(
    {"id": "claude/s", "extracted_at": "2026-11-21T08:00:00Z", "facts": {"initial_goal": "Fix it"}}
)


def bind_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as unix_socket:
        unix_socket.bind(os.path.relpath(path))


@pytest.fixture
def template(top: Path) -> Path:
    path = top / NAME
    path.parent.mkdir(parents=True)
    return path


def render_lines(ws: Any, problems: list[str]) -> list[str]:
    """Return the lines of `HANDOFF`, rendered with the template of the project if it can be used."""
    return [line for section in render_handoff(ws, NOW, HANDOFF, problems) for line in section.lines]


def test_a_file_of_the_project_is_read_up_to_the_limit(template, top):
    template.write_text("hello")
    assert (read_project_file(top, NAME, 100), read_project_file(top, NAME, 4)) == (b"hello", b"hell")
    assert read_project_file(top, "readme", 100) == b"hello\n"
    for missing in ("nothing", ".baton/nothing/x", "readme/x"):
        with pytest.raises(NotFound):
            read_project_file(top, missing, 1)


def test_the_work_tree_itself_may_be_a_link(template, top, tmp_path):
    template.write_text("hello")
    (tmp_path / "link").symlink_to(top)
    assert read_project_file(tmp_path / "link", NAME, 100) == b"hello"


def test_the_template_of_the_project_is_used(template, top, open_workspace):
    template.write_text("## Own\n{{ initial_goal | quoted }}")
    problems: list[str] = []
    assert render_lines(open_workspace(folder=top), problems) == ["| Fix it"]
    assert problems == []


def test_a_template_that_is_too_long_is_not_cut_but_ignored(template, top, open_workspace):
    template.write_text("é" * 32_769)
    problems: list[str] = []
    assert render_lines(open_workspace(folder=top), problems) == ["| - Fix it"]
    assert problems == [f"{NAME} is ignored: it has more than 65,536 bytes"]


@pytest.mark.parametrize("linked", [".baton", ".baton/templates", NAME])
@pytest.mark.parametrize("inside", [True, False])
def test_links_are_not_followed_for_reading(top, tmp_path, open_workspace, linked, inside):
    away = (top if inside else tmp_path) / "away"
    target = away / NAME.removeprefix(linked).lstrip("/") if linked != NAME else away
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("SECRET")
    (top / linked).parent.mkdir(parents=True, exist_ok=True)
    (top / linked).symlink_to(away)
    problems: list[str] = []
    assert render_lines(open_workspace(folder=top), problems) == ["| - Fix it"]
    [problem] = problems
    assert problem.startswith(f"{NAME} is ignored: ")
    assert "is not followed" in problem


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, bind_socket])
def test_special_files_are_skipped_immediately(template, top, open_workspace, monkeypatch, make):
    monkeypatch.chdir(template.parent)
    make(template)
    with pytest.raises(InvalidArgument, match="not a file"):
        read_project_file(top, NAME, 1)
    problems: list[str] = []
    assert render_lines(open_workspace(folder=top), problems) == ["| - Fix it"]
    assert len(problems) == 1


def test_a_file_that_may_not_be_read_is_a_problem(template, top, monkeypatch):
    template.write_text("hello")

    def refuse(*_: Any, **__: Any) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(BatonError, match="Permission denied"):
        read_project_file(top, NAME, 1)


def test_injections_do_not_import_the_transcript_readers():
    code = (
        "import sys, baton_git.systems.gobby.injections;"
        "print([name for name in sys.modules if name.startswith(('baton_git.agents.extraction',"
        " 'baton_git.agents.claude', 'baton_git.git.hooks.'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['baton_git.git.hooks.shipped']"
