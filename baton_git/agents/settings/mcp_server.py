"""Find our MCP server in the settings of an agent CLI. Hooks use this module, so it imports few modules."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from baton_git.agents.registry import AGENTS, Scope

SERVER = "baton"
"""Name of our MCP server in the settings."""
MAX_SETTINGS = 4 << 20
"""Maximum size in bytes of a settings file; a larger file is not read."""


def find_server_file(agent: str, scope: Scope, root: Path, environment: Mapping[str, str]) -> Path | None:
    """Return the file with the MCP servers of a scope; None if only the CLI may write it.

    Args:
        root: the home directory, or the top of the work tree.
    """
    settings = AGENTS[agent].hooks
    if scope == "project":
        return root / settings.project_servers
    return settings.find_user_folder(root, environment) / settings.user_servers if settings.user_servers else None


def has_server(agent: str, home: Path, top: Path | None, environment: Mapping[str, str]) -> bool:
    """Whether the settings name our MCP server, whoever added it; False if they cannot be read."""
    roots: tuple[tuple[Scope, Path | None], ...] = (("user", home), ("project", top))
    return any(root is not None and find_server(agent, scope, root, environment) is not None for scope, root in roots)


def find_server(agent: str, scope: Scope, root: Path, environment: Mapping[str, str]) -> Any:
    """Return the settings of our MCP server, whoever added it; None if there are none or they cannot be read.

    Args:
        root: the home directory, or the top of the work tree.
    """
    path = find_server_file(agent, scope, root, environment) or root / AGENTS[agent].hooks.own_servers
    servers = _read_servers(path)
    return servers.get(SERVER) if isinstance(servers, dict) else None


def _read_servers(path: Path) -> Any:
    try:
        if not path.is_file() or path.stat().st_size > MAX_SETTINGS:
            return ()
        text = path.read_text(encoding="utf-8")
        if SERVER not in text:
            return ()
        data = _parse_toml(text) if path.suffix == ".toml" else json.loads(text)
        return data.get("mcp_servers") or data.get("mcpServers") or ()
    except (OSError, ValueError, AttributeError, RecursionError):
        return ()


def _parse_toml(text: str) -> dict[str, Any]:
    import tomllib  # few settings are TOML

    return tomllib.loads(text)
