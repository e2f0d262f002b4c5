"""Claude Code, by Anthropic."""

from collections.abc import Iterator, Mapping
from typing import Any

from baton_git.agents.registry import AgentCLI, AgentMarkers, Hook, HookPackage, HookSettings, Retention, SessionSource


def _find_switches(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield a description of each setting that switches hooks off."""
    for name in ("disableAllHooks", "allowManagedHooksOnly"):
        if settings.get(name) is True:
            yield f"{name} switches hooks off"


CLI = AgentCLI(
    name="claude",
    title="Claude Code",
    package=HookPackage(
        "plugin",
        "claude plugin marketplace add {0} && claude plugin install baton@baton-git",
        "plugins/cache/*/baton/*/hooks/hooks.json",
        "claude plugin update baton@baton-git",
    ),
    source=SessionSource("claude-jsonl", "claude-jsonl", "claude-code"),
    mcp_client="claude-code",
    installed="Claude Code calls baton from its next session on",
    markers=AgentMarkers(
        ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDE_CODE_ENTRYPOINT"), ("claude",),
        ("/@anthropic-ai/claude-code/",),  # with `cli.js`
    ),
    hooks=HookSettings(
        program="claude",
        folder=".claude",
        file="settings.json",
        folder_variable="CLAUDE_CONFIG_DIR",
        project_servers=".mcp.json",
        own_servers=".claude.json",
        add_server="claude mcp add --scope user",
        hooks=(
            Hook("SessionStart", 10, "startup|resume|clear|compact|fork"),
            Hook("UserPromptSubmit", 10),
            Hook("PreCompact", 20, "manual|auto"),
            Hook("Stop", 10),
            Hook("SessionEnd", 10),  # by default, Claude Code gives it only 1.5 seconds
        ),
        find_switches=_find_switches,
    ),
    session_variables=("CLAUDE_CODE_SESSION_ID",),
    folder_variables=("CLAUDE_PROJECT_DIR",),
    process_variable="CLAUDE_PID",
    env_file_variable="CLAUDE_ENV_FILE",
    private_variables=(
        "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_ENV_FILE",
        "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_EFFORT", "CLAUDE_PLUGIN_*",
    ),
    # Enables the todo tools, which newer models do not have by default (since 2.1.233).
    todo_variables={"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"},
    switch_files=("settings.json", "settings.local.json"),
    managed_files=("/etc/claude-code/managed-settings.json",),
    retention=Retention("settings.json", "cleanupPeriodDays", 30),
    is_sender=lambda data, environment: True,  # its payloads have no mark, so the other CLIs are tried first
    main_switch_files=("settings.local.json",),
    reads_project_where_it_starts=True,
    trusts_projects=True,
    permission_arguments="--permission-mode acceptEdits",
)  # fmt: skip
