"""An agent whose CLI calls baton, in a repository with a namespace, and helpers to query both."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from agent_clis.agent import Agent
from agent_clis.model_server import Request
from agent_clis.wires import Say, Shell, Write

GOAL = "Please make a program that greets"
FILE = "greet.py"
TODO = "Write the tests of the greeter"


def run(agent: Agent, *argv: str, cwd: Path | None = None) -> str:
    """Run a program in the agent's project and return its output.

    Raises:
        AssertionError: it failed.
    """
    done = subprocess.run(
        argv, cwd=cwd or agent.project, env=agent.environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, f"{argv}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


def baton_json(agent: Agent, *words: str) -> Any:
    """Run baton and return its JSON output."""
    return json.loads(run(agent, "baton", *words, "--json"))


def prepare(agent: Agent, scope: str = "--user") -> None:
    """Create the namespace and install the hooks."""
    run(agent, "baton", "init")
    run(agent, "baton", "agents", "install", agent.cli.name, scope)


def script_work(agent: Agent) -> None:
    """Script a turn that writes a file, records the remaining work, and commits. The caller adds the final answer."""
    agent.model.play(Say("I begin."), Write(str(agent.project / FILE), 'def greet():\n    return "hello"\n'))
    agent.model.play(Shell(f"baton todo add '{TODO}'"))
    agent.model.play(Shell(f"git add {FILE} && git commit -m 'Add a greeter'"))


def head(agent: Agent) -> str:
    return run(agent, "git", "rev-parse", "--short", "HEAD")


def briefs(request: Request) -> list[str]:
    """Return the briefs in a request to the model, each as often as it occurs."""
    return re.findall(r"=== [^\n]* ===\n.*?=== end of brief [^\n]* ===", request.conversation, re.DOTALL)


def new_brief(request: Request, before: Request) -> list[str]:
    """Return the briefs of a request that an earlier one of the same conversation did not have."""
    old = briefs(before)
    return [brief for brief in briefs(request) if brief not in old]


def sessions(agent: Agent) -> dict[str, dict[str, Any]]:
    """Return the records of sessions in the namespace, by id."""
    branch = f"baton/{agent.project.name}"
    files = run(agent, "git", "ls-tree", "--name-only", branch, "sessions/").splitlines()
    return {Path(file).stem: tomllib.loads(run(agent, "git", "show", f"{branch}:{file}")) for file in files}


def troubles(agent: Agent) -> str:
    """Return the problems that hooks logged.

    Timeouts are left out: they occur on a busy machine, and the next hook saves what was not saved.
    """
    log = agent.project / ".git/baton/agents.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return "\n".join(line for line in lines if "the hook was stopped after" not in line)


def plug_in(agent: Agent) -> tuple[str, ...]:
    """Add baton's plugin or extension as its CLI expects it; return the options that a run then needs."""
    run(agent, "baton", "init")
    folder = run(agent, "baton", "agents", "package", agent.cli.name)
    if agent.cli.name == "claude":
        return ("--plugin-dir", folder)
    if agent.cli.name == "codex":
        run(agent, "codex", "plugin", "marketplace", "add", folder)
        run(agent, "codex", "plugin", "add", "baton@baton-git")
    else:
        run(agent, "gemini", "extensions", "install", folder, "--consent")
    return ()
