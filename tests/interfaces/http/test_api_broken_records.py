"""Broken files on a branch, made by hand or by another program, are reported, and no list fails because of a broken
file."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

LISTS = (
    "/v1/namespaces", "/v1/status", "/v1/state", "/v1/records", "/v1/records?archived=true", "/v1/sessions", "/v1/log",
    "/v1/log/~0", "/v1/diff?a=0", "/v1/conflicts", "/v1/handovers", "/v1/handoffs", "/v1/snapshots", "/v1/validate",
)  # fmt: skip
BAD: dict[str, bytes] = {
    "open_loops/OL-1.toml": b"id = [", "follow_ups/FU-1.toml": b'id = "FU-2"\n',
    "active_decisions/DEC-1.toml": b'id = "DEC-1"\nwhat = 7\n', "sessions/s-1.toml": b"\xff\xfe",
    "conflicts/C-1.toml": b'id = "C-1"\n', "handover/run.txt": b"nonsense", "handoffs/claude/x.toml": b"facts = 1\n",
    "snapshots/a/b.toml": b"x = nan\n", "rules/PAT-1.md": b"\xff", "archive/open_loop/zz/OL-9.toml": b"",
    "open_loops/OL-2.toml": b'id = "OL-2"\naction = "\\u0000\\u001b[31m"\nexpected_outcome = "y"\n'
    b'created_at = "long ago"\nodd = [1, {"$null" = true}]\nttl_days = 7\n',
}  # fmt: skip


@pytest.fixture
def odd(api: Any, git: Any, tmp_path: Path) -> Any:
    """Return a client of a namespace with broken files of every kind, in a commit whose message is not UTF-8."""
    api.post("/v1/loops", {"action": "x", "expect": "y", "id": "OL-0"}, code=201)
    branch = api.post("/v1/namespaces", {"namespace": api.namespace}).json()["ref"].removeprefix("refs/heads/")
    tree = tmp_path / "tree"
    git(api.folder, "worktree", "add", "-q", str(tree), branch)
    for path, content in BAD.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(content)
    (Path(os.fsdecode(os.fsencode(tree) + b"/open_loops/\xe9\xff.toml"))).write_bytes(b"")
    git(tree, "add", "-A")
    message = b"\xe9\xff\x1b[31m odd\n\nBaton-Revision: 99999999999999999999\nBaton-Session: \xff\n"
    argv = ["git", "commit", "-q", "-F", "-", "--cleanup=verbatim", "--date=@4102444800 +0000"]
    subprocess.run(argv, cwd=tree, input=message, check=True)
    return api


@pytest.mark.slow
def test_every_list_can_still_be_read(odd: Any) -> None:
    for path in LISTS:
        path, _, query = path.partition("?")
        answer = odd.get(path, params=dict([query.split("=")]) if query else {})
        assert answer.json() is not None, path
    listed = odd.get("/v1/records").json()["records"]
    readable = {one["id"] for one in listed if one["record"] is not None}
    assert {"OL-0", "OL-2"} <= readable
    assert len([one for one in listed if one.get("unreadable")]) >= 8
    assert odd.get("/v1/records/open_loop/OL-2").json()["record"]["odd"] == [1, None]
    assert len(odd.get("/v1/validate").json()["faulty"]) >= len(BAD) - 2


def test_sessions_can_still_begin_and_end(odd: Any) -> None:
    done = odd.post("/v1/boot", {"check_seconds": 0}).json()
    assert any("OL-1.toml" in one for one in done["problems"])
    odd.post("/v1/wrap", {"context": "on it"}, headers={"Baton-Session": done["session"]})
    odd.post("/v1/undo", {"revision": "~2"}, code=None)
    assert odd.get("/v1/status").json()["revision"] > 1
