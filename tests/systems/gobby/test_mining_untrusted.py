"""`baton mine` with malformed and hostile files: it ends, reports these files, and imports the others."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transcript_sessions import SESSIONS
from world import NOW, on_machine

from baton_git.agents.mining.candidates import Candidate, MiningProgress, ProjectFolders
from baton_git.agents.mining.evidence import MAX_COMMITS, Evidence, find_evidence
from baton_git.core.records.handoff import Handoff
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.sessions.mining import Mine, mine

PLACES = {"claude": ".claude/projects/x/{}.jsonl", "codex": ".codex/sessions/rollout-{}.jsonl",
          "gemini": ".gemini/tmp/x/chats/session-{}.jsonl"}  # fmt: skip
NUMBERS = count()
NAMES = ("s", "a b", "-", "é" * 90, ".x")


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, bytes]:
    """Draw a transcript of any agent with some of its bytes replaced, repeated, or cut off."""
    agent, text = SESSIONS[draw(st.sampled_from(sorted(SESSIONS)))]
    for _ in range(draw(st.integers(0, 6))):
        at, length = draw(st.integers(0, len(text))), draw(st.integers(0, 400))
        new = draw(st.sampled_from([b"", b"null", b"[]", b"{}", b'"', b"\\ud800", b"\xff", b"\n", b"1e999", b"[" * 300])
                   | st.binary(max_size=20) | st.just(text[at : at + length] * 2))  # fmt: skip
        text = text[:at] + new + text[at + length :]
    return agent, text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(mutated(), st.sampled_from(NAMES))
def test_mutated_transcripts_are_stored_or_reported(
    ws: Workspace, tmp_path: Path, case: tuple[str, bytes], name: str
) -> None:
    agent, text = case
    home = tmp_path / str(next(NUMBERS))
    path = home / PLACES[agent].format(name)
    path.parent.mkdir(parents=True)
    path.write_bytes(text)
    result = mine(on_machine(ws, home), NOW, Mine(all_projects=True))
    assert len(result.imported) + result.known + result.empty + len(result.problems) >= (agent == "claude")
    state = ws.branch.read().state
    assert all(state.get(Handoff, session.id) for session in result.imported)
    again = mine(on_machine(ws, home), NOW, Mine(all_projects=True))
    assert (again.imported, again.revision) == ([], result.revision)


@given(
    st.binary(max_size=3000)
    | st.lists(st.sampled_from([b"[", b"main ", b"1234567", b"] Add", b'"', b"a" * 300])).map(b"".join)
)
def test_any_bytes_can_be_searched_for_evidence(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("evidence") / "t"
    path.write_bytes(content)
    evidence = find_evidence(path)
    assert len(evidence.commits) <= MAX_COMMITS
    assert isinstance(evidence, Evidence)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(max_size=40).map("/".__add__) | st.sampled_from(["", "x", "/" + "a" * 5000, "/\0", "/..", "//", "/\udcff"])
)
def test_any_folder_can_be_judged(ws: Workspace, folder: str) -> None:
    folders = ProjectFolders(ws.branch.store.repository, None, {"PATH": os.environ["PATH"]}, ["/gone"])
    assert folders.judge(folder).verdict in ("elsewhere", "unclear")


@pytest.mark.parametrize(
    "content",
    [b"\xff", b"[]\n{}\n", b'{"format": 1, "program": 1, "file": [], "note": 1}\n', b"[" * 100_000, b'{"a": 1}' * 9],
)
def test_damaged_mining_progress_counts_as_empty(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_bytes(content)
    candidate = Candidate("claude", tmp_path / "t", "s", None, None, 1, 2, 3, 4)
    notes = MiningProgress(file)
    assert notes.note(candidate) == {}
    notes.add(candidate, stored=True)
    assert MiningProgress(file).note(candidate) == {"stored": True}
    assert MiningProgress(file).note(candidate._replace(size=5)) == {}


def test_a_time_in_the_future_does_not_make_a_session_the_last_one(ws: Workspace, tmp_path: Path) -> None:
    path = tmp_path / PLACES["claude"].format("a")
    path.parent.mkdir(parents=True)
    path.write_bytes(SESSIONS["claude-2.1"][1].replace(b"2026-", b"9026-"))
    (session,) = mine(on_machine(ws, tmp_path), NOW, Mine(all_projects=True)).imported
    assert datetime.fromisoformat(session.ended) == NOW.astimezone(UTC)
