"""The skills and the MCP server that `baton agents install --with` puts beside the hooks of an agent's CLI."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from baton_git.agents.registry import AGENTS
from baton_git.agents.settings.added_text import AddedText
from baton_git.agents.settings.entries import WantedHooks
from baton_git.agents.settings.locations import Scope, user_folder
from baton_git.agents.settings.mcp_server import SERVER, find_server, find_server_file
from baton_git.agents.settings.settings_file import SettingsFile
from baton_git.core.errors import Fault, InvalidDocument
from baton_git.git.files.atomic_files import show_path
from baton_git.git.hooks.shipped import find_shipped

SKILLS = {"baton": "baton", "baton-start": "start", "baton-wrap-up": "wrap-up"}
"""By the name that a skill gets, its folder among those of the plugin."""


@dataclass(frozen=True)
class AgentTools:
    """Where the skills and the MCP server of one agent's CLI go.

    Attributes:
        root: the home, or the top of the work tree.
        folder: the CLI's own folder there.
        environment: in which the CLI runs.
        memory: the folder that remembers what was added.
        within: as in `SettingsFile`.
    """

    agent: str
    scope: Scope
    root: Path
    folder: Path
    environment: Mapping[str, str]
    memory: Path
    within: Path | None = None

    @classmethod
    def of(
        cls, agent: str, scope: Scope, root: Path, environment: Mapping[str, str], memory: Path
    ) -> AgentTools:  # fmt: skip
        """Return those of a user, whose home is `root`, or of the work tree `root`."""
        settings = AGENTS[agent].hooks
        folder = user_folder(settings, root, environment) if scope == "user" else root / settings.folder
        return cls(agent, scope, root, folder, environment, memory, root if scope == "project" else None)

    def list_skills(self) -> dict[str, AddedText]:
        """Return the files of the skills, by the name of the skill."""
        folder = AGENTS[self.agent].hooks.skills
        place = self.root / folder if folder else self.folder / "skills"
        return {name: AddedText(place / name / "SKILL.md", self.memory, self.within) for name in SKILLS}

    def has_skills(self) -> bool:
        """Whether all skills are there, ours or the user's own; not where that cannot be read."""
        return all(skill.path.is_file() for skill in self.list_skills().values())

    def find_server(self) -> Any:
        """Return what the settings say of our MCP server; None if nothing, or they cannot be read."""
        return find_server(self.agent, self.scope, self.root, self.environment)

    def install_skills(self) -> tuple[list[Path], list[Path]]:
        """Write the skills; return those that changed, and those of the user's own that stay as they are.

        Raises:
            InvalidArgument, StoreError, WriteFailed: as `AddedText.put` does.
        """
        changed, own = [], []
        for name, file in self.list_skills().items():
            if file.read() is not None and file.find_text() is None:
                own.append(file.path)
            elif file.put(read_skill(name), self.agent):
                changed.append(file.path)
        return changed, own

    @property
    def server_path(self) -> Path | None:
        """The file with the MCP servers; None if only the CLI itself writes that of this scope."""
        return find_server_file(self.agent, self.scope, self.root, self.environment)

    @property
    def add_command(self) -> str:
        """The command that adds a server where only the CLI itself writes them."""
        return AGENTS[self.agent].hooks.add_server

    @property
    def is_server_with_hooks(self) -> bool:
        """Whether the servers are in the file of the hooks, and so come and go with these."""
        return self.server_path == self.folder / AGENTS[self.agent].hooks.file

    def install_server(self, program: Sequence[str]) -> bool | None:
        """Add the MCP server to a file of its own; None if a server of the user's own has the name.

        Raises:
            InvalidDocument, InvalidArgument, StoreError, WriteFailed: nothing was written.
        """
        path = self.server_path
        assert path is not None
        if path.suffix == ".toml":
            return self._add_table(path, make_server(program))
        file = self._open_json(path)
        if file.find_server(SERVER) is not None:
            return None
        return file.install(WantedHooks({}, comments=file.comments, servers={SERVER: make_server(program)}))

    def _add_table(self, path: Path, server: Mapping[str, Any]) -> bool | None:
        added = AddedText(path, self.memory, self.within)
        there, ours = (added.read() or b"").decode("utf-8", "replace"), added.find_text()
        others = there.replace(ours, "", 1) if ours is not None else there
        if SERVER in _parse_toml(others, path).get("mcp_servers", {}):
            return None
        lead = "" if not others or others.endswith("\n\n") else "\n" if others.endswith("\n") else "\n\n"
        values = "".join(f"{name} = {json.dumps(value)}\n" for name, value in server.items())
        text = f"{lead}[mcp_servers.{SERVER}]\n{values}"
        _parse_toml(others + text, path)
        return added.put(text, self.agent)

    def uninstall(self) -> list[Path]:
        """Take out what we added besides the hooks' own file; return the files that changed.

        Raises:
            InvalidDocument, InvalidArgument, StoreError, WriteFailed: as `install_server` does.
        """
        taken = [file.path for file in self.list_skills().values() if file.take(self.agent)]
        path = self.server_path
        if path is None or self.is_server_with_hooks:
            return taken
        is_toml = path.suffix == ".toml"
        added = AddedText(path, self.memory, self.within)
        is_taken = added.take(self.agent) if is_toml else self._open_json(path).uninstall()
        return [*taken, path] if is_taken else taken

    def _open_json(self, path: Path) -> SettingsFile:
        return SettingsFile(path, self.memory, AGENTS[self.agent].hooks.comments, self.within)


def make_server(program: Sequence[str]) -> dict[str, Any]:
    """Return what the settings say of our MCP server."""
    return {"command": program[0], "args": [*program[1:], "mcp"]}


def read_skill(name: str) -> str:
    """Return the text of a shipped skill under the name that it gets."""
    text = find_shipped(f"plugin/baton/skills/{SKILLS[name]}/SKILL.md").read_text(encoding="utf-8")
    return text.replace(f"name: {SKILLS[name]}\n", f"name: {name}\n", 1)


def _parse_toml(text: str, path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        hint = "mend it by hand; nothing was written"
        fault = Fault("", f"is no TOML that a server can be added to: {error}")
        raise InvalidDocument([fault], where=show_path(path), hint=hint) from None
    return data
