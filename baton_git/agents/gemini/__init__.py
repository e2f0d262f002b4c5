"""Gemini CLI, by Google."""

from collections.abc import Iterator, Mapping
from typing import Any

from baton_git.agents.registry import AgentCLI, AgentMarkers, Hook, HookPackage, HookSettings, SessionSource


def _find_switches(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield a description of each setting that switches our hooks off."""
    config = settings.get("hooksConfig")
    if not isinstance(config, dict):
        return
    if config.get("enabled") is False:
        yield "hooksConfig.enabled switches hooks off"
    disabled = config.get("disabled")
    if isinstance(disabled, list) and "baton" in disabled:
        yield "hooksConfig.disabled names baton: /hooks enable baton in gemini"


CLI = AgentCLI(
    name="gemini",
    title="Gemini CLI",
    package=HookPackage(
        "gemini-extension",
        "gemini extensions install {0}",
        "extensions/baton/hooks/hooks.json",
        "gemini extensions update baton",
    ),
    source=SessionSource("gemini-chat", "gemini", "gemini-cli"),
    mcp_client="gemini-cli-mcp-client",
    installed="Gemini CLI calls baton from its next session on",
    markers=AgentMarkers(("GEMINI_CLI", "GEMINI_SESSION_ID"), ("gemini",), ("/@google/gemini-cli/",)),
    hooks=HookSettings(
        program="gemini",
        folder=".gemini",
        file="settings.json",
        home_variable="GEMINI_CLI_HOME",
        comments=True,
        name="baton",
        unit=1000,
        skills=".agents/skills",
        project_servers=".gemini/settings.json",
        user_servers="settings.json",
        # in milliseconds; a matcher would be an exact string, not a pattern
        hooks=(
            Hook("SessionStart", 10_000),
            Hook("BeforeAgent", 10_000),
            Hook("AfterAgent", 10_000),
            Hook("PreCompress", 10_000),
            Hook("SessionEnd", 10_000),
        ),
        find_switches=_find_switches,
    ),
    session_variables=("GEMINI_SESSION_ID",),
    folder_variables=("GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"),
    private_variables=("GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR", "GEMINI_CWD", "GEMINI_PLANS_DIR"),
    switch_files=("settings.json",),
    managed_files=("/etc/gemini-cli/settings.json",),
    is_sender=lambda data, environment: "timestamp" in data or "GEMINI_SESSION_ID" in environment,
    empty_reply="{}",  # Gemini shows stderr to the user if stdout is empty
    loses_start_context=True,  # after /clear; with -p, when a resume loses the prompt with the context before it
    compacts_unannounced=True,
    reads_project_where_it_starts=True,
    permission_arguments="--approval-mode auto_edit",
)
