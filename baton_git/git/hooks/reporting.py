"""Report which of baton's hooks will run, and why the others will not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from baton_git.git import child_process
from baton_git.git.hooks.installing import installed_script
from baton_git.git.hooks.location import HookLocation, exists, is_program, read_hook
from baton_git.git.hooks.neighbours import Neighbours, find_neighbours, name_tool
from baton_git.git.hooks.script import HookScript, find_command, read_marker

SECONDS = 5.0
"""Time in seconds after which a program that has not loaded is reported as hanging."""


class ProgramHealth:
    """Checks programs, and runs each of them at most once.

    Args:
        own: command of the running baton, which is known to work.
    """

    def __init__(self, environment: Mapping[str, str], own: Sequence[str] = ()) -> None:
        self._environment = environment
        self._problems: dict[tuple[str, ...], str | None] = {tuple(own): None}

    def find_problem(self, words: Sequence[str], *, may_run: bool) -> str | None:
        """Return a description of what is wrong with a program, or None if no problem is found.

        Args:
            words: the command, beginning with the program.
            may_run: whether the program is trusted; programs named by a cloned repository must not be run.
        """
        path = shutil.which(words[0], path=self._environment.get("PATH"))
        if path is None:
            exists = Path(words[0]).is_absolute() and Path(words[0]).exists()
            return f"{words[0]} is not executable" if exists else f"{words[0]} is missing"
        interpreter = _interpreter(Path(path))
        if interpreter is not None and shutil.which(interpreter, path=self._environment.get("PATH")) is None:
            return f"{path} needs {interpreter}, which is missing"
        if not may_run:
            return None
        command = (path, *words[1:])
        if command not in self._problems:
            self._problems[command] = self._run_check(command)
        return self._problems[command]

    def _run_check(self, command: Sequence[str]) -> str | None:
        """Run a command that only loads the program; return a description of its failure, or None."""
        try:
            ended = child_process.run([*command, "hook", "--check"], self._environment, Path(), SECONDS)
        except OSError as error:
            return f"{command[0]} cannot be started: {error.strerror}"
        if ended is None:
            return f"{command[0]} hangs: no answer after {SECONDS:g} seconds"
        last = (ended.err.strip().splitlines() or ["no message"])[-1]
        return f"{command[0]} fails with exit status {ended.code}: {last[:200]}" if ended.code else None


def _interpreter(path: Path) -> str | None:
    """Return the interpreter in the first line of a script, or None if it has none or cannot be read."""
    try:
        with path.open("rb") as file:
            first = file.readline(512)
    except OSError:
        return None
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    if words[:1] == ["/usr/bin/env"]:
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else None


REMEDY = "; run: baton hooks install"
"""The end of the message about a problem that an installation solves."""


class EventState(NamedTuple):
    """The state of baton's hook for one of git's hook events.

    Attributes:
        runs: whether baton's script will run.
        how: how the script runs, or why it does not.
        is_outdated: whether the script runs, but `install` would write another one.
        neighbours: what the script and other tools do to each other.
    """

    event: str
    runs: bool
    how: str
    is_outdated: bool = False
    neighbours: Neighbours = Neighbours()

    @property
    def summary(self) -> str:
        """`how`, what it means for other tools and for the script, and the command that updates an outdated script."""
        problem = self.neighbours.input_problem
        parts = [f"without its input, {self.how}: {problem}" if problem else self.how]
        if problem and self.event == "post-rewrite":
            parts.append(_INPUT_REPLACED)
        parts += [f"runs {command} too{_WHY}" for command in self.neighbours.stands_in.values()]
        parts += [f"keeps the hook of {tool} out" for tool in self.neighbours.keeps_out]
        if self.is_outdated:
            parts.append(f"not up to date{REMEDY}")
        return "; ".join(parts)


_WHY = ", since no hook of its own does"
_INPUT_REPLACED = "baton finds the rewritten commits in the reflog"


def status(location: HookLocation, scripts: Sequence[HookScript], health: ProgramHealth) -> list[EventState]:
    """Return the state of the events of these scripts, compared with what `install` would write.

    Raises:
        StoreError: git cannot be run, or a hook cannot be read.
    """
    return [_state(location, script, health) for script in scripts]


def _state(location: HookLocation, script: HookScript, health: ProgramHealth) -> EventState:
    why = next(_obstacles(location, script, health), None)
    if why is not None:
        return EventState(script.event, False, why)
    ours = installed_script(location, script.event)
    how = {
        "configured": "configured in git's settings",
        "files": f"as {ours}",
        "external": f"called from {location.file_for(script.event)}",
    }[location.mode]
    is_outdated = read_hook(ours) != script.text
    return EventState(script.event, True, how, is_outdated, find_neighbours(location, script.event, ours))


def _obstacles(location: HookLocation, script: HookScript, health: ProgramHealth) -> Iterator[str]:
    find_obstacles = {
        "configured": _configuration_obstacles,
        "files": _file_obstacles,
        "external": _external_obstacles,
    }[location.mode]
    yield from find_obstacles(location, script.event)
    text = read_hook(installed_script(location, script.event)) or b""
    command = find_command(text)
    if not command:
        return
    if not is_program(Path(command[0])):
        if shutil.which("baton", path=location.git.environment.get("PATH")) is None:
            yield f"it cannot start baton, because {command[0]} is missing or not executable{REMEDY}"
        return
    mark = read_marker(text)
    problem = health.find_problem(command, may_run=mark is not None and mark.intact)
    if problem is not None:
        remedy = "; install baton again" if command == script.command else REMEDY
        yield f"it does nothing, because {problem}{remedy}"


def _configuration_obstacles(location: HookLocation, event: str) -> Iterator[str]:
    section = f"hook.baton-{event}"
    if not exists(location.scripts / event):
        yield "not installed"
    command = location.git.ask("config", "--get", f"{section}.command")
    if command is None or location.git.ask("config", "--get", f"{section}.event") != event:
        yield f"git's settings have no {section}{REMEDY}"
    elif command != location.setting_for(event):
        yield f"{section}.command was changed{REMEDY}"
    if location.git.ask("config", "--type=bool", "--get", f"{section}.enabled") == "false":
        yield f"switched off by {section}.enabled"
    if not is_program(location.scripts / event):
        yield f"{location.scripts / event} is not executable"


def _file_obstacles(location: HookLocation, event: str) -> Iterator[str]:
    file = installed_script(location, event)
    current = read_hook(file)
    if not exists(location.scripts / event) and (current is None or read_marker(current) is None):
        yield "not installed"
    elif current is None:
        yield f"{file} was removed{REMEDY}"
    elif read_marker(current) is None:
        tool = name_tool(current)
        yield f"{tool} has put its own hook at {file}; baton hooks install adds ours, which runs that one first"
    for path in (file, location.folder_for(event) / event):
        if not is_program(path):
            yield f"{path} is not executable"


def _external_obstacles(location: HookLocation, event: str) -> Iterator[str]:
    folder, file = location.folder_for(event), location.file_for(event)
    if location.is_emptied:
        yield f"{location.why_external}{location.remedy_if_emptied}"
        return
    if not folder.is_dir():
        where = "that folder does not exist here" if folder == location.folder else f"a push looks for it in {folder}"
        yield f"{location.why_external}, and {where}, so no hook runs at all"
        return
    if not exists(location.scripts / event):
        yield f"not installed; {location.why_external}"
    if f"/baton/hooks/{event}".encode() not in (read_hook(file) or b""):
        line = location.line_for(event)
        yield f"{location.why_external}, so git does not run baton's hook; add this line to {file}: {line}"
    elif not is_program(folder / event):
        yield f"{folder / event} is missing or not executable"
