"""The line after a brief that names the verbs for the agent to use."""

from __future__ import annotations

from baton_git.verbs.table import MODULES

HINTS = {
    "todo": ("add", "list"),
    "loop": ("add", "verify"),
    "followup": ("add", "done"),
    "decision": ("add",),
    "recall": (),
}
"""Verbs that store or look up facts for later sessions, by the first word of their names."""


def describe_verbs(*, as_tools: bool = False) -> str:
    """Return the line that names these verbs, as commands or as MCP tools; verbs that do not exist are left out."""
    hints = {word: verbs for word, verbs in HINTS.items() if word in MODULES}
    if as_tools:
        names = [f"{word}_{verb}" for word, verbs in hints.items() for verb in verbs]
        names += [word for word, verbs in hints.items() if not verbs]
        return f"To save and look up facts for later sessions, use the tools of baton: {', '.join(names)}."
    commands = [f"baton {word} {'/'.join(verbs) or 'QUESTION'}" for word, verbs in hints.items()]
    return f"To save and look up facts for later sessions: {', '.join(commands)} (all have --help)."
