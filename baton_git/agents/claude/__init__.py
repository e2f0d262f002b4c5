"""Claude Code, by Anthropic."""

from baton_git.agents.registry import AgentCLI, AgentMarkers, HookPackage, Retention, SessionSource

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
