"""Codex CLI, by OpenAI."""

from collections.abc import Mapping
from typing import Any

from baton_git.agents.registry import AgentCLI, AgentMarkers, Hook, HookPackage, HookSettings, SessionSource


def _is_from_codex(data: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    path = data.get("transcript_path")
    path = path if isinstance(path, str) and "\0" not in path else ""
    return "/.codex/" in path or path.rpartition("/")[2].startswith("rollout-") or "turn_id" in data


CLI = AgentCLI(
    name="codex",
    title="Codex CLI",
    package=HookPackage(
        "plugin",
        "codex plugin marketplace add {0} && codex plugin add baton@baton-git",
        "plugins/cache/*/baton/*/hooks/hooks.json",
        "codex plugin add baton@baton-git",
    ),
    source=SessionSource("codex-rollout", "codex", "codex-cli"),
    mcp_client="codex-mcp-client",
    installed="Codex skips hooks until you trust them: run /hooks in codex, or baton agents install codex --trust",
    markers=AgentMarkers(
        # not CODEX_HOME and CODEX_API_KEY, because users set them
        ("CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_CI"),
        ("codex",),
        ("/@openai/codex/",),
    ),
    hooks=HookSettings(
        program="codex",
        folder=".codex",
        file="hooks.json",
        folder_variable="CODEX_HOME",
        skills=".agents/skills",
        project_servers=".codex/config.toml",
        user_servers="config.toml",
        hooks=(
            Hook("SessionStart", 10, "startup|resume|clear|compact|fork"),
            Hook("UserPromptSubmit", 10),
            Hook("PreCompact", 20, "manual|auto"),
            Hook("Stop", 10),
            Hook("SessionEnd", 3),  # Codex allows no more
        ),
    ),
    session_variables=("CODEX_THREAD_ID", "CODEX_SESSION_ID"),
    is_sender=_is_from_codex,
    end_seconds=2.2,  # Codex kills a SessionEnd hook after 3 seconds, and the installed hook line kills baton after 2.5
    folder_in_transcript=True,
    must_trust_hooks=True,
    hooks_of_main_tree=True,
    permission_arguments="--sandbox workspace-write",
)
