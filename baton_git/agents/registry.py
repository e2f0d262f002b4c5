"""The registry of agent CLIs. To add one, create a folder that defines `CLI`, and add its name to `AGENTS`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from baton_git.agents.agent_cli import AgentCLI


class AgentRegistry(Mapping[str, AgentCLI]):
    """The agent CLIs by name; each is imported on first access, since a hook needs only one."""

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
"""All agent CLIs, in order of preference: the first installed one starts sessions when none is named.

To identify the sender of a payload or the writer of a transcript, the CLIs are tried in reverse order, because the
payloads and transcripts of the first one have the fewest distinguishing marks.
"""


def session_variables() -> dict[str, str]:
    """Return the environment variables that hold a session's id, each with the name of its agent."""
    return {variable: name for name, cli in AGENTS.items() for variable in cli.session_variables}


def find_agent_of_client(client: str) -> str | None:
    """Return the agent whose CLI reports this MCP client name; None for other clients."""
    return next((name for name, cli in AGENTS.items() if client.startswith(cli.mcp_client)), None)
