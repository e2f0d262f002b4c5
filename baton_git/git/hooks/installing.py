"""Install, upgrade and remove hooks: first compute the steps, then execute them.

A hook of another tool is kept as `<event>.pre-baton`, and baton's hook runs it first. The file with the event's name is
inspected at each installation, because another tool may have replaced it since the last one.

The tool pre-commit (and its replacement prek) renames the hooks of other tools to `<event>.legacy`, replacing an older
such file, and runs them first. If the hook of pre-commit is installed, baton's hook is therefore written to
`<event>.legacy`, where pre-commit would move it anyway.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from baton_git.git.files import durable_files
from baton_git.git.hooks.location import EVENTS, HookLocation, Mode, exists, read_hook
from baton_git.git.hooks.neighbours import find_neighbours
from baton_git.git.hooks.script import BACKUP, PRE_COMMITS, VERSION, HookScript, ScriptMarker, read_marker
from baton_git.git.local_git import LocalGit


@dataclass(frozen=True)
class KeepAs:
    """Give a file a second name, so that it is never missing; without hard links, rename it instead."""

    path: Path
    name: Path


@dataclass(frozen=True)
class Write:
    """Create or replace an executable file atomically."""

    path: Path
    data: bytes


@dataclass(frozen=True)
class Move:
    """Rename a file to `to`, replacing a file there."""

    path: Path
    to: Path


@dataclass(frozen=True)
class Remove:
    path: Path


@dataclass(frozen=True)
class Configure:
    """Set a key in the repository's configuration to this single value."""

    key: str
    value: str


@dataclass(frozen=True)
class Unconfigure:
    section: str


@dataclass(frozen=True)
class RunGit:
    """Run a command of git, with which another tool installs the hooks that baton's had kept out."""

    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Say:
    """Show a note to the user; nothing is changed."""

    text: str


Step = KeepAs | Write | Move | Remove | Configure | Unconfigure | RunGit | Say


def run(steps: Iterable[Step], git: LocalGit) -> None:
    """Execute the steps in order. If this is interrupted, the next `install` or `uninstall` completes it.

    Raises:
        WriteFailed: writing to disk failed.
        StoreError: git could not write its configuration, or its command failed.
    """
    for step in steps:
        match step:
            case Configure(key, value):
                git.do("config", "--local", "--replace-all", key, value)
            case Unconfigure(section):
                git.do("config", "--local", "--remove-section", section)
            case RunGit(arguments):
                git.do(*arguments)
            case Say():
                pass
            case _:
                with durable_files.writing(str(step.path)):
                    _change_file(step)


def _change_file(step: KeepAs | Write | Move | Remove) -> None:
    match step:
        case KeepAs(path, name):
            _link_or_rename(path, name)
        case Write(path, data):
            durable_files.make_folder(path.parent)
            durable_files.replace_file(path, data, mode=0o755)
        case Move(path, to):
            path.replace(to)
        case Remove(path):
            path.unlink(missing_ok=True)
    durable_files.sync_folder(step.path.parent)


