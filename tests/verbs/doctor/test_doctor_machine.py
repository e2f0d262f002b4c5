"""`baton doctor` on hooks of git and of agents' CLIs, MCP servers, and remotes that are really broken."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pseudo_terminal import typing_here

from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore, save_ended_turn
from baton_git.agents.hook_events.payloads import STOP, Payload
from baton_git.agents.hook_events.planner import identify_event
from baton_git.core.sessions import SessionNames
from baton_git.core.view import Reader
from baton_git.interfaces.cli.machine.doctor import format_diagnosis
from baton_git.verbs.doctor.doctor import Diagnosis, DoctorFinding

EVENTS = ("post-commit", "post-merge", "post-checkout", "post-rewrite", "pre-push")


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return content and permissions of every file below a folder, except the doctor's own files."""
    files = (path for path in folder.rglob("*") if path.is_file() and "doctor" not in path.parts)
    return {str(path): (path.read_bytes(), path.stat().st_mode) for path in files}


# --- git's hooks


def test_overwritten_removed_or_disabled_git_hooks_are_repaired(
    made: Path, baton: Any, findings: Any, monkeypatch: Any
) -> None:
    assert "not installed" in findings("hooks")[0]["summary"]
    baton("hooks", "install")
    assert findings("hooks")[0]["summary"] == "5 hooks installed and working"
    hooks = made / "hooks"
    (hooks / "post-commit").write_text("#!/bin/sh\necho mine\n")
    (hooks / "post-merge").unlink()
    (hooks / "pre-push").chmod(0o644)
    broken = snapshot(made)

    found = findings("hooks", code=1)
    said = " ".join(finding["summary"] for finding in found)
    assert "post-commit: another tool has put its own hook" in said
    assert "post-merge" in said
    assert "pre-push: " in said
    baton("doctor", "hooks", "--fix", "--yes")
    assert findings("hooks")[0]["severity"] == "ok"
    assert (hooks / "post-commit.pre-baton").read_text() == "#!/bin/sh\necho mine\n"
    code, screen = typing_here(monkeypatch, made.parent, "doctor", "--undo", typed=b"n\n")
    assert "Undo the repair of" in screen
    assert code == 1
    assert findings("hooks")[0]["severity"] == "ok"
    baton("doctor", "--undo", "--yes")
    assert snapshot(made) == broken
    baton("doctor", "hooks", "--fix", "--yes")
    with (hooks / "post-commit").open("a") as script:
        script.write("echo also mine\n")
    assert "was changed since the repair" in baton("doctor", "--undo", "--yes", code=1).err


def test_uninstalled_git_hooks_are_not_a_problem(made: Path, baton: Any, findings: Any) -> None:
    baton("hooks", "install")
    baton("hooks", "uninstall")
    assert findings("hooks")[0]["summary"].startswith("not installed; ")


def test_a_git_hook_without_its_interpreter_is_written_again(made: Path, baton: Any, findings: Any) -> None:
    baton("hooks", "install")
    for event in EVENTS:
        for path in (made / "hooks" / event, made / "baton/hooks" / event):
            path.write_bytes(path.read_bytes().replace(os.fsencode(sys.executable), b"/nowhere/python"))
    (finding,) = findings("hooks", code=1, env={"PATH": "/usr/bin:/bin"})
    assert "/nowhere/python" in finding["summary"]
    baton("doctor", "hooks", "--fix", "--yes")
    assert findings("hooks")[0]["severity"] == "ok"


def test_hooks_in_the_folder_of_another_tool_have_no_automatic_repair(
    made: Path, baton: Any, git: Any, findings: Any
) -> None:
    baton("hooks", "install")
    (made.parent / ".husky/_").mkdir(parents=True)
    git(made.parent, "config", "core.hooksPath", ".husky/_")
    found = findings("hooks", code=1)
    assert ".husky" in found[0]["summary"]
    assert [finding["repair"] for finding in found] == [None] * len(found)


# --- agents' CLIs


@pytest.fixture
def claude(made: Path, baton: Any) -> Path:
    """Write settings of Claude Code with our hooks and MCP server, and put a program of that name on the PATH."""
    program = Path(os.environ["HOME"]) / "bin/claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    os.environ["PATH"] = f"{program.parent}:{os.environ['PATH']}"
    baton("agents", "install", "claude", "--with", "none")
    return Path(os.environ["HOME"]) / ".claude/settings.json"


