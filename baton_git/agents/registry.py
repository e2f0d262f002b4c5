"""The registry of agent CLIs, and the description of one: plain data, and the modules of its folder.

To add one, create a folder that defines `CLI` and has the modules `transcript` and `launch`, which are imported when
needed, and add its name to `AGENTS`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from baton_git.agents.launcher import Launcher
    from baton_git.agents.transcripts import Transcript, TranscriptFormat, Warn

Scope = Literal["user", "project"]

MARGIN = 0.5
"""The number of seconds by which our time limit for a hook is shorter than the timeout of its CLI."""

_INTERPRETERS = ("node", "nodejs", "bun", "deno", "python", "sh", "bash", "dash", "zsh", "env")
_SUFFIXES = (".js", ".mjs", ".cjs", ".exe")


class HookPackage(NamedTuple):
    """The plugin or extension with our hooks, skills and MCP server.

    Attributes:
        folder: its folder among the files that baton ships.
        add: the command that adds it; `{0}` is that folder.
        copies: a glob pattern, relative to the CLI's own folder, of the CLI's copies of the hooks.
        update: the command that updates the copies.
    """

    folder: str
    add: str
    copies: str
    update: str


class SessionSource(NamedTuple):
    """The names of ECC's session adapter for the CLI: its id, the prefix of its targets, the kind of its runtime."""

    adapter: str
    prefix: str
    runtime: str


class Retention(NamedTuple):
    """How long a CLI keeps transcripts: the number of days under `key` in its settings `file`, or `days` by default."""

    file: str
    key: str
    days: int


class AgentMarkers(NamedTuple):
    """The traces of one agent CLI in the processes that it starts.

    Attributes:
        variables: names of environment variables that only the CLI sets.
        programs: names of its process, or of the script that an interpreter runs as the CLI.
        packages: parts of the path of such a script, for scripts with an unspecific name (`index.js`).
    """

    variables: tuple[str, ...]
    programs: tuple[str, ...]
    packages: tuple[str, ...] = ()

    def find_variable(self, environment: Mapping[str, str]) -> str | None:
        """Return the name of the first of the variables that is set and not empty; None if there is none."""
        return next((name for name in self.variables if environment.get(name)), None)

    def is_program(self, name: str, argv: Sequence[str]) -> bool:
        """Whether a process of this name with these arguments is the CLI."""
        script = _find_script(argv)
        names = {name, _base_name(argv[0]) if argv else "", _base_name(script)}
        return not names.isdisjoint(self.programs) or any(part in script for part in self.packages)


# Plain classes: named tuples would take a hook without work 0.5 ms more, of 45 ms.
class Hook:
    """One hook event. `timeout` is in the CLI's own unit; without a `matcher` the hook runs for every cause."""

    def __init__(self, event: str, timeout: int, matcher: str | None = None) -> None:
        self.event, self.timeout, self.matcher = event, timeout, matcher


class HookSettings:
    """The settings with which an agent CLI runs our hooks: where it keeps them, and which hooks we install.

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
        find_switches: yields a description of each of the CLI's settings that keeps our hooks from running.
    """

    def __init__(
        self, program: str, folder: str, file: str, hooks: tuple[Hook, ...], *, folder_variable: str = "",
        home_variable: str = "", comments: bool = False, name: str | None = None, unit: int = 1, skills: str = "",
        project_servers: str = "", user_servers: str = "", own_servers: str = "", add_server: str = "",
        find_switches: Callable[[Mapping[str, Any]], Iterator[str]] = lambda settings: iter(()),
    ) -> None:  # fmt: skip
        self.program, self.folder, self.file, self.hooks = program, folder, file, hooks
        self.folder_variable, self.home_variable = folder_variable, home_variable
        self.comments, self.name, self.unit, self.skills = comments, name, unit, skills
        self.project_servers, self.user_servers = project_servers, user_servers
        self.own_servers, self.add_server, self.find_switches = own_servers, add_server, find_switches

    def find_user_folder(self, home: Path, environment: Mapping[str, str]) -> Path:
        """Return the folder with the user's settings of the CLI; environment variables may name another one or home."""
        from pathlib import Path  # a hook without work does not need it

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