def _link_or_rename(path: Path, name: Path) -> None:
    try:
        os.link(path, name, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links; the file is missing until the next step writes it
        path.replace(name)


OTHERS_BACKUPS = (".legacy", ".old")
"""Suffixes to which other tools rename existing hooks: pre-commit and prek (which still run them), and lefthook."""


class HookReport(NamedTuple):
    """The result of an installation or removal: the mode of the hooks, and the executed steps, which include notes."""

    mode: Mode
    steps: tuple[Step, ...]

    @property
    def has_changes(self) -> bool:
        return any(not isinstance(step, Say) for step in self.steps)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(step.text for step in self.steps if isinstance(step, Say))


def install(location: HookLocation, scripts: Mapping[str, HookScript]) -> HookReport:
    """Install or upgrade the hooks for these events; a second call changes nothing.

    Raises:
        WriteFailed: writing to disk failed; existing hooks still run.
        StoreError: git is not installed, or a hook cannot be read.
    """
    steps = tuple(_install_steps(location, scripts))
    run(steps, location.git)
    return HookReport(location.mode, steps)


def uninstall(location: HookLocation) -> HookReport:
    """Remove all hooks that baton installed, in any mode, and restore the previous hooks unchanged.

    A hook of baton that was changed by hand is left in git's folder of hooks. The scripts in baton's own folder are
    always removed. Git LFS installs its hooks, if baton's had their place: it would not do so by itself.

    Raises:
        WriteFailed, StoreError: like `install`.
    """
    steps = plan_uninstall(location)
    run(steps, location.git)
    return HookReport(location.mode, steps)


def plan_uninstall(location: HookLocation) -> tuple[Step, ...]:
    """Return the steps by which `uninstall` removes the hooks.

    Raises:
        StoreError: like `install`.
    """
    own = location.repository.common_dir / "baton"
    written = [*(location.scripts / event for event in EVENTS), own / "hooks.log", own / "hook-input" / "post-rewrite"]
    removals = [Remove(path) for path in written if exists(path)]
    return (*_unconfigure_steps(location), *_remove_steps(location), *removals, *_leave_steps(location))


def script_path(path: Path) -> Path:
    """Return the path for baton's script: `path`, or `<event>.legacy` if the hook at `path` is pre-commit's."""
    return path.with_name(f"{path.name}.legacy") if PRE_COMMITS.search(read_hook(path) or b"") else path


# --- install


def _install_steps(location: HookLocation, scripts: Mapping[str, HookScript]) -> Iterator[Step]:
    for event, script in scripts.items():
        yield from _write_steps(location.scripts / event, script.text)
    if location.mode == "configured":
        yield from _configure_steps(location, tuple(scripts))
        yield from _remove_steps(location)
        return
    yield from _unconfigure_steps(location)
    for event, script in scripts.items():
        if location.mode == "files":
            yield from _file_steps(location.folder_for(event) / event, script)
        elif not location.is_emptied and find_uncalled(location, [event]):
            line = f"add this line to {location.file_for(event)}:\n  {location.line_for(event)}"
            yield Say(f"{location.why_external}; {line}")
    if location.is_emptied:
        yield Say(f"{location.why_external}{location.remedy_if_emptied}")


def _configure_steps(location: HookLocation, events: Sequence[str]) -> Iterator[Step]:
    for event in events:
        for name, value in (("command", location.setting_for(event)), ("event", event)):
            key = f"hook.baton-{event}.{name}"
            if location.git.ask("config", "--local", "--get-all", key) != value:
                yield Configure(key, value)


def _file_steps(path: Path, script: HookScript) -> Iterator[Step]:
    """Yield the steps to install one file in a folder of hooks."""
    ours = script_path(path)
    current = read_hook(ours)
    if current is None and exists(ours):  # a dangling symbolic link
        current = b""
    if current is not None and read_marker(current) is None:
        yield from _backup_steps(path, ours, current)
        yield Write(ours, script.text)
    else:
        if _is_backup_redundant(path):
            yield Remove(_backup(path))
        yield from _write_steps(ours, script.text)
    yield from (Remove(backup) for backup in _others_backups(path) if backup != ours and _is_ours(read_hook(backup)))


def _write_steps(path: Path, text: bytes) -> Iterator[Step]:
    """Yield the steps to write one of baton's files; a newer version is kept, and an edited file is backed up."""
    current = read_hook(path)
    if current == text and path.stat().st_mode & stat.S_IXUSR:
        return
    mark = read_marker(current) if current is not None else None
    if mark is not None and mark.version > VERSION:
        yield Say(f"{path} was written by a newer baton and is left unchanged")
        return
    if current is not None and (mark is None or not mark.intact):
        kept = path.with_name(f"{path.name}.changed-{_digest(current)}")
        yield from () if kept.exists() else (KeepAs(path, kept),)
        yield Say(f"{path} was changed by hand; the changed script is kept as {kept.name}")
    yield Write(path, text)


def _backup_steps(path: Path, file: Path, current: bytes) -> Iterator[Step]:
    backup = _backup(path)
    older = read_hook(backup)
    if older == current:
        return
    if exists(backup):
        kept = path.with_name(f"{backup.name}.{_digest(older or b'')}")
        yield Move(backup, kept)
        yield Say(f"{path.name}: an older backup is kept as {kept.name} and does not run")
    yield KeepAs(file, backup)
    yield Say(f"{file.name}: the existing hook is kept as {backup.name} and runs first")


def find_uncalled(location: HookLocation, events: Sequence[str]) -> list[str]:
    """Return the events whose scripts git does not run, because no hook in a folder of others calls them.

    Raises:
        StoreError: a hook cannot be read.
    """
    if location.mode != "external":
        return []
    if location.is_emptied:
        return list(events)
    return [
        event
        for event in events
        if f"/baton/hooks/{event}".encode() not in (read_hook(location.file_for(event)) or b"")
    ]


# --- uninstall


def is_installed(location: HookLocation) -> bool:
    """Return whether baton has a script, a setting or a hook file in this repository."""
    scripts = any(exists(location.scripts / event) for event in EVENTS)
    return scripts or any(
        not isinstance(step, Say) for step in (*_unconfigure_steps(location), *_remove_steps(location))
    )


def _unconfigure_steps(location: HookLocation) -> Iterator[Step]:
    printed = location.git.ask("config", "--local", "--name-only", "--get-regexp", r"^hook\.baton-[a-z-]+\.") or ""
    names = dict.fromkeys(line.rpartition(".")[0] for line in printed.splitlines())
    yield from (Unconfigure(name) for name in names)


def _remove_steps(location: HookLocation) -> Iterator[Step]:
    for folder in location.folders:
        for event in EVENTS:
            yield from _restore_steps(folder / event)


def _restore_steps(path: Path) -> Iterator[Step]:
    backup = _backup(path)
    candidates = (path, *_others_backups(path))
    ours = [file for file in candidates if _is_ours(read_hook(file))]
    to = None
    if _is_backup_redundant(path):
        yield Remove(backup)
    elif exists(backup) and (ours or not exists(path)):
        to = ours[0] if ours and exists(path) else path
        yield Move(backup, to)
    elif exists(backup):
        yield Say(f"{path} is no longer baton's and is left unchanged; the previous hook is {backup.name}")
    yield from (Remove(file) for file in ours if file != to)
    for file in candidates:
        if file not in ours and read_marker(read_hook(file) or b""):
            yield Say(f"{file} was changed by hand and is left unchanged")
    for kept in sorted(path.parent.glob(f"{path.name}{BACKUP}.*")):
        yield Say(f"an older backup is kept as {kept}")


def _leave_steps(location: HookLocation) -> Iterator[Step]:
    """Yield the steps by which the tools whose hooks baton's scripts run get hooks of their own."""
    states = {event: find_neighbours(location, event, installed_script(location, event)) for event in EVENTS}
    commands = {event: state.stands_in for event, state in states.items() if state.stands_in}
    is_free = location.mode != "external" and not any(exists(_backup(location.folder / event)) for event in commands)
    if is_free and any("git-lfs" in tools for tools in commands.values()):
        yield RunGit(("lfs", "update"))
        yield Say("git lfs update: Git LFS installs its hooks, which baton's had kept out")
    for event, tools in commands.items():
        for tool, command in tools.items():
            if tool != "git-lfs" or not is_free:
                yield Say(f'{event}: baton ran the hook of {tool}; add to {location.file_for(event)}: {command} "$@"')


# --- installed files


def installed_script(location: HookLocation, event: str) -> Path:
    """Return the file that runs as baton's script: in git's folder of hooks (mode `files`) or in baton's own."""
    return script_path(location.folder_for(event) / event) if location.mode == "files" else location.scripts / event


def _is_ours(data: bytes | None) -> bool:
    mark: ScriptMarker | None = read_marker(data) if data is not None else None
    return mark is not None and mark.intact


def _backup(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def _others_backups(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in OTHERS_BACKUPS]


def _is_backup_redundant(path: Path) -> bool:
    """Return whether the backup is redundant: equal to the current hook, or, like it, a script of pre-commit."""
    current, older = read_hook(path), read_hook(_backup(path))
    if current is None or older is None:
        return False
    return current == older or all(PRE_COMMITS.search(text) for text in (current, older))


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:8]
