"""The settings with which an agent CLI runs our hooks: the file, the events and their entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

MARGIN = 0.5
"""Seconds by which a hook ends before the timeout of its CLI."""


class Hook(NamedTuple):
    """One hook event. `timeout` is in the CLI's own unit; without a `matcher` every cause counts."""

    event: str
    timeout: int
    matcher: str | None = None


class HookSettings(NamedTuple):
    """Where an agent CLI keeps its hooks, and which hooks we install.

    Attributes:
        program: what the CLI is called on the PATH.
        folder: its folder in the home directory, and in a work tree.
        file: the file in that folder.
        folder_variable: names the folder itself, where it is not in the home directory.
        home_variable: names what stands for the home directory.
        comments: whether the file may have comments.
        name: what the CLI calls the hook, where hooks have names.
        unit: how much of a `timeout` is a second.
        skills: where the CLI finds skills, in the home or the work tree; empty: in `skills` of its own folder.
        project_servers: the file with the MCP servers of a work tree, below its top.
        user_servers: that of the user, in the CLI's own folder; empty where only the CLI itself writes it.
        own_servers: the file that the CLI writes then, in the home; and `add_server` the command that has it do so.
    """

    program: str
    folder: str
    file: str
    hooks: tuple[Hook, ...]
    folder_variable: str = ""
    home_variable: str = ""
    comments: bool = False
    name: str | None = None
    unit: int = 1
    skills: str = ""
    project_servers: str = ""
    user_servers: str = ""
    own_servers: str = ""
    add_server: str = ""

    def groups(self, line: Callable[[float], str]) -> dict[str, dict[str, Any]]:
        """Return, by event, the entry that makes the CLI run our line within the event's timeout."""
        return {hook.event: self._group(hook, line(hook.timeout / self.unit - MARGIN)) for hook in self.hooks}

    def _group(self, hook: Hook, command: str) -> dict[str, Any]:
        name = {"name": self.name} if self.name else {}
        handler = {**name, "type": "command", "command": command, "timeout": hook.timeout}
        return {**({"matcher": hook.matcher} if hook.matcher else {}), "hooks": [handler]}
