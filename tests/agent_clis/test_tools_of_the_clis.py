"""Real CLIs with `baton mcp` as a tool server over stdio, called by a scripted model.

Codex is left out: `codex exec` 0.169 offers a scripted model no tools of MCP servers.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from agent_clis.agent import Agent
from agent_clis.clis import CLIS, Cli, add_json
from agent_clis.remembering import baton_json, run
from agent_clis.wires import Anthropic, Gemini, Wire

pytestmark = pytest.mark.agents

SERVER = {"command": "baton", "args": ["mcp"]}
ITEM = "Mend the door of the shed"


@dataclass(frozen=True)
class Call:
    """The model calls a tool of baton."""

    tool: str
    arguments: dict[str, Any]


class ClaudesTools(Anthropic):
    def _block(self, action: Any) -> Any:
        if not isinstance(action, Call):
            return super()._block(action)
        start = {"type": "tool_use", "id": f"toolu_{action.tool}", "name": f"mcp__baton__{action.tool}", "input": {}}
        return start, {"type": "input_json_delta", "partial_json": json.dumps(action.arguments)}


class GeminisTools(Gemini):
    def _part(self, action: Any) -> Any:
        if not isinstance(action, Call):
            return super()._part(action)
        return {"functionCall": {"name": f"mcp_baton_{action.tool}", "args": action.arguments}}


WIRES: dict[str, Callable[[], Wire]] = {"claude": ClaudesTools, "gemini": GeminisTools}


@pytest.fixture(params=list(WIRES))
def cli(request: pytest.FixtureRequest) -> Cli:
    """Each of the CLIs, with a model that can call baton's tools."""
    chosen = CLIS[request.param]()
    chosen.wire = WIRES[request.param]()
    return chosen


def with_tools(agent: Agent) -> tuple[str, ...]:
    """Configure `baton mcp` as the CLI expects it; return the options that a run then needs."""
    run(agent, "baton", "init")
    home = agent.place.home
    if agent.cli.name == "claude":
        add_json(home / "mcp.json", {"mcpServers": {"baton": SERVER}})
        return ("--mcp-config", str(home / "mcp.json"), "--allowedTools", "mcp__baton")
    add_json(home / ".gemini/settings.json", {"mcpServers": {"baton": {**SERVER, "trust": True}}})
    return ()


def record(agent: Agent) -> dict[str, Any]:
    """Return the follow-up on the branch."""
    branch = f"baton/{agent.project.name}"
    (file,) = run(agent, "git", "ls-tree", "-r", "--name-only", branch, "follow_ups/").splitlines()
    return tomllib.loads(run(agent, "git", "show", f"{branch}:{file}"))


def test_records_made_by_the_models_tools_are_on_the_branch(agent):
    options = with_tools(agent)
    agent.model.play(Call("boot", {"session": "of-the-test"}))
    agent.model.play(Call("followup_add", {"item": ITEM, "reason": "it rains"}))
    ran = agent.run("Note it", options=options)
    assert record(agent)["item"] == ITEM
    (newest,) = baton_json(agent, "log", "--limit", "1")["commits"]
    assert newest["agent"] == agent.cli.name
    assert record(agent)["id"] in ran.requests[-1].conversation


def test_the_model_gets_the_error_of_its_call(agent):
    options = with_tools(agent)
    agent.model.play(Call("loop_verify", {"id": "OL-nope", "result": "passed"}))
    ran = agent.run("Check it", options=options)
    assert "there is no open loop 'OL-nope'" in ran.requests[-1].conversation


def test_a_model_cannot_make_a_rule(agent):
    options = with_tools(agent)
    run(agent, "baton", "pattern", "record", "Assumed", "--id", "PAT-1")
    run(agent, "baton", "pattern", "propose", "PAT-1", "--rule", "Look first")
    agent.model.play(Call("pattern_graduate", {"id": "PAT-1"}))
    ran = agent.run("Make it a rule", options=options)
    assert "only when a person confirms it" in ran.requests[-1].conversation
    assert baton_json(agent, "read")["baton"]["patterns"][0]["status"] == "rule_candidate"