@pytest.fixture(autouse=True)
def _same_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pytest restore the PATH after each test, because `claude` changes it."""
    monkeypatch.setenv("PATH", os.environ["PATH"])


def test_agent_hooks_are_checked_and_repaired_and_the_undo_restores_them(
    claude: Path, baton: Any, findings: Any
) -> None:
    home = Path(os.environ["HOME"])
    assert "no session has called them here yet" in findings("agents")[0]["summary"]
    good = claude.read_text()
    breaks = {
        "a missing interpreter": good.replace(str(Path(sys.executable).parent), "/nowhere"),
        "a missing entry": json.dumps({**json.loads(good), "hooks": dict(list(json.loads(good)["hooks"].items())[1:])}),
        "no entries": "{}",
    }
    for name, text in breaks.items():
        claude.write_text(text)
        broken = snapshot(home)
        finding = findings("agents", code=1)[0]
        assert finding["severity"] == "error", name
        assert finding["repair"].startswith("Install the hooks of claude again in"), name
        baton("doctor", "agents", "--fix", "--yes")
        assert json.loads(claude.read_text())["hooks"] == json.loads(good)["hooks"], name
        baton("doctor", "--undo", "--yes")
        assert snapshot(home) == broken, name


def test_disabled_hooks_and_unreadable_settings_are_reported(claude: Path, findings: Any) -> None:
    claude.write_text(json.dumps({**json.loads(claude.read_text()), "disableAllHooks": True}))
    assert "disableAllHooks" in findings("agents", code=1)[0]["summary"]
    claude.write_text("{")
    unreadable = findings("agents", code=5)[0]
    assert (unreadable["severity"], unreadable["repair"]) == ("unknown", None)


def test_the_last_event_the_last_save_and_unsaved_turns_are_reported(
    claude: Path, made: Path, tmp_path: Path, findings: Any, make_older: Any
) -> None:
    store = HookSessionStore(str(made))
    moment = (datetime.now().astimezone() - timedelta(minutes=7)).isoformat()
    stop = Payload("claude", "Stop", STOP, "c-1", response="Done.")
    store.save(HookSession("claude", "c-1", last_seen=moment, event=identify_event(stop)))
    facts = Path(store.path("claude", "c-1", ".facts"))
    facts.write_bytes(b"x")
    make_older(facts, 3)
    assert findings("agents")[0]["summary"] == (
        "claude: hooks run; the last event was Stop 7 minutes ago, the last save 3 hours ago"
    )
    save_ended_turn(store, stop)
    make_older(Path(store.path("claude", "c-1", ".turn")), 1)
    assert "the last turn of session c-1 was not saved" in findings("agents")[0]["summary"]

    transcript = tmp_path / "c-2.jsonl"
    transcript.write_text('{"type":"spell","sessionId":"c-2","uuid":"u","line":1}\n' * 300)
    store.save(HookSession("claude", "c-2", last_seen=moment, event="Stop", transcript=str(transcript)))
    found = findings("agents", code=1)
    assert "perhaps a new transcript format" in found[0]["summary"]


def test_recent_problems_in_the_hooks_log_are_reported(made: Path, findings: Any) -> None:
    now = datetime.now().astimezone()
    lines = [
        f"{moment.isoformat(timespec='seconds')} claude Stop c-1: the hook was stopped after 9 s"
        for moment in (now - timedelta(days=30), now - timedelta(hours=2), now)
    ]
    (made / "baton/agents.log").write_text("\n".join(lines) + "\n")
    (logged,) = [finding for finding in findings("agents") if "logged" in finding["summary"]]
    assert logged["summary"] == "hooks logged 2 problems in the last 7 days"
    assert "stopped after 9 s" in logged["cause"]


def test_the_cost_of_a_hook_is_measured(claude: Path, findings: Any) -> None:
    (finding,) = findings("cost")
    assert "ms with nothing to do" in finding["summary"]


def test_an_mcp_server_that_cannot_be_started_is_reported(claude: Path, made: Path, findings: Any) -> None:
    assert findings("mcp")[0]["summary"] == "no MCP server is configured"
    servers = made.parent / ".mcp.json"
    servers.write_text(json.dumps({"mcpServers": {"baton": {"command": "/nowhere/baton", "args": ["mcp"]}}}))
    (finding,) = findings("mcp", code=1)
    assert "/nowhere/baton is missing" in finding["summary"]
    assert finding["advice"] == "baton agents install claude --project --with mcp"
    servers.write_text(json.dumps({"mcpServers": {"baton": {"command": sys.executable, "args": ["mcp"]}}}))
    assert "is configured" in findings("mcp")[0]["summary"]


# --- remotes


class _Quiet(SimpleHTTPRequestHandler):
    """Serve a folder as an old web server would serve a public repository; `locked/` needs a login."""

    def send_head(self) -> Any:
        if self.path.startswith("/locked/"):
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return None
        return super().send_head()

    def log_message(self, *args: Any) -> None:
        return


@contextmanager
def web_server(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_the_state_of_a_remote_against_the_branch_is_reported(
    made: Path, baton: Any, git: Any, tmp_path: Path, findings: Any
) -> None:
    top, there, branch = made.parent, tmp_path / "there.git", "refs/heads/baton/work"
    assert "on this machine only" in findings("remotes")[0]["summary"]
    git(tmp_path, "init", "-q", "--bare", str(there))
    git(top, "remote", "add", "origin", str(there))
    assert "does not have this namespace" in findings("remotes")[0]["summary"]
    baton("sync")
    assert findings("remotes")[0]["summary"] == "origin answers, and is up to date"

    first = git(top, "rev-parse", branch)
    baton("followup", "add", "More")
    assert findings("remotes")[0]["summary"] == "origin lacks 1 commit of ours"
    git(top, "push", "-q", "origin", f"{branch}:{branch}")
    git(top, "update-ref", branch, first)
    baton("namespace", "accept", "work", "--yes")
    assert findings("remotes")[0]["summary"] == "origin is ahead by 1 commit"
    git(there, "update-ref", "-d", branch)
    deleted = findings("remotes", code=1)[0]
    assert deleted["summary"] == "origin no longer has the branch"
    other = git(there, "commit-tree", git(there, "hash-object", "-wt", "tree", "--stdin", text=""), "-m", "other")
    git(there, "update-ref", branch, other)
    assert "not fetched yet" in findings("remotes")[0]["summary"]
    there.rename(tmp_path / "elsewhere.git")
    gone = findings("remotes", code=None)[0]
    assert gone["severity"] in ("error", "unknown")
    git(top, "remote", "set-url", "origin", "http://127.0.0.1:9/x.git")
    assert findings("remotes", "privacy", code=5)[0]["severity"] == "unknown"


def test_lanes_on_a_remote_are_reported(made: Path, baton: Any, git: Any, tmp_path: Path, findings: Any) -> None:
    top, there, branch = made.parent, tmp_path / "there.git", "refs/heads/baton/work"
    git(tmp_path, "init", "-q", "--bare", str(there))
    git(top, "remote", "add", "origin", str(there))
    baton("sync")
    lane = "refs/baton-lanes/work/0123456789abcdef"
    baton("followup", "add", "More")
    git(top, "push", "-q", "origin", f"{branch}:{lane}", f"{branch}:refs/baton-lanes/work/forged")

    def summaries() -> list[str]:
        return [one["summary"] for one in findings("remotes")]

    forged = "1 ref on origin with names that no lane has: refs/baton-lanes/work/forged"
    lacks = "1 lane on origin with commits that the branch lacks"
    assert summaries() == ["origin lacks 1 commit of ours", forged, lacks]
    git(top, "push", "-q", "origin", "--delete", "refs/baton-lanes/work/forged")
    git(top, "config", "remote.origin.batonLanes", "true")
    answers = "origin answers, and has all commits of ours, some of them in a lane"
    assert summaries() == [answers, "1 lane on origin with commits that the branch does not have yet"]
    code = git(top, "commit-tree", git(top, "hash-object", "-wt", "tree", "--stdin", text=""), "-m", "x")
    git(top, "push", "-q", "origin", f"{code}:refs/baton-lanes/work/00000000000000aa")
    assert "00000000000000aa on origin cannot be taken in" in summaries()[1]
    git(top, "push", "-q", "origin", "--delete", "refs/baton-lanes/work/00000000000000aa")
    baton("sync")
    assert summaries() == ["origin answers, and is up to date"]


def test_a_public_remote_is_a_warning(made: Path, git: Any, tmp_path: Path, findings: Any) -> None:
    assert findings("privacy")[0]["summary"] == "there is no remote"
    top, served = made.parent, tmp_path / "served"
    for name in ("open.git", "locked/there.git"):
        git(tmp_path, "clone", "-q", "--bare", str(top), str(served / name))
        git(served / name, "update-server-info")
    with web_server(served) as host:
        for path, severity in (("open.git", "warning"), ("locked/there.git", "ok")):
            git(top, "config", "remote.origin.url", f"http://ada:secret@{host}/{path}")
            (finding,) = findings("privacy")
            assert finding["severity"] == severity, finding
            assert "secret" not in json.dumps(finding)
    git(top, "config", "remote.origin.url", str(served / "open.git"))
    assert findings("privacy")[0]["severity"] == "ok"


def test_the_summary_counts_the_checks_that_passed_and_every_error():
    parts = [("refs", "error"), ("refs", "error"), ("refs", "ok"), ("hooks", "ok"), ("hooks", "ok")]
    findings = [
        DoctorFinding(check=check, severity=severity, summary="", cause="", advice="", repair=None)
        for check, severity in parts
    ]
    text = format_diagnosis(
        Reader(datetime.now(UTC), SessionNames()), Diagnosis(verdict="error", findings=findings), shows_all=False
    )
    assert text.endswith("1 of 2 checks passed; 2 errors")


def test_a_repository_whose_maintenance_was_unregistered_is_reported(baton, git, top, tmp_path, monkeypatch):
    """Seen with git 2.39.5 (builtin/gc.c): `git maintenance register` sets maintenance.auto to false here, and
    `git maintenance unregister` removes only the entry in ~/.gitconfig, so that git never cleans up again.
    """
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    baton("init")
    warning = "git never cleans up here"
    assert warning not in baton("doctor", "packs").out
    git(top, "maintenance", "register")
    assert git(top, "config", "--local", "maintenance.auto") == "false"
    assert warning not in baton("doctor", "packs").out
    git(top, "maintenance", "unregister")
    assert git(top, "config", "--local", "maintenance.auto") == "false"
    assert warning in baton("doctor", "packs").out
    git(top, "config", "--unset", "maintenance.auto")
    assert warning not in baton("doctor", "packs").out
