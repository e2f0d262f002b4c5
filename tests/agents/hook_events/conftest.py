"""Hooks that run in this process, as `baton hook` does."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hooked_sessions import OLD, Session, transcript

from baton_git.interfaces.hook.command import main

Baton = Callable[..., Any]
Hook = Callable[..., Any]


@pytest.fixture
def repo(top: Path, git: Callable[..., str], baton: Baton) -> Path:
    git(top, "commit", "-q", "--allow-empty", "-m", "start")
    baton("init")
    return top


@pytest.fixture
def hook(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hook:
    """Send an event to `baton hook` and return its reply; it must exit with 0 and print nothing to stderr."""

    def call(event: str, session: str = OLD, agent: str = "claude", folder: Path = repo, **more: Any) -> Any:
        payload = {
            "session_id": session, "transcript_path": str(transcript(tmp_path, session)), "cwd": str(folder),
            "hook_event_name": event, **more,
        }  # fmt: skip
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(payload).encode())))
        monkeypatch.chdir("/")
        capfd.readouterr()
        code = main(["--agent", agent])
        monkeypatch.chdir(repo)
        out, err = capfd.readouterr()
        assert (code, err) == (0, "")
        assert len(out.encode()) <= 10_000
        return json.loads(out) if out else None

    return call


@pytest.fixture
def session(tmp_path: Path, repo: Path) -> Session:
    return Session(tmp_path, repo)
