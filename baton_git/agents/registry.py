"""The registry of agents' CLIs: a new one is a folder with its `CLI`, and its name in `AGENTS` here."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from baton_git.agents.agent_cli import AgentCLI


class AgentRegistry(Mapping[str, AgentCLI]):
    """The agents' CLIs by name; each is loaded when it is asked for, as a hook needs only one."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __getitem__(self, name: str) -> AgentCLI:
        if name not in self._names:
            raise KeyError(name)
        cli: AgentCLI = importlib.import_module(f"baton_git.agents.{name}").CLI
        return cli

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._names)

    def __len__(self) -> int:
        return len(self._names)


AGENTS = AgentRegistry("claude", "codex", "gemini")
"""In the order in which people choose: the first one that is installed starts sessions where nobody says which.

Where payloads and transcripts have to be told apart, the last one is asked first: those of the first say the least.
"""


def session_variables() -> dict[str, str]:
    """The environment variables that name a session to the programs that an agent starts, and whose they are."""
    return {variable: name for name, cli in AGENTS.items() for variable in cli.session_variables}


def agent_of_client(client: str) -> str | None:
    """The agent whose CLI calls itself so as a client of MCP."""
    return next((name for name, cli in AGENTS.items() if client.startswith(cli.mcp_client)), None)
