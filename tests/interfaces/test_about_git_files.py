"""Git's own files are not part of the work tree: no record is about them, in any spelling and interface."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from default_run import slow_after
from verb_drivers import DRIVERS

from baton_git.verbs.table import all_verbs

ABOUT = {
    name: verb for name, verb in all_verbs().items() if "about" in verb.input_model.model_fields and name != "list"
}
FIELDS = {"decision add": {"what": "x", "why": "y"}, "pattern record": {"what": "x"}}


def spellings(top: Path) -> list[str]:
    """Create links to git's folder, and folders in a path that leads to it; return paths of files in it."""
    (top / "src").mkdir()
    (top / "link").symlink_to(".git")
    (top / "src" / "link").symlink_to("../.git/config")
    (top / "vendored" / ".git").mkdir(parents=True)
    (top / "vendored" / ".git" / "config").touch()
    return [
        ".git/config", "./.git/config", "src/../.git/config", "nowhere/../.git/config", ".git//config", ".git/HEAD",
        ".git/config:core", f"{top}/.git/config", f"{os.path.relpath(top, '/')}/../{top.name}/.git/config", ".git",
        "link/config", "src/link", "vendored/.git/config", ".git/refs/heads/main", ".GIT/config",
    ]  # fmt: skip


@pytest.mark.parametrize("interface", slow_after(1, ["command", "library", "http", "mcp"]))
def test_no_record_is_about_a_file_of_git(baton: Any, top: Path, interface: str) -> None:
    decided = baton("decision", "add", "x", "--why", "y").id
    pattern = baton("pattern", "record", "x").id
    assert len(ABOUT) >= 4
    with DRIVERS[interface](top, "work", None, baton) as driver:
        for path in spellings(top):
            for name, verb in ABOUT.items():
                fields = FIELDS.get(name, {"id": decided if name.startswith("decision") else pattern})
                fields = {**fields, "about": [path]}
                if not driver.has(verb, fields):
                    continue
                answer = driver.call(verb, fields)
                assert answer.data is None, (path, name, answer)
                no_argument = interface == "mcp" and "there is no argument about" in answer.words
                assert no_argument or "names no file of the work tree" in answer.words, (path, name, answer)


def test_no_record_is_about_a_file_of_git_in_a_linked_work_tree(baton: Any, git: Any, top: Path) -> None:
    linked = top.parent / "linked"
    git(top, "worktree", "add", "-q", str(linked))
    for path in (".git", str(top / ".git" / "config"), "../work/.git/config"):
        done = baton("decision", "add", "x", "--why", "y", "--about", path, code=2, cwd=linked)
        assert "names no file of the work tree" in done.err


def test_no_record_is_about_a_file_of_a_git_folder_with_another_name(baton: Any, git: Any, top: Path) -> None:
    git(top, "init", "-q", "--separate-git-dir", str(top / "gitdata"))
    for path in ("gitdata/config", ".git"):
        done = baton("decision", "add", "x", "--why", "y", "--about", path, code=2)
        assert "names no file of the work tree" in done.err


def test_a_path_from_the_top_is_found_in_a_subfolder_and_folders_and_empty_texts_are_named(
    baton: Any, top: Path
) -> None:
    for path in ("sub/q.py", "sub/sub/r.py", "r.py", "sub/r.py"):
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text("def f(): pass\n")
    for given, meant in (
        ("q.py", "sub/q.py"), ("sub/q.py", "sub/q.py"), ("sub/q.py:f", "sub/q.py:f"), ("r.py", "sub/r.py"),
        ("sub/r.py", "sub/sub/r.py"), ("../r.py:f", "r.py:f"),
    ):  # fmt: skip
        id_ = baton("decision", "add", f"x {given}", "--why", "y", "--about", given, cwd=top / "sub").id
        [anchor] = baton("show", id_, "--json").json["anchors"]
        assert ":".join(filter(None, (anchor["path"], anchor.get("symbol")))) == meant, given
    for given, said in (
        ("sub", "it is a folder"),
        (".", "it is a folder"),
        ("", "an empty text"),
        (" ", "an empty text"),
        ("q" * 5000, "names no file"),  # longer than any name of a file
        ("q" * 5000 + ":f", "names no file"),
    ):
        for folder in (top, top / "sub"):
            done = baton("decision", "add", "x", "--why", "y", "--about", given, code=2, cwd=folder)
            assert said in done.err, (given, done.err)
    assert baton("list", "--about", "q" * 5000, cwd=top).code == 0
