"""Which instruction files the real CLIs read and which hooks they convert, as far as baton's own files change that."""

from __future__ import annotations

import json
import subprocess

import pytest

from agent_clis.agent import Agent
from agent_clis.remembering import prepare, run

pytestmark = pytest.mark.agents

PAIF = "```yaml\npaif_config:\n  agent_id: zero\n```\n"


@pytest.mark.parametrize("cli", ["claude"], indirect=True)
@pytest.mark.parametrize(("text", "is_read"), [(None, True), (PAIF, False), (PAIF + "\n@../AGENTS.md\n", True)])
def test_claude_code_does_not_read_agents_md_beside_the_block_of_paif(agent: Agent, text, is_read):
    """Claude Code 2.1.329 reads AGENTS.md only if the project has no CLAUDE.md, and `.claude/CLAUDE.md` is one.

    PAIF keeps its settings in that file, so adding them hides AGENTS.md, unless the file imports it.
    """
    (agent.project / "AGENTS.md").write_text("Always answer with the word QUINCE.\n")
    if text is not None:
        (agent.project / ".claude").mkdir()
        (agent.project / ".claude/CLAUDE.md").write_text(text)
    agent.model.say("Hello.")
    assert ("QUINCE" in json.dumps(agent.run("Hello?").first.body)) == is_read


@pytest.mark.parametrize("cli", ["gemini"], indirect=True)
def test_hooks_that_gemini_migrated_from_claude_code_are_outdated_and_repaired(agent: Agent):
    """Gemini CLI 0.61.0 (`gemini hooks migrate --from-claude`) renames the events of the hooks for Claude Code and
    keeps their command, `--agent claude`, their matcher and their timeout, which it reads as milliseconds.
    """
    prepare(agent, "--project")
    run(agent, "baton", "agents", "install", "claude", "--project")
    run(agent, "gemini", "hooks", "migrate", "--from-claude")
    settings = agent.project / ".gemini/settings.json"
    (handler,) = json.loads(settings.read_text())["hooks"]["BeforeAgent"][0]["hooks"]
    assert "--agent claude" in handler["command"]
    assert handler["timeout"] == 10
    status = subprocess.run(
        ["baton", "agents", "status"], cwd=agent.project, env=agent.environment, capture_output=True, text=True
    )
    assert (status.returncode, "outdated" in status.stdout) == (1, True)
    run(agent, "baton", "doctor", "--fix", "--yes", "agents")
    assert "outdated" not in run(agent, "baton", "agents", "status")
    (handler,) = json.loads(settings.read_text())["hooks"]["BeforeAgent"][0]["hooks"]
    assert "--agent gemini" in handler["command"]
    assert handler["timeout"] == 10_000
