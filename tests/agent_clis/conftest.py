"""The agents of the tests: each installed CLI, with its own project and a scripted model."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_clis.agent import Agent
from agent_clis.clis import CLIS, Cli, Place
from agent_clis.model_server import serving

INSTALLED = Path(os.environ.get("BATON_AGENT_CLIS", "/nonexistent"))
"""The folder into which npm installed the CLIs. Read on import, before `tests/conftest.py` hides the environment."""


@pytest.fixture(params=list(CLIS))
def cli(request: pytest.FixtureRequest) -> Cli:
    """Each of the three CLIs."""
    return CLIS[request.param]()


@pytest.fixture
def agent(cli: Cli, tmp_path: Path, top: Path) -> Iterator[Agent]:
    """A CLI that works in the repository `top`."""
    path = f"{INSTALLED / 'node_modules/.bin'}:{os.environ['PATH']}"
    programs = [INSTALLED / "node_modules/.bin" / cli.name, shutil.which("node", path=path), shutil.which("tmux")]
    if not all(program and Path(program).exists() for program in programs):
        pytest.skip(f"{cli.name} not installed here (npm; see tests/agent_clis/__init__.py)")
    with serving(cli.wire) as model:
        place = Place(tmp_path / "home", top, model.url)
        place.home.mkdir()
        cli.configure(place)
        agent = Agent(cli, place, model, INSTALLED)
        # Codex's shell reads this file after the machine's profile, which resets PATH
        (place.home / ".profile").write_text(f"export PATH={shlex.quote(agent.environment['PATH'])}\n")
        yield agent
