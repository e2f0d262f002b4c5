"""The skills and the MCP server that `baton agents install --with` adds to an agent CLI besides the hooks.

They are added at the end of a user's file, or as a new file, and later exactly this text is removed.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from baton_git.agents.registry import AGENTS, Scope
from baton_git.agents.settings.entries import WantedHooks
from baton_git.agents.settings.mcp_server import SERVER, find_server, find_server_file
from baton_git.agents.settings.settings_file import SettingsFile, check_links, list_missing_folders
from baton_git.core.errors import BatonError, Fault, InvalidArgument, InvalidDocument, NotFound
from baton_git.git.files.atomic_files import make_folder, read_bytes, resolve_target, show_path, write_all, writing
from baton_git.git.files.durable_files import remove
from baton_git.git.hooks.shipped import find_shipped


@dataclass(frozen=True)
class AddedText:
    """Our text in one file: at the end of a user's file, or as a new file.

    A note in the machine state, `<digest of its path>.added.json`, contains the text, the agents that need it, and the
    folders that were created for the file. Several agents may read the same file.

    Attributes:
        memory: the folder with the notes about the added text.
        within: the work tree that symbolic links in the path must not leave; None: no limit.
    """

    path: Path
    memory: Path
    within: Path | None = None

    def read(self) -> bytes | None:
        """Return the content; None if there is no file. Raises InvalidArgument, StoreError if it cannot be read."""
        check_links(self.path, self.within)
        if self.path.exists() and not self.path.is_file():
            raise InvalidArgument(f"{show_path(self.path)} is not a regular file", hint="move it away")
        try:
            return read_bytes(self.path)
        except NotFound:
            return None

    def find_text(self) -> str | None:
        """Return our text if the file contains it unchanged; else None. Raises as `read` does."""
        current, note = self.read(), self._load_note()
        is_there = current is not None and note is not None and note["text"].encode() in current
        return str(note["text"]) if note is not None and is_there else None

    def put(self, text: str, agent: str) -> bool:
        """Add our text for an agent at the end of the file, or replace our older text.

        Returns:
            Whether the file changed.

        Raises:
            InvalidArgument, StoreError: the file cannot be read; nothing was written.
            WriteFailed: the file cannot be written; nothing was written.
        """
        current, note = self.read(), self._load_note()
        folders = [str(folder) for folder in list_missing_folders(resolve_target(self.path).parent)]
        agents = [agent]
        if current is not None and note is not None and note["text"].encode() in current:
            folders, agents = note["folders"], sorted({*note["agents"], agent})
            fresh = current.replace(note["text"].encode(), text.encode())
        else:
            note = None
            fresh = (current or b"") + text.encode()
        was_there = note["was_there"] if note else current is not None
        record = {
            "text": text,
            "agents": agents,
            "folders": folders,
            "was_there": was_there,
            "path": show_path(self.path),
        }
        make_folder(self.memory)
        with writing(self.memory):
            self.memory.chmod(0o700)
        write_all({self.note_path: json.dumps(record, indent=2).encode() + b"\n", self.path: fresh})
        return fresh != current

    def take(self, agent: str) -> bool:
        """Remove our text unless another agent still needs it; return whether it was removed. Raises as `put` does."""
        current, note = self.read(), self._load_note()
        if note is None or agent not in note["agents"]:
            return False
        others = [name for name in note["agents"] if name != agent]
        if others:
            write_all({self.note_path: json.dumps({**note, "agents": others}, indent=2).encode() + b"\n"})
            return False
        is_there = current is not None and note["text"].encode() in current
        if current is not None and is_there:
            self._write(current.replace(note["text"].encode(), b"", 1), note)
        remove(self.note_path)
        return is_there

    def _write(self, rest: bytes, note: Mapping[str, Any]) -> None:
        if rest or note["was_there"]:
            write_all({self.path: rest})
            return
        with writing(self.path):
            resolve_target(self.path).unlink(missing_ok=True)
        for folder in note["folders"]:
            with suppress(OSError):  # the folder is not empty
                Path(folder).rmdir()

    @property
    def note_path(self) -> Path:
        name = sha256(str(self.path).encode("utf-8", "surrogateescape")).hexdigest()[:32]
        return self.memory / f"{name}.added.json"

    def _load_note(self) -> dict[str, Any] | None:
        """Return the note on the added text; None if it is missing or damaged."""
        try:
            data = json.loads(read_bytes(self.note_path))
            kinds = {"text": str, "agents": list, "folders": list, "was_there": bool}
            is_whole = isinstance(data, dict) and all(isinstance(data.get(name), kind) for name, kind in kinds.items())
        except (BatonError, ValueError):
            return None
        return data if is_whole else None


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
