"""An agent whose CLI calls baton, in a repository with a namespace; and what is asked of both."""

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
    """What a program prints in the agent's project.

    Raises:
        AssertionError: it failed.
    """
    where = cwd or agent.project
    done = subprocess.run(argv, cwd=where, env=agent.environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{argv}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


def asked(agent: Agent, *words: str) -> Any:
    """What baton answers in JSON."""
    return json.loads(run(agent, "baton", *words, "--json"))


def prepare(agent: Agent, scope: str = "--user") -> None:
    """Makes the namespace and installs the hooks."""
    run(agent, "baton", "init")
    run(agent, "baton", "agents", "install", agent.cli.name, scope)


def plan(agent: Agent) -> None:
    """The script of a turn that edits a file, notes what is left to do, and commits; its last words are not in it."""
    agent.model.play(Say("I begin."), Write(str(agent.project / FILE), 'def greet():\n    return "hello"\n'))
    agent.model.play(Shell(f"baton todo add '{TODO}'"))
    agent.model.play(Shell(f"git add {FILE} && git commit -m 'Add a greeter'"))


def head(agent: Agent) -> str:
    return run(agent, "git", "rev-parse", "--short", "HEAD")


def briefs(request: Request) -> list[str]:
    """What baton gave to the model, each as often as it stands in the request."""
    return re.findall(r"=== [^\n]* ===\n.*?=== end of brief [^\n]* ===", request.conversation, re.DOTALL)


def new_brief(request: Request, before: Request) -> list[str]:
    """The briefs of a request which an earlier one of the same conversation did not have."""
    old = briefs(before)
    return [one for one in briefs(request) if one not in old]


def sessions(agent: Agent) -> dict[str, dict[str, Any]]:
    """The records of sessions in the namespace, by their ids."""
    branch = f"baton/{agent.project.name}"
    files = run(agent, "git", "ls-tree", "--name-only", branch, "sessions/").splitlines()
    return {Path(file).stem: tomllib.loads(run(agent, "git", "show", f"{branch}:{file}")) for file in files}


def troubles(agent: Agent) -> str:
    """What hooks had to complain of; not that a busy machine gave them no time: the next one makes up for it."""
    log = agent.project / ".git/baton/agents.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return "\n".join(line for line in lines if "it took too long" not in line)


def plug_in(agent: Agent) -> tuple[str, ...]:
    """Adds baton's plugin or extension as its CLI has it; gives the options that a run needs then."""
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
