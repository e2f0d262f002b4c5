"""The session and the agent of a call. The session is the one that the call names, that began on the connection, or
that the agent's CLI has; the agent is the client."""

from __future__ import annotations

import pytest
from mcp_client import talk


def agent_of(call, name, **client):
    from mcp.types import Implementation

    info = Implementation(name=name, version="1")
    call("followup_add", item="x", client={"client_info": info, **client})
    return call("log", limit=1)["commits"][0]["agent"]


@pytest.mark.parametrize(
    ("name", "agent"),
    [
        ("claude-code", "claude"),
        ("codex-mcp-client", "codex"),
        ("gemini-cli-mcp-client", "gemini"),
        ("gemini-cli-mcp-client-baton", "gemini"),
        ("somebody else", None),
    ],
)
def test_the_agent_comes_from_the_clients_name(call, era, name, agent):
    assert agent_of(call, name, mode=era) == agent


def test_an_explicit_agent_overrides_the_clients_name(call, monkeypatch):
    monkeypatch.setenv("BATON_AGENT", "zero")
    assert agent_of(call, "claude-code") == "zero"


def test_a_session_begins_with_the_restored_checkpoint_of_paif(call, baton, top):
    baton("checkpoint", "--agent", "zero", "--summary", "Isolated the namespaces")
    (top / ".claude").mkdir()
    (top / ".claude" / "CLAUDE.md").write_text(
        "```yaml\npaif_config:\n  agent_id: zero\n"
        "  session_protocol: {restore_on_start: true, checkpoint_on_exit: true}\n```\n"
    )
    begun = call("boot")
    assert "Restored from the last checkpoint" in begun["brief"]
    assert "Isolated the namespaces" in begun["brief"]
    ended = call("wrap", context="It stands", summary="Mended the parser")
    assert any("checkpoint" in line for line in ended["news"])
    assert "Mended the parser" in call("restore", agent="zero")["brief"]


def test_broken_settings_of_paif_are_reported_and_do_not_stop_a_session(call, top):
    (top / ".claude").mkdir()
    (top / ".claude" / "CLAUDE.md").write_text("```yaml\npaif_config: [\n```\n")
    assert any("CLAUDE.md" in line for line in call("boot", session="s1")["problems"])
    assert call("wrap", context="It stands")["session"] == "s1"


def test_the_options_of_the_command_hold_for_every_call(here, baton):
    from baton_git.interfaces.context.settings import CommonOptions

    asked = CommonOptions(namespace="other", session="s9", agent="zero", create=True)
    talk(lambda client: client.call_tool("followup_add", {"item": "x"}), asked=asked)
    (newest,) = baton("log", "--namespace", "other", "--limit", "1", "--json").json["commits"]
    assert (newest["session"], newest["agent"]) == ("s9", "zero")
