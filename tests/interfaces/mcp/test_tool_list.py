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
"""A tokenizer makes one token of 3.8 to 4.5 bytes of compact JSON Schema in English. The tests have no tokenizer:
they count fewer bytes for a token, and estimate a second time with `pieces`."""

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
def tool_list() -> Any:
    """Return the response to tools/list as it is sent."""
    found = talk(lambda client: client.list_tools())
    return found.model_dump(by_alias=True, exclude_none=True, mode="json")


def pieces(text: str) -> int:
    """Return an upper estimate of the tokens: one for each 7 letters of a word (parts of camelCase are words), and one
    for each 3 digits or signs."""
    found = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d{1,3}|[^A-Za-z0-9\s]+", text)
    return sum(math.ceil(len(one) / (7 if one.isalpha() else 3)) for one in found)


def test_the_whole_list_costs_at_most_2500_tokens(tool_list):
    text = json.dumps({"tools": tool_list["tools"]}, ensure_ascii=False, separators=(",", ":"))
    assert len(text.encode()) / BYTES_OF_A_TOKEN <= TOKENS
    assert pieces(text) <= TOKENS


def test_every_tool_has_annotations_about_its_effect(tool_list):
    annotations = {tool["name"]: tool["annotations"] for tool in tool_list["tools"]}
    assert {name for name, annotation in annotations.items() if annotation.get("readOnlyHint")} == READING
    assert {name for name, annotation in annotations.items() if annotation.get("destructiveHint")} == DESTROYING
    assert {name for name, annotation in annotations.items() if annotation.get("idempotentHint")} == REPEATABLE
    assert {name for name, annotation in annotations.items() if annotation == {"destructiveHint": False}} == ADDING
    assert annotations.keys() == READING | DESTROYING | REPEATABLE | ADDING


def test_every_tool_has_a_short_description(tool_list):
    for tool in tool_list["tools"]:
        assert 10 < len(tool["description"]) < 120, tool
        schema = tool["inputSchema"]
        assert schema["type"] == "object"
        assert {"ctx", "found", "answer", "session"} & schema["properties"].keys() == set()
        for one in schema["properties"].values():
            assert one.keys() <= {"type", "description", "enum", "items"}
            assert "null" not in json.dumps(one)


def test_only_arguments_of_any_type_have_no_schema_type(tool_list):
    untyped = [
        (tool["name"], name)
        for tool in tool_list["tools"]
        for name, one in tool["inputSchema"]["properties"].items()
        if "type" not in one
    ]
    assert untyped == [("resolve", "value")]


def test_the_page_about_mcp_lists_every_tool(tool_list: Any) -> None:
    page = (Path(__file__).parents[3] / "docs/mcp.md").read_text(encoding="utf-8")
    table = page.partition("## Tools")[2].partition("The annotations")[0]
    assert sorted(re.findall(r"`(\w+)`", table)) == sorted(tool["name"] for tool in tool_list["tools"])
    assert f"{len(tool_list['tools'])} tools" in table
