"""What baton knows of one agent's CLI: plain data, and the modules of its folder, loaded when they are needed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from baton_git.agents.detection import AgentMarkers
    from baton_git.agents.events import EndReached, Event, ToolCall, ToolResult
    from baton_git.agents.fields import Record
    from baton_git.agents.hook_settings import HookSettings
    from baton_git.agents.launcher import Launcher
    from baton_git.agents.tool_use import ToolOutcome, ToolUse
    from baton_git.agents.transcripts import Transcript, Warn


class AgentTranscripts(Protocol):
    """What the module `transcripts` of an agent's folder gives."""

    def events(self, path: Path, since: EndReached = ...) -> Iterator[Event]:
        """What happened in a session since an earlier reading `Ended`; the pieces tell the same as the whole."""

    def read_call(self, call: ToolCall) -> ToolUse:
        """What a call of one of the agent's tools is for."""

    def read_result(self, name: str, result: ToolResult) -> ToolOutcome:
        """What a call of the tool `name` gave."""

    def sessions(self, home: Path, environment: Mapping[str, str], warn: Warn = ...) -> Iterator[Transcript]:
        """The transcripts of sessions that no other session started, newest first."""

    def subagents(self, path: Path, session: str) -> Iterator[Path]:
        """The transcripts of the subagents that a session started, newest first; `path` is its own transcript."""

    def recognises(self, record: Record) -> bool:
        """Can this be the record of a transcript of this agent, and of no other?"""


class HookPackage(NamedTuple):
    """The plugin or extension that brings our hooks, skills and MCP server to a CLI.

    Attributes:
        folder: its folder among the files that baton ships.
        add: the command that adds it; `{0}` is that folder.
        copies: where the CLI keeps its copies of the hooks, as a pattern below its own folder.
        update: the command that brings the copies up to date.
    """

    folder: str
    add: str
    copies: str
    update: str


class SessionSource(NamedTuple):
    """How ECC's session adapter of the CLI is called: its id, the prefix of its targets, the kind of its runtime."""

    adapter: str
    prefix: str
    runtime: str


class Retention(NamedTuple):
    """How long a CLI keeps transcripts: `key` of its settings `file` says for how many days, else `days`."""

    file: str
    key: str
    days: int


class AgentCLI(NamedTuple):
    """One agent's CLI. Everything that is particular to it is data here, or a module of its folder.

    Attributes:
        name: what it is called here, and its folder in `baton_git/agents/`.
        title: what people call it.
        package: the plugin or extension for it.
        source: its transcripts as a source of ECC's snapshots.
        mcp_client: what it calls itself as a client of MCP (the beginning of it).
        installed: what to say when its hooks were installed.
        session_variables: what names the session to the programs that it starts.
        folder_variables: what names the folder of the session to its hooks.
        process_variable: what names its process to its hooks.
        env_file_variable: the file of variables that its hooks may add to, for the programs that it starts.
        private_variables: what ties a process to its session, and must not reach another one; `NAME*` is a prefix.
        todo_variables: what switches its to-do tools on, in its settings.
        switch_files: files of its folder, beside the hooks, in which hooks can be switched off.
        managed_files: files of the machine that can do so.
        sent: whether it sent a payload of a hook that does not say so, by the payload and the environment.
        retention: how long it keeps transcripts; None: for ever.
        permission_arguments: what lets its sessions without a terminal change files.
        empty_reply: what a hook prints that has nothing to say.
        end_seconds: seconds that it leaves to the hook of a session's end, where that is less than what is installed.
        folder_in_transcript: the transcript, and not the payload, names the folder that the session began in.
        must_trust_hooks: it skips hooks that its user has not trusted.
        trusts_projects: it takes the settings of a project without being asked to trust its folder.
        told_at_prompt: a context that is given at a start gets lost, so the first prompt gets it.
        compacts_unannounced: its event of a compaction comes before every request to the model and does not mean that a
            compaction follows; it starts no session after one.
    """

    name: str
    title: str
    package: HookPackage
    source: SessionSource
    mcp_client: str
    installed: str
    session_variables: tuple[str, ...] = ()
    folder_variables: tuple[str, ...] = ()
    process_variable: str = ""
    env_file_variable: str = ""
    private_variables: tuple[str, ...] = ()
    todo_variables: Mapping[str, str] = {}
    switch_files: tuple[str, ...] = ()
    managed_files: tuple[str, ...] = ()
    sent: Callable[[Mapping[str, Any], Mapping[str, str]], bool] = lambda data, environment: False
    retention: Retention | None = None
    permission_arguments: str = ""
    empty_reply: str = ""
    end_seconds: float | None = None
    folder_in_transcript: bool = False
    must_trust_hooks: bool = False
    trusts_projects: bool = False
    told_at_prompt: bool = False
    compacts_unannounced: bool = False

    @property
    def transcripts(self) -> AgentTranscripts:
        """How its transcripts are found and read."""
        reader: AgentTranscripts = self._module("transcripts")
        return reader

    @property
    def launcher(self) -> Launcher:
        """How a session of it is started."""
        starting: Launcher = self._module("launcher")
        return starting

    @property
    def hooks(self) -> HookSettings:
        """Where it keeps its hooks, and what is to stand there."""
        settings: HookSettings = self._module("hooks").SETTINGS
        return settings

    @property
    def acting(self) -> AgentMarkers:
        """How a process can tell that it was started by this CLI."""
        acting: AgentMarkers = self._module("detection").ACTING
        return acting

    def find_switches(self, settings: Mapping[str, Any]) -> Iterator[str]:
        """What in its settings keeps our hooks from running, in words."""
        find = getattr(self._module("hooks"), "find_switches", None)
        return iter(find(settings) if find is not None else ())

    def _module(self, name: str) -> Any:
        return importlib.import_module(f"baton_git.agents.{self.name}.{name}")
