"""The skills and the MCP server that `baton agents install --with` adds to an agent CLI besides the hooks."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from baton_git.agents.hook_settings import Scope
from baton_git.agents.registry import AGENTS
from baton_git.agents.settings.added_text import AddedText
from baton_git.agents.settings.entries import WantedHooks
from baton_git.agents.settings.mcp_server import SERVER, find_server, find_server_file
from baton_git.agents.settings.settings_file import SettingsFile
from baton_git.core.errors import Fault, InvalidDocument
from baton_git.git.files.atomic_files import show_path
from baton_git.git.hooks.shipped import find_shipped

SKILLS = {"baton": "baton", "baton-start": "start", "baton-wrap-up": "wrap-up"}
"""Name of each installed skill, and its folder in the plugin."""


@dataclass(frozen=True)
class AgentTools:
    """The skills and the MCP server of one agent CLI.

    Attributes:
        root: the home directory, or the top of the work tree.
        folder: the CLI's own folder in `root`.
        environment: the environment in which the CLI runs.
        memory: the folder with the notes about the added text.
        within: the work tree that symbolic links must not leave; None: no limit.
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
        """Return the tools in the home directory `root` or, with the scope `project`, in the work tree `root`."""
        settings = AGENTS[agent].hooks
        folder = settings.find_user_folder(root, environment) if scope == "user" else root / settings.folder
        return cls(agent, scope, root, folder, environment, memory, root if scope == "project" else None)

    def list_skills(self) -> dict[str, AddedText]:
        """Return the file of each skill, by skill name."""
        name_in_root = AGENTS[self.agent].hooks.skills
        folder = self.root / name_in_root if name_in_root else self.folder / "skills"
        return {name: AddedText(folder / name / "SKILL.md", self.memory, self.within) for name in SKILLS}

    def has_skills(self) -> bool:
        """Whether the files of all skills exist, whoever installed them."""
        return all(skill.path.is_file() for skill in self.list_skills().values())

    def find_server(self) -> Any:
        """Return the settings of our MCP server, whoever added it; None if there are none or they cannot be read."""
        return find_server(self.agent, self.scope, self.root, self.environment)

    def install_skills(self) -> tuple[list[Path], list[Path]]:
        """Write the skills; return the files that changed, and existing files of the user, which are not replaced.

        Raises:
            InvalidArgument, StoreError, WriteFailed: as for `AddedText.put`.
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
        """The file with the MCP servers of this scope; None if only the CLI may write it."""
        return find_server_file(self.agent, self.scope, self.root, self.environment)

    @property
    def add_command(self) -> str:
        """The command with which the CLI adds a server to a file that only it may write; empty if there is none."""
        return AGENTS[self.agent].hooks.add_server

    @property
    def is_server_with_hooks(self) -> bool:
        """Whether the servers are in the same file as the hooks. They are then installed together with the hooks."""
        return self.server_path == self.folder / AGENTS[self.agent].hooks.file

    def install_server(self, program: Sequence[str]) -> bool | None:
        """Add the MCP server to the file of the servers.

        Returns:
            Whether the file changed; None if it contains a server of this name that the user added.

        Raises:
            InvalidDocument, InvalidArgument, StoreError: the file cannot be read or edited; nothing was written.
            WriteFailed: the file cannot be written; nothing was written.
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
        current, ours = (added.read() or b"").decode("utf-8", "replace"), added.find_text()
        others = current.replace(ours, "", 1) if ours is not None else current
        if SERVER in _parse_toml(others, path).get("mcp_servers", {}):
            return None
        lead = "" if not others or others.endswith("\n\n") else "\n" if others.endswith("\n") else "\n\n"
        values = "".join(f"{name} = {json.dumps(value)}\n" for name, value in server.items())
        text = f"{lead}[mcp_servers.{SERVER}]\n{values}"
        _parse_toml(others + text, path)
        return added.put(text, self.agent)

    def list_notes(self) -> list[Path]:
        """Return the files in which baton notes what it added for the skills and the server, if it did."""
        path = self.server_path
        files = [*self.list_skills().values(), *([AddedText(path, self.memory, self.within)] if path else [])]
        return [file.note_path for file in files]

    def list_installed(self) -> list[Path]:
        """Return the files with our skills and our server that `uninstall` would change."""
        files = [file.path for file in self.list_skills().values() if file.find_text() is not None]
        path = self.server_path
        if path is None or self.is_server_with_hooks:
            return files
        is_toml = path.suffix == ".toml"
        is_ours = (
            AddedText(path, self.memory, self.within).find_text() is not None
            if is_toml
            else self._open_json(path).was_installed()
        )
        return [*files, path] if is_ours else files

    def uninstall(self) -> list[Path]:
        """Remove our skills and our server, except a server in the file of the hooks; return the files that changed.

        Raises:
            InvalidDocument, InvalidArgument, StoreError, WriteFailed: as for `install_server`.
        """
        skills = list(self.list_skills().values())
        # The first skill is removed last: its note names the folder of all skills, which is removed if it is empty.
        changed = [file.path for file in reversed(skills) if file.take(self.agent)]
        path = self.server_path
        if path is None or self.is_server_with_hooks:
            return changed
        is_toml = path.suffix == ".toml"
        added = AddedText(path, self.memory, self.within)
        is_removed = added.take(self.agent) if is_toml else self._open_json(path).uninstall()
        return [*changed, path] if is_removed else changed

    def _open_json(self, path: Path) -> SettingsFile:
        return SettingsFile(path, self.memory, AGENTS[self.agent].hooks.comments, self.within)


def make_server(program: Sequence[str]) -> dict[str, Any]:
    """Return the settings of our MCP server."""
    return {"command": program[0], "args": [*program[1:], "mcp"]}


def read_skill(name: str) -> str:
    """Return the text of a shipped skill, renamed to its installed name."""
    text = find_shipped(f"plugin/baton/skills/{SKILLS[name]}/SKILL.md").read_text(encoding="utf-8")
    return text.replace(f"name: {SKILLS[name]}\n", f"name: {name}\n", 1)


def _parse_toml(text: str, path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        hint = "correct it by hand; nothing was written"
        fault = Fault("", f"is not TOML to which a server can be added: {error}")
        raise InvalidDocument([fault], where=show_path(path), hint=hint) from None
    return data
