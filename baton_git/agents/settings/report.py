"""Report whether an agent CLI will run our hooks, and if not, why. If that cannot be determined, report `unknown`."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from baton_git.agents.codex.hooks import Codex, LoadedHook, read_trusted_keys
from baton_git.agents.extraction.extracting import extract
from baton_git.agents.hook_events.hook_session import HookSessionStore
from baton_git.agents.registry import AGENTS, AgentCLI, HookSettings, Scope
from baton_git.agents.settings.agent_tools import AgentTools
from baton_git.agents.settings.entries import HookEntry, extract_program, is_older, make_hook_line
from baton_git.agents.settings.settings_file import SettingsFile
from baton_git.core.errors import BatonError
from baton_git.git.hooks.reporting import ProgramHealth

Verdict = Literal["ok", "off", "unknown"]
CHECKED_TRANSCRIPTS = 3
"""Maximum number of a CLI's newest transcripts whose format is checked."""
UNINSTALLED = ".orphaned_at"
"""The file with which Claude Code marks its copy of a plugin that was uninstalled."""

_VERSION = re.compile(r"\d+\.\d+\.\d+[\w.-]*")


class Finding(NamedTuple):
    """A problem with the hooks, or a possible one, and what to do about it."""

    verdict: Verdict
    summary: str


class FileReport(NamedTuple):
    """The state of our hooks in one settings file; `state` is `absent`, `current`, `outdated` or `unreadable`."""

    scope: Scope
    path: Path
    state: str
    findings: tuple[Finding, ...] = ()


class AgentReport(NamedTuple):
    """The state of the installation for one CLI.

    Attributes:
        program: path of the executable; None when it is not on the PATH.
        version: None when it cannot be determined without running the program.
        last_ran: when a hook of this CLI ran last in this repository.
        package: the path of the CLI's copy of the hooks of baton's plugin or extension; None if it has no copy.
        skills: whether baton's skills are installed, by `agents install` or by the package.
        server: whether baton's MCP server is set up, by `agents install`, the user or the package.
    """

    agent: str
    program: str | None
    version: str | None
    files: tuple[FileReport, ...]
    findings: tuple[Finding, ...]
    last_ran: str | None = None
    package: Path | None = None
    skills: bool = False
    server: bool = False

    @property
    def is_installed(self) -> bool:
        """Whether the CLI calls baton: by hooks in its settings, or by the plugin or extension."""
        return self.package is not None or any(file.state in ("current", "outdated") for file in self.files)

    @property
    def verdict(self) -> Verdict:
        verdicts = {
            finding.verdict
            for finding in (*self.findings, *(finding for file in self.files for finding in file.findings))
        }
        return "off" if "off" in verdicts else "unknown" if "unknown" in verdicts else "ok"


