"""Report which hooks will run, and why others will not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from baton_git.git.hooks.inspection import exists, is_program, read_hook
from baton_git.git.hooks.installing import run_from
from baton_git.git.hooks.location import HookLocation
from baton_git.git.hooks.program_health import ProgramHealth
from baton_git.git.hooks.script import HookScript, command_in, read_marker


class EventState(NamedTuple):
    """The state of an event.

    Attributes:
        runs: whether baton's script will run.
        how: how it runs, or why it does not.
        is_outdated: whether it runs and `install` would write another script.
    """

    event: str
    runs: bool
    how: str
    is_outdated: bool = False

    @property
    def summary(self) -> str:
        """How it runs, and whether it must be installed again; or why it does not run."""
        return f"{self.how}; not up to date: baton hooks install" if self.is_outdated else self.how


def status(place: HookLocation, scripts: Sequence[HookScript], health: ProgramHealth) -> list[EventState]:
    """Return the state of the events of these scripts, compared with what `install` would write.

    Raises:
        StoreError: git is not installed, or a hook cannot be read.
    """
    return [_state(place, script, health) for script in scripts]


def _state(place: HookLocation, script: HookScript, health: ProgramHealth) -> EventState:
    why = next(_obstacles(place, script, health), None)
    if why is not None:
        return EventState(script.event, False, why)
    file = _file(place, script.event)
    how = {
        "configured": "configured in git's settings",
        "files": f"as {file}",
        "external": f"called from {file}",
    }[place.mode]
    is_outdated = read_hook(_script_file(place, script.event)) != script.text
    return EventState(script.event, True, how, is_outdated)


def _obstacles(place: HookLocation, script: HookScript, health: ProgramHealth) -> Iterator[str]:
    look = {"configured": _not_configured, "files": _not_filed, "external": _not_called}[place.mode]
    yield from look(place, script.event)
    text = read_hook(_script_file(place, script.event)) or b""
    command = command_in(text)
    if not command:
        return
    if not is_program(Path(command[0])):
        if shutil.which("baton", path=place.git.environment.get("PATH")) is None:
            yield f"it cannot start baton, because {command[0]} is gone: baton hooks install"
        return
    mark = read_marker(text)
    problem = health.problem(command, may_run=mark is not None and mark.intact)
    if problem is not None:
        mend = "install baton again" if command == script.command else "baton hooks install"
        yield f"it does nothing, because {problem}: {mend}"


def _not_configured(place: HookLocation, event: str) -> Iterator[str]:
    section = f"hook.baton-{event}"
    if not exists(place.scripts / event):
        yield "not installed"
    command = place.git.ask("config", "--get", f"{section}.command")
    if command is None or place.git.ask("config", "--get", f"{section}.event") != event:
        yield f"git's settings have no {section}: baton hooks install"
    elif command != place.setting_for(event):
        yield f"{section}.command was changed: baton hooks install"
    if place.git.ask("config", "--type=bool", "--get", f"{section}.enabled") == "false":
        yield f"switched off by {section}.enabled"
    if not is_program(place.scripts / event):
        yield f"{place.scripts / event} is not executable"


def _not_filed(place: HookLocation, event: str) -> Iterator[str]:
    file = _script_file(place, event)
    current = read_hook(file)
    if not exists(place.scripts / event) and (current is None or read_marker(current) is None):
        yield "not installed"
    elif current is None:
        yield f"{file} was removed: baton hooks install puts it back"
    elif read_marker(current) is None:
        yield f"another tool has put its own hook at {file}: baton hooks install adds ours before it"
    for path in (file, place.folder / event):
        if not is_program(path):
            yield f"{path} is not executable"


def _not_called(place: HookLocation, event: str) -> Iterator[str]:
    if not place.folder.is_dir():
        yield f"{place.why_external}, and that folder does not exist here: no hook runs at all"
        return
    file = place.file_for(event)
    if not exists(place.scripts / event):
        yield f"not installed; {place.why_external}"
    if f"/baton/hooks/{event}".encode() not in (read_hook(file) or b""):
        yield f"{place.why_external}: git does not run baton's hook; add to {file}: {place.line_for(event)}"
    elif not is_program(place.folder / event):
        yield f"{place.folder / event} is missing or not executable"


def _file(place: HookLocation, event: str) -> Path:
    return place.file_for(event) if place.mode == "external" else _script_file(place, event)


def _script_file(place: HookLocation, event: str) -> Path:
    """Return the file that runs as baton's script: in git's folder of hooks (mode `files`) or in baton's own."""
    return run_from(place.folder / event) if place.mode == "files" else place.scripts / event
