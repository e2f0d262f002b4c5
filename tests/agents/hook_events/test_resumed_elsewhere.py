"""A session of Codex that is resumed in another work tree or repository: it goes on in the same transcript.

Seen with Codex 0.171.0 (`codex exec resume ID` in another folder): no further `session_meta` is written; the record
`turn_context` and the `cwd` of the hook events name the new folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hooked_sessions import NEW, OLD, context, transcript

Record = tuple[str, dict[str, Any]]


def write(tmp_path: Path, *records: Record) -> None:
    path = transcript(tmp_path, OLD)
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for kind, payload in records:
            line = {"timestamp": "2026-11-21T10:00:00.000Z", "type": kind, "payload": payload}
            file.write(json.dumps(line) + "\n")


def turn(folder: Path, prompt: str, *calls: Record) -> list[Record]:
    return [
        ("turn_context", {"cwd": str(folder), "model": "m"}),
        ("event_msg", {"type": "user_message", "message": prompt}),
        *calls,
        ("event_msg", {"type": "agent_message", "message": "Done."}),
    ]


def commit(git: Callable[..., str], folder: Path) -> tuple[str, list[Record]]:
    """Commit a file in a folder; return the commit, and the records of the call."""
    (folder / "parser.py").write_text("x = 1\n")
    git(folder, "add", "parser.py")
    git(folder, "commit", "-qm", "Add the parser")
    made = git(folder, "rev-parse", "--short=7", "HEAD")
    arguments = json.dumps({"command": ["bash", "-lc", "git commit -m 'Add the parser'"], "workdir": str(folder)})
    output = json.dumps({"output": f"[feat {made}] Add the parser\n", "metadata": {"exit_code": 0}})
    call = {"type": "function_call", "name": "shell", "call_id": "c1", "arguments": arguments}
    result = {"type": "function_call_output", "call_id": "c1", "output": output}
    return made, [("response_item", call), ("response_item", result)]


@pytest.fixture
def started(hook: Any, repo: Path, tmp_path: Path) -> Path:
    """The work tree in which the session started and ended."""
    hook("SessionStart", agent="codex", source="startup", folder=repo)
    write(tmp_path, ("session_meta", {"id": OLD, "cwd": str(repo)}), *turn(repo, "Plan the parser"))
    hook("SessionEnd", agent="codex", folder=repo, reason="other")
    return repo


def test_a_session_resumed_in_another_work_tree_is_of_that_work_tree(hook, baton, git, started, tmp_path):
    tree = started.parent / "task"
    git(started, "worktree", "add", "-q", str(tree), "-b", "feat")
    (tree / "draft.py").write_text("x\n")
    (started / "unrelated.py").write_text("x\n")
    hook("SessionStart", agent="codex", source="resume", folder=tree)
    made, calls = commit(git, tree)
    write(tmp_path, *turn(tree, "Write the parser", *calls))
    hook("SessionEnd", agent="codex", folder=tree, reason="other")
    handoff = baton("handoff", "show", f"codex/{OLD}", "--json").json["handoff"]
    known = json.loads((started / ".git" / "baton" / "work-trees.json").read_text())["paths"]
    assert known[handoff["worktree"]] == str(tree)
    facts = handoff["facts"]
    assert facts["git_status"] == "?? draft.py"
    [found] = facts["git_commits"]
    assert (found["hash"], found["verified"], "found" in found) == (made, True, False)
    told = context(hook("SessionStart", NEW, source="startup", folder=tree))
    assert "Write the parser" in told


def test_a_session_resumed_in_another_repository_is_saved_there(hook, baton, git, started, tmp_path):
    other = started.parent / "other"
    git(started.parent, "init", "-q", str(other))
    git(other, "commit", "-q", "--allow-empty", "-m", "start")
    baton("init", cwd=other)
    hook("SessionStart", agent="codex", source="resume", folder=other)
    write(tmp_path, *turn(other, "Write the printer"))
    hook("SessionEnd", agent="codex", folder=other, reason="other")
    saved = baton("handoff", "show", f"codex/{OLD}", "--json", cwd=other).json["handoff"]["facts"]
    assert "Write the printer" in json.dumps(saved)
    before = baton("handoff", "show", f"codex/{OLD}", "--json").json["handoff"]["facts"]
    assert "Write the printer" not in json.dumps(before)


@pytest.mark.parametrize("place", ["../task", "trees/task"])
def test_a_turn_in_another_folder_does_not_move_the_session(hook, baton, git, started, tmp_path, place):
    tree = (started / place).resolve()
    git(started, "worktree", "add", "-q", str(tree), "-b", "feat")
    hook("SessionStart", agent="codex", source="resume", folder=started)
    write(tmp_path, *turn(started, "Go on"))
    hook("SessionEnd", agent="codex", folder=tree, reason="other")
    handoff = baton("handoff", "show", f"codex/{OLD}", "--json").json["handoff"]
    known = json.loads((started / ".git" / "baton" / "work-trees.json").read_text())["paths"]
    assert known[handoff["worktree"]] == str(started)


def test_a_session_resumed_in_another_repository_stays_there_in_a_turn_elsewhere(hook, baton, git, started, tmp_path):
    other = started.parent / "other"
    git(started.parent, "init", "-q", str(other))
    git(other, "commit", "-q", "--allow-empty", "-m", "start")
    baton("init", cwd=other)
    git(other, "worktree", "add", "-q", str(other / "trees" / "task"), "-b", "feat")
    hook("SessionStart", agent="codex", source="resume", folder=other)
    write(tmp_path, *turn(other, "Write the printer"))
    hook("SessionEnd", agent="codex", folder=other / "trees" / "task", reason="other")
    saved = baton("handoff", "show", f"codex/{OLD}", "--json", cwd=other).json["handoff"]
    known = json.loads((other / ".git" / "baton" / "work-trees.json").read_text())["paths"]
    assert known[saved["worktree"]] == str(other)