@dataclass(frozen=True)
class HookInspection:
    """Inspects the installation for one CLI.

    Attributes:
        programs: for each scope, the words that start baton in the line that `baton agents install` would write now.
        own_folder: the user's folder of the CLI.
        folder: the current directory.
        remembered: the folder in which hooks store their sessions; None outside of a repository.
        tools: the skills and the MCP server of each scope.
        started_in: the folder in which the CLI would start; None: `folder`.
        main_top: the top of the main work tree, if `folder` is the top of a linked one.
    """

    agent: str
    settings: HookSettings
    files: Mapping[Scope, SettingsFile]
    programs: Mapping[Scope, tuple[str, ...]]
    own_folder: Path
    folder: Path
    environment: Mapping[str, str]
    health: ProgramHealth
    remembered: Path | None = None
    tools: tuple[AgentTools, ...] = ()
    started_in: Path | None = None
    main_top: Path | None = None

    @property
    def cli(self) -> AgentCLI:
        return AGENTS[self.agent]

    def report(self) -> AgentReport:
        program = shutil.which(self.settings.program, path=self.environment.get("PATH"))
        files = tuple(self._report_file(scope, file) for scope, file in self.files.items())
        copies = self._list_copies()
        findings = [*self._describe_older(copies), *self._find_misread()]
        installed = [file for file in files if file.state in ("current", "outdated")]
        if installed:
            findings += self._describe_twice(installed[0], copies)
            findings += self._find_switches()
            findings += self._check_trust(program) if self.cli.must_trust_hooks else []
        version = _find_version(Path(program)) if program else None
        last_ran = _find_last_run(self.remembered, self.agent)
        package = max(copies, default=None)
        skills = package is not None or any(tools.has_skills() for tools in self.tools)
        server = package is not None or any(tools.find_server() is not None for tools in self.tools)
        return AgentReport(
            self.agent, program, version, files, tuple(findings), last_ran, package, skills, server
        )  # fmt: skip

    def _report_file(self, scope: Scope, file: SettingsFile) -> FileReport:
        try:
            entries = file.entries()
        except BatonError as error:
            return FileReport(scope, file.path, "unreadable", (Finding("unknown", str(error)),))
        if not entries:
            return FileReport(scope, file.path, "absent", tuple(self._find_removed(scope, file)))
        groups = self.settings.make_groups(make_hook_line(self.agent, self.programs[scope]))
        is_current = {entry.event: dict(entry.data) for entry in entries if entry.alone} == {
            event: group["hooks"][0] for event, group in groups.items()
        } and len(entries) == len(groups)
        findings = [
            *self._find_broken_programs(scope, entries),
            *([] if is_current else [self._describe_outdated(scope, entries)]),
            *(self._find_unread(file) if scope == "project" else ()),
        ]
        return FileReport(scope, file.path, "current" if is_current else "outdated", tuple(findings))

    def _find_unread(self, file: SettingsFile) -> Iterator[Finding]:
        """Describe why the CLI does not read the settings of the project when it starts here, if so."""
        top, start = self.folder, self.started_in or self.folder
        by_user = f"baton agents install {self.agent}"
        is_below = os.path.realpath(start) != os.path.realpath(top)
        if self.cli.reads_project_where_it_starts and is_below and not self.files["user"].entries_or_none():
            why = f"{self.cli.title} reads {file.path} only if it starts in {top}"
            yield Finding("off", f"{why}: start it there, or {by_user}")
        if self._lacks_own_folder():
            own = top / self.settings.folder
            why = f"{self.cli.title} uses {file.path} in this linked work tree only if {own} exists"
            yield Finding("off", f"{why}: mkdir {own}")

    def _lacks_own_folder(self) -> bool:
        """Whether this is a linked work tree without the folder that the CLI needs to use hooks of the main one."""
        is_linked = self.cli.hooks_of_main_tree and self.main_top is not None
        return is_linked and not (self.folder / self.settings.folder).is_dir()

    def _list_copies(self) -> dict[Path, list[str]]:
        """Return the CLI's copies of the hooks of baton's plugin or extension, each with the lines that call baton.

        Claude Code keeps the copy of an uninstalled plugin for some days, and marks its folder.
        """
        paths = [
            path
            for path in sorted(self.own_folder.glob(self.cli.package.copies))
            if not (path.parents[1] / UNINSTALLED).exists()
        ]
        copies = [SettingsFile(path, path.parent, comments=True) for path in paths]
        lines = {copy.path: [entry.command for entry in copy.entries_or_none()] for copy in copies}
        return {path: commands for path, commands in lines.items() if commands}

    def _describe_older(self, copies: Mapping[Path, list[str]]) -> Iterator[Finding]:
        """Report an outdated copy if each of the copies has a line of an older baton."""
        older = [path for path, commands in copies.items() if any(map(is_older, commands))]
        if older and len(older) == len(copies):
            update = self.cli.package.update
            yield Finding("off", f"{older[-1]}: outdated line: if baton breaks, it blocks the agent: {update}")

    def _find_misread(self) -> Iterator[Finding]:
        """Describe the first of the newest transcripts whose format is not understood. Its facts are not saved."""
        sessions = HookSessionStore(str(self.remembered.parent.parent)).all() if self.remembered else iter(())
        paths = [Path(seen.transcript) for seen in sessions if seen.cli == self.agent and seen.transcript]
        # Copilot CLI runs the hooks of a project's .claude/settings.json; earlier versions recorded it as Claude Code
        paths = [path for path in paths if ".copilot" not in path.parts]
        for path in paths[:CHECKED_TRANSCRIPTS]:
            with suppress(BatonError, OSError):  # missing or unreadable: hooks report that in their log
                misread = extract(path, self.agent).misread
                if misread is not None:
                    yield Finding("off", f"{path}: {misread}: perhaps a new transcript format: update baton")
                    return

    def _make_command(self, scope: Scope, verb: str = "install") -> str:
        return f"baton agents {verb} {self.agent}{' --project' if scope == 'project' else ''}"

    def _describe_twice(self, file: FileReport, copies: Mapping[Path, list[str]]) -> Iterator[Finding]:
        """Report that every hook runs twice, if a copy of a package calls baton as the settings file does."""
        if copies:
            remove = f"{self._make_command(file.scope, 'uninstall')}, or remove the package"
            yield Finding("off", f"{file.path} and {max(copies)} both call baton, so every hook runs twice: {remove}")

    def _find_removed(self, scope: Scope, file: SettingsFile) -> Iterator[Finding]:
        if file.was_installed():
            repair = f"{self._make_command(scope)}, or {self._make_command(scope, 'uninstall')} if that was intended"
            yield Finding("off", f"baton's hooks were removed from {file.path}: {repair}")

    def _describe_outdated(self, scope: Scope, entries: list[HookEntry]) -> Finding:
        if any(is_older(entry.command) for entry in entries):
            return Finding("off", f"outdated line: if baton breaks, it blocks the agent: {self._make_command(scope)}")
        return Finding("off", f"not up to date: {self._make_command(scope)}")

    def _find_broken_programs(self, scope: Scope, entries: list[HookEntry]) -> Iterator[Finding]:
        """Describe the programs in our lines that cannot be started or that fail.

        To find out, the programs are run. A program in a project's settings is run only if it is the one that we would
        write.
        """
        ours = self.programs[scope]
        for words in dict.fromkeys(tuple(extract_program(entry.command)) for entry in entries):
            problem = self.health.find_problem(words, may_run=scope == "user" or words == ours) if words else None
            if problem is not None:
                repair = self._make_command(scope) if words != ours else "install baton again"
                yield Finding("off", f"hooks do nothing: {problem}: {repair}")

    # --- settings that switch hooks off

    def _find_switches(self) -> Iterator[Finding]:
        for path in self._list_settings_files():
            try:
                data = SettingsFile(path, path.parent, self.settings.comments).data()
            except BatonError as error:
                yield Finding("unknown", str(error))
                continue
            for switch in self.cli.hooks.find_switches(data if isinstance(data, dict) else {}):
                yield Finding("off", f"{path}: {switch}")

    def _list_settings_files(self) -> list[Path]:
        """Return the existing files that can switch hooks off."""
        folders = dict.fromkeys([self.own_folder, *(file.path.parent for file in self.files.values())])
        paths = [folder / name for folder in folders for name in self.cli.switch_files]
        if self.main_top is not None:
            paths += [self.main_top / self.settings.folder / name for name in self.cli.main_switch_files]
        return [path for path in [*paths, *map(Path, self.cli.managed_files)] if path.exists()]

    # --- Codex

    def _check_trust(self, program: str | None) -> Iterator[Finding]:
        if program is None:
            yield from self._check_trust_in_config()
            return
        try:
            seen = Codex(program, self.folder, self.environment).hooks()
        except BatonError as error:
            yield Finding("unknown", f"cannot tell whether codex trusts the hooks: {error}")
            return
        for scope, file in self.files.items():
            if file.entries_or_none():
                yield from self._check_trust_of_file(scope, file.path, seen)

    def _check_trust_of_file(self, scope: Scope, path: Path, seen: list[LoadedHook]) -> Iterator[Finding]:
        loaded = select_hooks_of_file(seen, path)
        if not loaded and scope == "project" and self._lacks_own_folder():
            return  # reported as such: to trust the folder would not help
        if not loaded:
            why = "trust the folder when codex asks" if scope == "project" else "look with /hooks in codex"
            yield Finding("off", f"codex does not load {path}: {why}")
        waiting = [hook for hook in loaded if hook.status not in ("trusted", "managed")]
        if waiting:
            yield Finding(
                "off", f"codex skips {len(waiting)} of {len(loaded)} hooks because they are not trusted: {TO_TRUST}"
            )
        if off := [hook for hook in loaded if not hook.enabled]:
            yield Finding("off", f"{len(off)} of the hooks are disabled in codex: /hooks in codex")

    def _check_trust_in_config(self) -> Iterator[Finding]:
        try:
            keys = read_trusted_keys(self.own_folder / "config.toml")
        except BatonError as error:
            yield Finding("unknown", f"cannot tell whether codex trusts the hooks: {error}")
            return
        for file in self.files.values():
            if not file.entries_or_none():
                continue
            beginnings = (f"{os.path.realpath(file.path)}:", f"{file.path}:")
            if any(key.startswith(beginnings) for key in keys):
                yield Finding("unknown", "cannot tell whether codex still trusts the hooks: codex is not on the PATH")
            else:
                yield Finding("off", f"codex skips the hooks because they are not trusted: {TO_TRUST}")


