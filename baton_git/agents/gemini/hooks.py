"""The hooks of Gemini CLI: `settings.json`, milliseconds. Matchers are compared as they are, so there is none."""

from baton_git.agents.hook_settings import Hook, HookSettings

SETTINGS = HookSettings(
    program="gemini",
    folder=".gemini",
    file="settings.json",
    home_variable="GEMINI_CLI_HOME",
    comments=True,
    name="baton",
    unit=1000,
    hooks=(
        Hook("SessionStart", 10_000),
        Hook("BeforeAgent", 10_000),
        Hook("AfterAgent", 10_000),
        Hook("PreCompress", 10_000),
        Hook("SessionEnd", 10_000),
    ),
)
