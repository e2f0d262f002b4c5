"""A transcript in an unknown format is reported, and is never treated as a session without facts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transcript_sessions import SESSIONS

from baton_git.agents.events import Tally
from baton_git.agents.extraction.extracting import Extraction, describe_misread, extract
from baton_git.agents.extraction.findings import Findings

KEYS = ("type", "message", "content", "role", "payload", "text", "item", "messages", "toolCalls", "sessionId")


def renamed(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return {("new" if name == key else name): renamed(item, key) for name, item in value.items()}
    return [renamed(item, key) for item in value] if isinstance(value, list) else value


def records_of(text: bytes) -> list[Any]:
    try:
        return [json.loads(line) for line in text.splitlines()]
    except ValueError:
        return [json.loads(text)]


def extracted(path: Path, agent: str, records: list[Any], **more: Any) -> Extraction:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return extract(path, agent, **more)


@pytest.mark.parametrize("name", SESSIONS)
def test_known_formats_are_understood_and_renamed_keys_are_noticed(tmp_path, name):
    agent, text = SESSIONS[name]
    records = records_of(text)
    assert extracted(tmp_path / "t.jsonl", agent, records).misread is None
    for key in KEYS:
        read = extracted(tmp_path / "t.jsonl", agent, [renamed(record, key) for record in records])
        assert read.facts.get("initial_goal") or "records seen" in (read.misread or ""), key


def test_the_counts_continue_where_an_earlier_reading_ended(tmp_path):
    path, memory = tmp_path / "t.jsonl", tmp_path / "memory"
    records = [renamed(record, "message") for record in records_of(SESSIONS["claude-2.1"][1])]
    extracted(path, "claude", records[:20], memory=memory)
    whole = extracted(path, "claude", records, memory=memory).misread
    assert whole == extract(path, "claude").misread == "records seen 34, understood 1"


@pytest.mark.parametrize(
    ("tally", "known", "message"),
    [
        (Tally(), Findings(), None),
        (Tally(3, 3), Findings(), None),  # opened and closed again
        (Tally(1, 0), Findings(), None),  # one new type of record
        (Tally(812, 0), Findings(), "records seen 812, understood 0"),
        (Tally(9, 8, 1), Findings(), "records seen 9, understood 8"),
        (Tally(60, 60), Findings(answers=9), "records seen 60, understood 60, but no prompt found"),
        (Tally(60, 60), Findings(bare_goal={"text": "x"}), "records seen 60, understood 60, but no answer found"),
        (Tally(60, 60), Findings(answers=9, kept_goal={"text": "x"}), None),
        (Tally(900, 100, 50), Findings(answers=1, goal={"text": "x"}), None),
    ],
)  # fmt: skip
def test_only_problems_that_hide_a_session_are_reported(tally, known, message):
    assert describe_misread(tally, known) == message
