"""Fixtures for the tests of the command line: a repository with one record of each kind."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from folder_copies import FolderCopy
from session_snapshots import a_recording, a_snapshot
from transcript_sessions import SESSIONS
from world import ANYBODY

from baton_git.core.names import Namespace
from baton_git.core.records.conflict import Conflict
from baton_git.git.store import Repository, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.revision import CommitStamp

Baton = Callable[..., Any]


@pytest.fixture(scope="session")
def template() -> dict[str, FolderCopy]:
    """Return copies of the filled repository and the files next to it, which are created once."""
    return {}


@pytest.fixture
def top(
    request: pytest.FixtureRequest, tmp_path: Path, _first_commit: FolderCopy, template: dict[str, FolderCopy]
) -> Path:
    """Return the work tree as for every test, or a filled one if the test asks for `filled` and its copy exists
    already."""
    copy = template.get("work", _first_commit) if "filled" in request.fixturenames else _first_commit
    return copy.write(tmp_path / "work")


@pytest.fixture
def filled(baton: Baton, top: Path, template: dict[str, FolderCopy]) -> Path:
    """Fill the repository `top` with one record of each kind; return a folder with input files for commands."""
    folder = top.parent / "in"
    if template:
        template["in"].write(folder)
    else:
        fill(baton, top)
        folder.mkdir()
        write_input_files(folder, top)
        template |= {"work": FolderCopy.of(top), "in": FolderCopy.of(folder)}
    return folder


@pytest.fixture
def refill(top: Path, filled: Path, template: dict[str, FolderCopy]) -> Callable[[], None]:
    """Return a function that restores the repository and the folder of `filled`."""

    def copy_again() -> None:
        for copy, folder in ((template["work"], top), (template["in"], filled)):
            shutil.rmtree(folder)
            copy.write(folder)

    return copy_again


def write_input_files(folder: Path, top: Path) -> None:
    """Create the files that are passed to commands."""
    (folder / "baton.json").write_text('{"session_id": "doc", "context": "from a file"}')
    (folder / "handover.txt").write_text("SESSION_ID: run-1\ncurrent_challenge: find_slot\n")
    (folder / "broken.txt").write_text("current_challenge: find_slot\n")
    (folder / "checkpoints" / "zero").mkdir(parents=True)
    (folder / "checkpoints" / "zero" / "checkpoint-2026-04-04T18-34-00.json").write_text(CHECKPOINT)
    (folder / "snapshot.json").write_text(json.dumps(a_snapshot()))
    (folder / "recording.json").write_text(json.dumps(a_recording(a_snapshot(id_="recorded"))))
    (folder / "workflow.yaml").write_text(WORKFLOW)
    (top / ".baton" / "workflows").mkdir(parents=True)
    (top / ".baton" / "workflows" / "mine.yaml").write_text(WORKFLOW)
    (folder / "transcript.jsonl").write_bytes(SESSIONS["claude-2.1"][1])
    (folder / "wrong.json").write_text(json.dumps({**a_snapshot(), "aggregates": {"workerCount": 2}}))
    Repository.create_bare(folder / "remote.git")
    for side, status in (("base", "open"), ("ours", "verified"), ("theirs", "open")):
        (folder / side).write_text(LOOP.format(status))


CHECKPOINT = """\
{"metadata": {"agent_id": "zero", "session_id": "s", "started_at": "2026-04-04T18:04:00.000Z",
 "ended_at": "2026-04-04T18:34:00.000Z"}, "context": {"conversation_summary": "Isolated the namespaces"}}
"""
WORKFLOW = "triggers: {on_stop: [{action: notify, message: 'It stopped'}]}\n"
LOOP = 'id = "OL-1"\naction = "a"\nexpected_outcome = "b"\ncreated_at = "2026-11-21"\nstatus = "{}"\n'


def fill(baton: Baton, top: Path) -> None:
    baton("init")
    baton("boot", "--session", "s1", "--no-verify")
    baton("loop", "add", "Deployed it", "--expect", "it answers", "--id", "OL-1", "--verify-file", "readme")
    baton("followup", "add", "Refactor", "--id", "FU-1")
    baton("followup", "add", "Clean up", "--id", "FU-0")
    baton("followup", "done", "FU-0")
    baton("pattern", "record", "Assumed", "--id", "PAT-1", "--rule", "Look first")
    baton("pattern", "propose", "PAT-1", "--rule", "Look first")
    for number in ("1", "2"):
        baton("decision", "add", f"Use {number}", "--why", "because", "--id", f"DEC-{number}", "--tier", "raw_source")
    baton("handover", "step", "--session", "run-1", "--challenge", "resolve", "--uri", "kairos://1", "--index", "1")
    baton("identity", "init", "--agent", "zero", "--purpose", "Keep the memory")
    baton("checkpoint", "--agent", "zero", "--summary", "Isolated the namespaces")
    baton("session", "record", "baton:s1")
    baton("todo", "add", "Plan it", "--session", "s1")
    transcript = top.parent / "transcript.jsonl"
    transcript.write_bytes(SESSIONS["claude-2.1"][1])
    baton("handoff", "extract", str(transcript), "--keep", "--folder", str(top))
    create_conflict(top)


def create_conflict(top: Path) -> None:
    """Create the conflict C-1 about a field of the loop."""
    data = {"id": "C-1", "record_kind": "open_loop", "record_id": "OL-1", "field": "action", "winner": "ours"}
    conflict = Conflict.model_validate({**data, "ours": "Deployed it", "theirs": "Sent it"})
    with Store(Repository.open(top)) as store:
        stamp = CommitStamp("test", datetime(2026, 11, 21, tzinfo=UTC), "Ada <ada@example.org>", ANYBODY, "s1")
        Branch(store, Namespace("work")).update(lambda tip: tip.state.put(conflict), stamp)
