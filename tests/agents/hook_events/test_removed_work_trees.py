"""Sessions whose work tree was removed: agents get one for each task, and it goes right after the answer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from default_run import slow_after
from hooked_sessions import NEW, OLD, Session, context
from waiting import until

from baton_git.agents.hook_events.hook_session import HookSessionStore

BRANCH = "feat"


@pytest.fixture
def tree(repo: Path, git: Callable[..., str]) -> Path:
    """A linked work tree beside the main one."""
    path = repo.parent / "task"
    git(repo, "worktree", "add", "-q", str(path), "-b", BRANCH)
    return path


def work_in(tree: Path, tmp_path: Path, git: Callable[..., str], session: str = OLD) -> str:
    made = Session(tmp_path, tree, session)
    commit = made.work(git)
    made.say("assistant", [{"type": "text", "text": "Greeting is done."}])
    return commit


def remove(repo: Path, tree: Path, git: Callable[..., str], *, branch: bool = True) -> None:
    git(repo, "worktree", "remove", "--force", str(tree))
    if branch:
        git(repo, "branch", "-q", "-D", BRANCH)


def read_handoff(baton: Callable[..., Any], session: str = OLD) -> Any:
    return dict(baton("handoff", "show", f"claude/{session}", "--json").json["handoff"])


def assert_is_saved(baton: Callable[..., Any], repo: Path, tree: Path, commit: str) -> None:
    handoff = read_handoff(baton)
    facts = dict(handoff["facts"])
    assert facts["initial_goal"].startswith("Add a greet module")
    assert [made["hash"][:7] for made in facts["git_commits"]] == [commit]
    assert facts["git_commits"][0]["verified"]
    assert facts["files_modified"] == ["greet.py"]
    assert "git_status" not in facts
    assert "is gone" in facts["unknown"]["git_status"]
    known = json.loads((repo / ".git" / "baton" / "work-trees.json").read_text())["paths"]
    assert known[handoff["worktree"]] == str(tree)


@pytest.mark.parametrize("place", slow_after(1, ["beside", ".claude/worktrees/task"]))
def test_the_saver_saves_a_session_whose_work_tree_was_removed(
    hook, baton, git, repo, tmp_path, place
):  # fmt: skip
    tree = repo.parent / "task" if place == "beside" else repo / place
    git(repo, "worktree", "add", "-q", str(tree), "-b", BRANCH)
    hook("SessionStart", folder=tree, source="startup")
    commit = work_in(tree, tmp_path, git)
    hook("Stop", folder=tree, last_assistant_message="All done, really.")
    remove(repo, tree, git)
    until(lambda: "All done, really." in baton("handoff", "show", f"claude/{OLD}", code=None).out, 30)
    assert_is_saved(baton, repo, tree, commit)


@pytest.mark.parametrize("reason", ["stop", "killed"])
def test_the_next_start_in_the_main_work_tree_saves_a_session_of_a_removed_one(
    hook, baton, git, repo, tree, tmp_path, reason
):  # fmt: skip
    hook("SessionStart", folder=tree, source="startup")
    commit = work_in(tree, tmp_path, git)
    if reason == "stop":
        turn = {"transcript": "", "cwd": str(tree), "response": "", "size": -1, "id": "a", "event": "Stop"}
        memory = HookSessionStore(str(repo / ".git"))
        Path(memory.path("claude", OLD, ".turn")).write_text(json.dumps(turn))
    remove(repo, tree, git)
    hook("SessionStart", NEW, source="startup")
    assert_is_saved(baton, repo, tree, commit)


def test_a_session_whose_transcript_existed_before_is_saved_although_branch_and_files_are_gone(
    hook, baton, git, repo, tree, tmp_path
):  # fmt: skip
    session = Session(tmp_path, tree)
    session.say("user", "Try it", gitBranch=BRANCH)
    session.call("Write", {"file_path": str(tree / "trial_parser.py"), "content": "x"})
    hook("SessionStart", folder=tree, source="resume")
    remove(repo, tree, git)
    hook("SessionStart", NEW, source="startup")
    assert read_handoff(baton)["facts"]["files_modified"] == ["trial_parser.py"]


def test_the_last_events_of_a_session_come_from_a_removed_folder(hook, baton, git, repo, tmp_path):
    tree = repo / ".claude" / "worktrees" / "task"
    git(repo, "worktree", "add", "-q", str(tree), "-b", BRANCH)
    hook("SessionStart", folder=tree, source="startup")
    commit = work_in(tree, tmp_path, git)
    remove(repo, tree, git)
    hook("SessionEnd", folder=tree, reason="other")
    assert_is_saved(baton, repo, tree, commit)


def test_mine_finds_a_session_whose_hooks_ran_in_a_removed_work_tree(hook, baton, git, repo, tree, tmp_path):
    hook("SessionStart", folder=tree, source="startup")
    work_in(tree, tmp_path, git)
    kept = Path.home() / ".claude" / "projects" / "-task" / f"{OLD}.jsonl"
    kept.parent.mkdir(parents=True)
    shutil.copy(tmp_path / "transcripts" / f"{OLD}.jsonl", kept)
    remove(repo, tree, git)
    memory = HookSessionStore(str(repo / ".git"))
    known = memory.get("claude", OLD)
    assert known is not None
    memory.save(known._replace(ended="other"))
    tree.mkdir()  # something else is at its place now
    git(tree, "init", "-q")
    assert [session["id"] for session in baton("mine", "--json").json["imported"]] == [f"claude/{OLD}"]


def test_a_mined_session_of_a_removed_work_tree_gets_no_commits_of_the_main_one(baton, git, repo, tree, tmp_path):
    session = Session(tmp_path, tree)
    session.say("user", "Try it")
    session.say("assistant", [{"type": "text", "text": "Tried."}], timestamp="2099-01-01T00:00:00Z")
    kept = Path.home() / ".claude" / "projects" / "-task" / f"{OLD}.jsonl"
    kept.parent.mkdir(parents=True)
    shutil.copy(session.path, kept)
    shutil.rmtree(tree)
    git(repo, "commit", "-q", "--allow-empty", "-m", "Of the person")
    baton("mine")
    assert read_handoff(baton)["facts"].get("git_commits", []) == []


def test_a_session_of_another_namespace_is_left_to_a_start_there(hook, baton, git, repo, tree, tmp_path):
    hook("SessionStart", folder=tree, source="startup")
    memory = HookSessionStore(str(repo / ".git"))
    known = memory.get("claude", OLD)
    assert known is not None
    memory.save(known._replace(namespace="another"))
    work_in(tree, tmp_path, git)
    remove(repo, tree, git)
    assert "greet" not in context(hook("SessionStart", NEW, source="startup"))
    baton("handoff", "show", f"claude/{OLD}", code=1)


# --- what the next session is told


def end(hook: Any, tmp_path: Path, tree: Path, session: str, text: str, **more: Any) -> None:
    """Run a session with one prompt and one changed file."""
    made = Session(tmp_path, tree, session)
    made.say("user", f"Ask {text}", **more)
    made.call("Write", {"file_path": str(tree / f"{text}.py"), "content": "x"})
    made.say("assistant", [{"type": "text", "text": f"Answer {text}"}])
    hook("SessionStart", session, folder=tree, source="startup")
    hook("SessionEnd", session, folder=tree, reason="other")


def test_the_nearest_session_is_told_first(hook, baton, git, repo, tree, tmp_path):
    """Of the same work tree, else of its branch, else of one that was merged, else any other."""
    other, merged = repo.parent / "other", repo.parent / "merged"
    for path, branch in ((other, "unrelated"), (merged, "done")):
        git(repo, "worktree", "add", "-q", str(path), "-b", branch)
    for path in (merged, other):
        git(path, "commit", "-q", "--allow-empty", "-m", f"In {path.name}")
    git(tree, "merge", "-q", "--ff-only", "done")
    ids = [f"1111111{number}-0000-4000-8000-000000000001" for number in range(5)]
    end(hook, tmp_path, merged, ids[1], "merged", gitBranch="done")
    git(repo, "worktree", "remove", "--force", str(merged))
    end(hook, tmp_path, other, ids[2], "unrelated", gitBranch="unrelated")
    told = context(hook("SessionStart", NEW, folder=tree, source="startup"))
    assert "Answer merged" in told
    assert f"in {merged} (removed)" in told
    assert baton("handoff", "show", "--json", cwd=tree).json["handoff"]["id"] == f"claude/{ids[1]}"
    end(hook, tmp_path, other, ids[3], "same", gitBranch=BRANCH)
    assert baton("handoff", "show", "--json", cwd=tree).json["handoff"]["id"] == f"claude/{ids[3]}"
    end(hook, tmp_path, tree, ids[4], "own", gitBranch="unrelated")
    assert baton("handoff", "show", "--json", cwd=tree).json["handoff"]["id"] == f"claude/{ids[4]}"
    assert (
        baton("handoff", "show", "--json", cwd=repo).json["handoff"]["id"] == f"claude/{ids[4]}"
    )  # merged: main has no commits


def test_a_session_that_was_resumed_in_another_work_tree_stays_known_in_its_own(hook, repo, tree, tmp_path):
    end(hook, tmp_path, repo, OLD, "main")
    resumed = Session(tmp_path, tree, OLD)
    resumed.number = 30
    resumed.say("user", "Ask again")
    hook("SessionStart", folder=tree, source="resume")
    hook("SessionEnd", folder=tree, reason="other")
    assert "Ask again" in context(hook("SessionStart", NEW, source="startup"))
    memory = HookSessionStore(str(repo / ".git"))
    assert memory.get("claude", NEW).parent == OLD
