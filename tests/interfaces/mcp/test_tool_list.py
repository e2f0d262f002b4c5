"""The content and size of the list of tools, which is part of every request to the model."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from mcp_client import talk

TOKENS = 2_500
BYTES_OF_A_TOKEN = 3.6
"""Tokenizers make one token of 3.8 to 4.5 bytes of compact JSON Schema in English; there is none here to ask, so it is
counted with less, and once more by pieces."""

READING = {
    "status", "ready", "read", "log", "diff", "recall", "todo_list", "handoff_show", "conflicts",
}  # fmt: skip
DESTROYING = {
    "wrap", "write", "loop_close", "followup_done", "pattern_propose", "pattern_dismiss", "pattern_graduate",
    "decision_supersede", "handover_clear", "resolve",
}  # fmt: skip
REPEATABLE = {
    "boot", "loop_verify", "verify", "decision_monitor", "todo_done", "handover_resume", "handoff_extract", "sync",
}  # fmt: skip
ADDING = {
    "loop_add", "followup_add", "followup_defer", "pattern_record", "decision_add", "todo_add", "checkpoint", "restore",
    "handover_step",
}  # fmt: skip


@pytest.fixture(scope="module")
def told() -> Any:
    """Return the response to tools/list as it is sent."""
    found = talk(lambda client: client.list_tools())
    return found.model_dump(by_alias=True, exclude_none=True, mode="json")


def pieces(text: str) -> int:
    """Return an upper estimate of the tokens: one for each 7 letters of a word (parts of camelCase are words), and one
    for each 3 digits or signs."""
    found = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d{1,3}|[^A-Za-z0-9\s]+", text)
    return sum(math.ceil(len(one) / (7 if one.isalpha() else 3)) for one in found)


def test_the_whole_list_costs_at_most_2500_tokens(told):
    text = json.dumps({"tools": told["tools"]}, ensure_ascii=False, separators=(",", ":"))
    assert len(text.encode()) / BYTES_OF_A_TOKEN <= TOKENS
    assert pieces(text) <= TOKENS


def test_every_tool_has_annotations_about_its_effect(told):
    natures = {tool["name"]: tool["annotations"] for tool in told["tools"]}
    assert {name for name, nature in natures.items() if nature.get("readOnlyHint")} == READING
    assert {name for name, nature in natures.items() if nature.get("destructiveHint")} == DESTROYING
    assert {name for name, nature in natures.items() if nature.get("idempotentHint")} == REPEATABLE
    assert {name for name, nature in natures.items() if nature == {"destructiveHint": False}} == ADDING
    assert natures.keys() == READING | DESTROYING | REPEATABLE | ADDING


def test_every_tool_has_a_short_description(told):
    for tool in told["tools"]:
        assert 10 < len(tool["description"]) < 120, tool
        schema = tool["inputSchema"]
        assert schema["type"] == "object"
        assert {"ctx", "found", "answer", "session"} & schema["properties"].keys() == set()
        for one in schema["properties"].values():
            assert one.keys() <= {"type", "description", "enum", "items"}
            assert "null" not in json.dumps(one)


def test_only_arguments_of_any_type_have_no_schema_type(told):
    untyped = [
        (tool["name"], name)
        for tool in told["tools"]
        for name, one in tool["inputSchema"]["properties"].items()
        if "type" not in one
    ]
    assert untyped == [("resolve", "value")]


def test_the_page_about_mcp_lists_every_tool(told: Any) -> None:
    page = (Path(__file__).parents[3] / "docs/mcp.md").read_text(encoding="utf-8")
    table = page.partition("## Tools")[2].partition("The annotations")[0]
    assert sorted(re.findall(r"`(\w+)`", table)) == sorted(tool["name"] for tool in told["tools"])
    assert f"{len(told['tools'])} tools" in table
