"""The turns of recorded conversations with the real CLIs (see `agent_clis/record.py`), compared with the truth."""

from __future__ import annotations

from pathlib import Path

import pytest
from turn_truths import TRUTHS, tell_turns, truths_of

from baton_git.agents.extraction.extracting import extract

RECORDED = Path(__file__).with_name("recorded")
CONVERSATIONS = sorted((folder.parent.name, folder.name.replace("-", " ")) for folder in RECORDED.glob("*/*"))


def newest(cli: str, name: str) -> Path:
    """Return the transcript in which a recorded conversation ends; a name begins with the time of its session."""
    files = sorted((RECORDED / cli / name.replace(" ", "-")).glob("*.jsonl"), key=lambda file: file.stat().st_size)
    return files[-1] if cli != "codex" else max(files)


def test_each_kind_of_conversation_is_recorded() -> None:
    assert {name for _, name in CONVERSATIONS} == set(TRUTHS)
    assert len(CONVERSATIONS) >= 30


@pytest.mark.parametrize(("cli", "name"), CONVERSATIONS, ids=lambda value: value)
def test_a_recorded_conversation_is_told_as_it_was(cli: str, name: str) -> None:
    truths = truths_of(cli, name)
    extraction = extract(newest(cli, name), has_ended=True)
    assert tell_turns(extraction.turns) == [truth for truth in truths if truth.on_path]
    left = [truth.prompt for truth in truths if not truth.on_path]
    assert [prompt for prompt in left if prompt in str(extraction.facts)] == []
