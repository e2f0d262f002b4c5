"""Facts from a session's repository, with real git."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from transcript_sessions import Claude, lines

from baton_git.agents.extraction import Options
from baton_git.agents.extraction.extracting import Extraction, extract
from baton_git.agents.extraction.repository import add_git_facts, keep_whole_lines
from baton_git.git.local_git import GitUnavailable, SessionRepository

NOW = datetime(2026, 1, 2, 3, 5, tzinfo=UTC)


def extract_with_git(top: Path, made: Claude, folder: Path | None = None, **options: object) -> Extraction:
    """Extract the facts of a session that worked in `folder` (by default `top`), including those from git."""
    path = top.parent / "session.jsonl"
    path.write_bytes(lines([{**record, "cwd": str(folder or top)} for record in made.records]))
    read = extract(path, options=Options.model_validate(options))
    return add_git_facts(read, NOW, dict(os.environ), None)


@pytest.fixture
def made() -> Claude:
    made = Claude("2.1")
    made.user("Do it")
    return made


@pytest.fixture
def commit(top, git, monkeypatch):
    def committing(subject: str, seconds: int = 10) -> str:
        at = (NOW - timedelta(minutes=1) + timedelta(seconds=seconds)).isoformat()
        monkeypatch.setenv("GIT_COMMITTER_DATE", at)
        git(top, "commit", "-q", "--allow-empty", "-m", subject)
        return git(top, "rev-parse", "HEAD")

    return committing


def test_uncommitted_files_are_listed_and_an_empty_text_means_none(top, made):
    assert extract_with_git(top, made).facts["git_status"] == ""
    (top / "nöw").write_text("x")
    assert extract_with_git(top, made).facts["git_status"] == "?? nöw"


def test_files_that_only_git_shows_are_left_out_with_the_other_changed_files(top, made, git, monkeypatch):
    made.run("Edit", {"file_path": str(top / "readme"), "old_string": "x", "new_string": "y"}, "ok")
    made.run("Read", {"file_path": str(top / "read.py")}, "x")
    monkeypatch.setenv("GIT_COMMITTER_DATE", NOW.isoformat())
    (top / "committed").write_text("x")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "more")
    (top / "written").write_text("x")
    os.utime(top / "written", (NOW.timestamp(), NOW.timestamp()))
    facts = extract_with_git(top, made).facts
    assert sorted(Path(use["path"]).name for use in facts["files_used"]) == [
        "committed", "read.py", "readme", "written"
    ]  # fmt: skip
    facts = extract_with_git(top, made, extract={"files_modified": False}).facts
    assert [Path(use["path"]).name for use in facts["files_used"]] == ["read.py"]
    assert "files_modified" not in facts
    facts = extract_with_git(top, made, extract={"git_status": False}).facts
    assert "git_status" not in facts


def test_reading_the_status_does_not_change_the_index(top, made):
    (top / "readme").touch()
    before = (top / ".git" / "index").read_bytes()
    extract_with_git(top, made)
    assert (top / ".git" / "index").read_bytes() == before


def test_the_git_status_of_a_missing_folder_or_repository_is_unknown(top, made, tmp_path):
    gone = extract_with_git(top, made, tmp_path / "gone").facts
    assert "git_status" not in gone
    assert "is gone" in gone["unknown"]["git_status"]
    bare = extract_with_git(top, made, tmp_path).facts
    assert "not a git repository" in bare["unknown"]["git_status"]


def test_a_missing_git_makes_the_status_unknown_and_a_slow_git_raises(top, made, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    assert "cannot start git" in extract_with_git(top, made).facts["unknown"]["git_status"]
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec /bin/sleep 9\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    with pytest.raises(GitUnavailable, match="did not finish"):
        SessionRepository(top, dict(os.environ), 0.2).run_git("status")


def test_the_variables_of_a_hook_do_not_lead_git_elsewhere(top, made, monkeypatch, tmp_path):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    assert extract_with_git(top, made).facts["git_status"] == ""


def test_a_commit_is_verified_when_the_repository_has_it(top, made, commit):
    name = commit("Fix it")
    made.run("Bash", {"command": "git commit -m 'Fix it'"}, f"[main {name[:7]}] Fix it")
    made.run("Bash", {"command": "git commit -m 'Lost'"}, "[main 1234567] Lost")
    found = extract_with_git(top, made, git={"include_diff_stats": True}).facts["git_commits"]
    assert [(one["message"], one["verified"]) for one in found] == [("Fix it", True), ("Lost", False)]
    assert found[0]["stat"] == ""


def test_a_quiet_commit_is_found_by_its_time_and_subject(top, made, commit):
    commit("Somebody else's", 2)
    name = commit("Quiet", 2)
    made.run("Bash", {"command": "git commit -q -m Quiet"}, "")
    commits = extract_with_git(top, made).facts["git_commits"]
    assert [(one["message"], one["verified"], one.get("found")) for one in commits] == [
        ("Somebody else's", True, "git"), ("Quiet", True, None),
    ]  # fmt: skip
    assert commits[1]["hash"] == name[:12]


def test_a_command_without_a_result_made_a_commit_only_if_git_has_it(top, made, commit):
    made.call("Bash", {"command": "git commit -m 'On its way'"}, "toolu_open")
    assert extract_with_git(top, made).facts["git_commits"] == []
    name = commit("On its way", 5)
    assert [one["hash"] for one in extract_with_git(top, made).facts["git_commits"]] == [name[:12]]


def test_a_long_status_is_cut_at_a_line():
    assert keep_whole_lines("aaaa\nbbbb\ncccc\n", 11) == "aaaa\nbbbb\n… and 1 more line"
    assert keep_whole_lines("aaaa\n", 100) == "aaaa"


# --- facts from git


@pytest.fixture
def live(top, git) -> Claude:
    """Return a session that starts now, after the first commit."""
    git(top, "reflog", "expire", "--expire=all", "--all")
    session = Claude("2.1")
    session.user("Release it")
    session.run("Bash", {"command": "sh release.sh"}, "released")
    for record in session.records:
        record["timestamp"] = datetime.now(UTC).isoformat()
    return session


def test_commits_and_files_of_a_script_are_found(top, git, live):
    (top / "old.txt").write_text("from before\n")
    os.utime(top / "old.txt", (1, 1))
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "Release 1.2")
    (top / "notes.txt").write_text("new\n")
    (top / "dirty.txt").write_text("from before\n")
    os.utime(top / "dirty.txt", (1, 1))
    facts = extract_with_git(top, live).facts
    assert [(commit["message"], commit["found"]) for commit in facts["git_commits"]] == [("Release 1.2", "git")]
    used = {use["path"]: use["found"] for use in facts["files_used"] if use.get("changes")}
    assert used == {str(top / "notes.txt"): "git", str(top / "old.txt"): "git"}


def test_commits_that_were_amended_reset_pulled_or_made_before_do_not_count(top, git, live, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z")
    git(top, "commit", "-q", "--allow-empty", "-m", "Before")
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    git(top, "commit", "-q", "--allow-empty", "-m", "Frist")
    git(top, "commit", "-q", "--amend", "--allow-empty", "-m", "First")
    git(top, "commit", "-q", "--allow-empty", "-m", "Thrown away")
    git(top, "reset", "-q", "--hard", "HEAD~1")
    git(tmp_path, "clone", "-q", str(top), "other")
    git(tmp_path / "other", "commit", "-q", "--allow-empty", "-m", "Of a colleague")
    git(top, "pull", "-q", "--ff-only", str(tmp_path / "other"))
    assert [commit["message"] for commit in extract_with_git(top, live).facts["git_commits"]] == ["First"]


def test_asking_git_for_files_runs_no_program_of_the_repository(top, git, live, tmp_path):
    program, marker = tmp_path / "evil", tmp_path / "ran"
    program.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    program.chmod(0o755)
    for name in ("diff.external", "diff.evil.textconv", "core.fsmonitor", "core.pager", "pager.log"):
        git(top, "config", name, str(program))
    (top / ".gitattributes").write_text("* diff=evil\n")
    git(top, "-c", "core.fsmonitor=false", "add", "-A")
    git(top, "-c", "core.fsmonitor=false", "commit", "-q", "-m", "Release")
    marker.unlink(missing_ok=True)
    assert extract_with_git(top, live).facts["git_commits"][0]["found"] == "git"
    assert not marker.exists()