class AgentCLI(NamedTuple):
    """One agent CLI. Everything specific to it is data here, or a module in its folder.

    Attributes:
        name: its name in baton, and of its folder in `baton_git/agents/`.
        title: its usual name in text.
        package: the plugin or extension for it.
        source: the names of its transcripts as a source of ECC's snapshots.
        mcp_client: the beginning of the name it reports as an MCP client.
        installed: the note that is printed after its hooks were installed.
        markers: the traces by which a process detects that this CLI started it.
        hooks: the settings in which its hooks are installed.
        session_variables: environment variables that hold the session's id in the programs it starts.
        folder_variables: environment variables that hold the session's folder in its hooks.
        process_variable: the environment variable that holds its process id in its hooks.
        env_file_variable: the environment variable that holds the path of a file to which hooks may append variables
            for the programs it starts.
        private_variables: environment variables that tie a process to its session and must not be inherited by another
            session; `NAME*` is a prefix.
        todo_variables: settings that switch its todo tools on.
        switch_files: files in its folder in which hooks can be switched off.
        main_switch_files: such files in the folder of the main work tree that also count in linked work trees.
        managed_files: system-wide files in which hooks can be switched off.
        is_sender: whether it sent a hook payload that does not name its sender; takes the payload and the environment.
        retention: how long it keeps transcripts; None: forever.
        permission_arguments: arguments that let its sessions without a terminal change files.
        empty_reply: the output of a hook that has nothing to report.
        end_seconds: the seconds that baton may use in the hook at a session's end, if fewer than the installed timeout.
        folder_in_transcript: the transcript, not the payload, names the folder in which the session started.
        must_trust_hooks: it skips hooks that its user has not trusted.
        reads_project_where_it_starts: it reads a project's settings only if it starts at the top of the work tree.
        hooks_of_main_tree: in a linked work tree, it uses the hooks of the main one, and only if its own folder exists
            in the linked one.
        trusts_projects: it uses a project's settings without asking whether to trust the folder.
        loses_start_context: it loses context that a hook adds at a session's start, so the first prompt's hook adds it.
        compacts_unannounced: its compaction event comes before every request to the model, whether or not a compaction
            follows, and no session start follows a compaction.
    """

    name: str
    title: str
    package: HookPackage
    source: SessionSource
    mcp_client: str
    installed: str
    markers: AgentMarkers
    hooks: HookSettings
    session_variables: tuple[str, ...] = ()
    folder_variables: tuple[str, ...] = ()
    process_variable: str = ""
    env_file_variable: str = ""
    private_variables: tuple[str, ...] = ()
    todo_variables: Mapping[str, str] = {}
    switch_files: tuple[str, ...] = ()
    main_switch_files: tuple[str, ...] = ()
    managed_files: tuple[str, ...] = ()
    is_sender: Callable[[Mapping[str, Any], Mapping[str, str]], bool] = lambda data, environment: False
    retention: Retention | None = None
    permission_arguments: str = ""
    empty_reply: str = ""
    end_seconds: float | None = None
    folder_in_transcript: bool = False
    must_trust_hooks: bool = False
    reads_project_where_it_starts: bool = False
    hooks_of_main_tree: bool = False
    trusts_projects: bool = False
    loses_start_context: bool = False
    compacts_unannounced: bool = False

    @property
    def transcript(self) -> TranscriptFormat:
        """The module that reads its transcripts."""
        module: TranscriptFormat = self._import_module("transcript")
        return module

    @property
    def launcher(self) -> Launcher:
        """The module that starts its sessions and finds their transcripts."""
        module: Launcher = self._import_module("launch")
        return module

    def find_sessions(self, home: Path, environment: Mapping[str, str], *warn: Warn) -> Iterator[Transcript]:
        """Yield the transcripts of sessions that were not started by another session, newest first.

        Args:
            environment: may name another folder of the CLI, or another home directory.
            warn: called for each folder that could not be listed.
        """
        return self.launcher.sessions(self.hooks.find_user_folder(home, environment), *warn)

    def _import_module(self, name: str) -> Any:
        return importlib.import_module(f"baton_git.agents.{self.name}.{name}")


def _base_name(path: str) -> str:
    name = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return next((name.removesuffix(end) for end in _SUFFIXES if name.endswith(end)), name)


def _find_script(argv: Sequence[str]) -> str:
    """Return the path of the script that an interpreter runs; an empty text for any other program."""
    if not argv or _base_name(argv[0]).rstrip("0123456789.") not in _INTERPRETERS:
        return ""
    return next((word.replace("\\", "/") for word in argv[1:] if not word.startswith("-")), "")


class AgentRegistry(Mapping[str, AgentCLI]):
    """The agent CLIs by name; each is imported on first access, since a hook needs only one."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __getitem__(self, name: str) -> AgentCLI:
        if name not in self._names:
            raise KeyError(name)
        cli: AgentCLI = importlib.import_module(f"baton_git.agents.{name}").CLI
        return cli

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._names)

    def __len__(self) -> int:
        return len(self._names)


AGENTS = AgentRegistry("claude", "codex", "gemini")
"""All agent CLIs, in order of preference: the first installed one starts sessions when none is named.

To identify the sender of a payload or the writer of a transcript, the CLIs are tried in reverse order, because the
payloads and transcripts of the first one have the fewest distinguishing marks.
"""


def session_variables() -> dict[str, str]:
    """Return the environment variables that hold a session's id, each with the name of its agent."""
    return {variable: name for name, cli in AGENTS.items() for variable in cli.session_variables}


def find_agent_of_client(client: str) -> str | None:
    """Return the agent whose CLI reports this MCP client name; None for other clients."""
    return next((name for name, cli in AGENTS.items() if client.startswith(cli.mcp_client)), None)


SPAWNED = "BATON_SPAWNED"
"""The environment variable with the id of a session's spawn record, for the session and its hooks."""

_GIT_VARIABLES = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH",
)  # fmt: skip


def make_session_environment(environment: Mapping[str, str], spawned: str) -> dict[str, str]:
    """Return the environment of a new session with the spawn record `spawned`.

    It has none of the variables that tie a process to the session or git command in which it runs.
    """
    private = {"BATON_SESSION", *_GIT_VARIABLES, *(name for cli in AGENTS.values() for name in cli.private_variables)}
    prefixes = tuple(name.removesuffix("*") for name in private if name.endswith("*"))
    kept = {name: value for name, value in environment.items() if name not in private and not name.startswith(prefixes)}
    return {**kept, SPAWNED: spawned}