TO_TRUST = "/hooks in codex, or baton agents install codex --trust; for one run codex --dangerously-bypass-hook-trust"


def select_hooks_of_file(seen: list[LoadedHook], path: Path) -> list[LoadedHook]:
    """Return those of our hooks that Codex has loaded from this file."""
    real = Path(os.path.realpath(path))
    ours = [hook for hook in seen if hook.command.rstrip().endswith("# baton-git")]
    return [hook for hook in ours if hook.source == path or Path(os.path.realpath(hook.source)) == real]


def _find_version(program: Path) -> str | None:
    """Return the version in a program's package or file name, because running the program would take a second."""
    real = Path(os.path.realpath(program))
    for folder in list(real.parents)[:4]:
        try:
            data = json.loads((folder / "package.json").read_bytes())
        except (OSError, ValueError):
            continue
        return str(data["version"]) if isinstance(data, dict) and "version" in data else None
    match = _VERSION.search(real.name)
    return match[0] if match else None


def _find_last_run(folder: Path | None, agent: str) -> str | None:
    """Return when a hook of this CLI ran last, from the sessions that hooks store; None if there are none."""
    seen = (
        [session.last_seen for session in HookSessionStore(str(folder.parent.parent)).all() if session.cli == agent]
        if folder
        else []
    )
    return max(seen, default=None)
