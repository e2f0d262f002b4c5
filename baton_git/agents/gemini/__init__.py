"""Gemini CLI, by Google."""

from baton_git.agents.registry import AgentCLI, AgentMarkers, HookPackage, SessionSource

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
