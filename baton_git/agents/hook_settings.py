"""The settings with which an agent CLI runs our hooks: the file, the events and their entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

Scope = Literal["user", "project"]

MARGIN = 0.5
"""The number of seconds by which our time limit for a hook is shorter than the timeout of its CLI."""


class Hook(NamedTuple):
    """One hook event. `timeout` is in the CLI's own unit; without a `matcher` the hook runs for every cause."""

    event: str
    timeout: int
    matcher: str | None = None


class HookSettings(NamedTuple):
    """Where an agent CLI keeps its hooks, and which hooks we install.

    Attributes:
        program: the name of the CLI's executable.
        folder: the CLI's folder in the home directory and in a work tree.
        file: the settings file in that folder.
        folder_variable: the environment variable that moves the folder elsewhere.
        home_variable: the environment variable that replaces the home directory.
        comments: whether the file may contain comments.
        name: the name of our hook, for CLIs in which hooks have names.
        unit: how many units of `timeout` are one second.
        skills: the folder of skills below the home directory or the work tree; empty: `skills` in the CLI's own folder.
        project_servers: the file with a work tree's MCP servers, relative to its top.
        user_servers: the file with the user's MCP servers, in the CLI's own folder; empty if only the CLI may write it.
        own_servers: the file with the user's MCP servers in the home directory, if only the CLI may write it.
        add_server: the command that makes the CLI add a server to `own_servers`.
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

    def find_user_folder(self, home: Path, environment: Mapping[str, str]) -> Path:
        """Return the folder with the user's settings of the CLI; environment variables may name another one or home."""
        if named := self.folder_variable and environment.get(self.folder_variable):
            return Path(named)
        return Path((self.home_variable and environment.get(self.home_variable)) or home) / self.folder

    def make_groups(self, line: Callable[[float], str]) -> dict[str, dict[str, Any]]:
        """Return the settings entry of each event.

        Args:
            line: returns the command line of a hook that may take this number of seconds.
        """
        return {hook.event: self._make_group(hook, line(hook.timeout / self.unit - MARGIN)) for hook in self.hooks}

    def _make_group(self, hook: Hook, command: str) -> dict[str, Any]:
        name = {"name": self.name} if self.name else {}
        handler = {**name, "type": "command", "command": command, "timeout": hook.timeout}
        return {**({"matcher": hook.matcher} if hook.matcher else {}), "hooks": [handler]}
