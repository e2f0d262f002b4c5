"""Helpers for the tests of snapshots: a first snapshot, an environment, files, and functions to open sessions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from baton_git.core.state import State
from baton_git.systems.ecc.adapters.adapter import Surroundings, Target, outputs, runtime, session, snapshot
from baton_git.systems.ecc.adapters.all_adapters import OpenedSession, open_target

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


def worker(id_: str = "w1", state: str = "running", health: str = "healthy", **more: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "label": id_,
        "state": state,
        "health": health,
        "branch": None,
        "worktree": None,
        "runtime": runtime("tmux-pane", "codex", pid=12, active=True),
        "intent": {"objective": "Do it", "seedPaths": []},
        "outputs": outputs(),
        "artifacts": {},
        **more,
    }


def a_snapshot(
    *workers: dict[str, Any], adapter: str = "dmux-tmux", id_: str = "proof", state: str = "active"
) -> dict[str, Any]:
    described = session(id_, "orchestrated", state, None, ("session", id_))
    return snapshot(adapter, described, workers or (worker(),))


def a_recording(*bodies: dict[str, Any]) -> dict[str, Any]:
    """Return ECC's recording of these snapshots, one hour apart."""
    times = [f"2026-11-20T{hour:02}:00:00.000Z" for hour in range(len(bodies))]
    return {
        "schemaVersion": "ecc.session.recording.v1",
        "adapterId": bodies[-1]["adapterId"],
        "sessionId": bodies[-1]["session"]["id"],
        "createdAt": times[0],
        "updatedAt": times[-1],
        "latest": bodies[-1],
        "history": [{"recordedAt": time, "snapshot": one} for time, one in zip(times, bodies, strict=True)],
    }


def around(folder: Path, *, state: State | None = None, now: datetime = NOW, **environment: str) -> Surroundings:
    """Return an environment below a folder: `home` is the home directory, `work` the current directory."""
    (folder / "work").mkdir(exist_ok=True)
    (folder / "home").mkdir(exist_ok=True)
    found = {"PATH": os.environ["PATH"], **environment}
    return Surroundings(folder / "home", folder / "work", now, found, state or State())


def put(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def aged(path: Path, seconds: float) -> None:
    """Make a file some seconds older than NOW."""
    at = NOW.timestamp() - seconds
    os.utime(path, (at, at))


def look(where: Surroundings, value: str, *, type_: str = "", adapter: str | None = None) -> dict[str, Any]:
    """Return the snapshot of a session."""
    return see(where, value, type_=type_, adapter=adapter).data


def see(where: Surroundings, value: str, *, type_: str = "", adapter: str | None = None) -> OpenedSession:
    """Open the session that `value` names, with any adapter or with the given one."""
    return open_target(Target(value, type_), where, adapter)
