"""A session that was started in a plain folder above several repositories with namespaces."""

from __future__ import annotations

from pathlib import Path

import pytest
from hooked_sessions import OLD, Session


@pytest.fixture
def web(repo, git, baton, tmp_path, monkeypatch) -> Path:
    """A second repository beside the first one, in a folder that is in none; and a third that the session ignores."""
    for name in ("web", "idle"):
        folder = tmp_path / "apps" / name
        folder.mkdir(parents=True)
        git(folder, "init", "-q")
        git(folder, "commit", "-q", "--allow-empty", "-m", "start")
        baton("init", cwd=folder)
    return tmp_path / "apps" / "web"


def work(session: Session, git, repo: Path, web: Path) -> str:
    session.say("user", "Rename total for the client Globex")
    for path in (repo / "m.py", web / "v.ts"):
        session.call("Edit", {"file_path": str(path), "old_string": "a", "new_string": "b"})
    git(web, "commit", "-q", "--allow-empty", "-m", "Rename it in web")
    commit = git(web, "rev-parse", "--short=7", "HEAD")
    session.call("Bash", {"command": "git commit -m x"}, f"[main {commit}] Rename it in web\n 1 file changed")
    session.say("assistant", [{"type": "text", "text": "The web part is half done."}])
    return commit


def test_each_repository_gets_its_own_files_and_commits_and_no_words(hook, baton, git, repo, web, tmp_path):
    session = Session(tmp_path, tmp_path)
    hook("SessionStart", folder=tmp_path, source="startup")
    commit = work(session, git, repo, web)
    for event in ("Stop", "SessionEnd"):
        assert hook(event, folder=tmp_path, reason="other") is None
    shop, other = (
        baton("handoff", "show", OLD, "--json", cwd=folder).json["handoff"]["facts"] for folder in (repo, web)
    )
    assert (shop["files_modified"], other["files_modified"]) == (["m.py"], ["v.ts"])
    assert shop.get("git_commits", []) == []
    assert [made["hash"][:7] for made in other["git_commits"]] == [commit]
    for folder in (repo, web):
        told = git(folder, "log", "-p", f"baton/{folder.name}")
        assert OLD in told
        assert "Globex" not in told
        assert "half done" not in told
    assert OLD[:8] not in baton("list", "handoffs", cwd=web.parent / "idle").out


def test_a_repository_gets_the_words_if_a_person_asked_for_it(hook, baton, git, repo, web, tmp_path):
    git(web, "config", "baton.sessionsFromAbove", "true")
    session = Session(tmp_path, tmp_path)
    work(session, git, repo, web)
    hook("Stop", folder=tmp_path)
    facts = baton("handoff", "show", OLD, "--json", cwd=web).json["handoff"]["facts"]
    assert facts["initial_goal"] == "Rename total for the client Globex"
    assert facts["files_modified"] == ["v.ts"]
    assert not baton("handoff", "show", OLD, "--json", cwd=repo).json["handoff"]["facts"].get("initial_goal")
