"""Checks of the hooks: those of git, those of the agents' CLIs, what they cost, and the MCP server."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from baton_git.agents.hook_events.ended_turns import find_unsaved_turn
from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore
from baton_git.agents.registry import AGENTS
from baton_git.agents.settings.locations import Scope
from baton_git.agents.settings.mcp_server import find_server
from baton_git.agents.settings.report import AgentReport, FileReport, Verdict
from baton_git.core.natural_times import relative_time
from baton_git.core.output import one_line
from baton_git.core.times import parse_time_or_none
from baton_git.git.hooks.installing import install
from baton_git.git.hooks.location import EVENTS, HookLocation, events_for
from baton_git.git.hooks.reporting import EventState, status
from baton_git.git.hooks.script import HookScript, read_marker, scripts
from baton_git.git.remotes import child_process
from baton_git.verbs.doctor.diagnostic import Diagnostic, Repair, Severity, count, ok
from baton_git.verbs.doctor.examination import AgentSetup, Examination
from baton_git.verbs.doctor.journal import list_files

LOG_AGE = timedelta(days=7)
"""Problems of hooks that are older do not count."""
LOG_LINES = 2000
SLOW_SECONDS = 2.0
"""A hook that takes longer to load is felt at each turn of a session."""
RUN_SECONDS = 10.0
SAVED_AFTER = 60.0
"""Seconds in which the facts of a turn are saved."""

_SEVERITIES: Mapping[Verdict, Severity] = {"off": "error", "unknown": "unknown", "ok": "ok"}


# --- git


def check_git_hooks(examination: Examination) -> Iterator[Diagnostic]:
    """Find git hooks that do not run: not installed everywhere, overwritten, out of date, without their program."""
    if examination.common_dir == examination.local.data / "state.git":
        yield ok("your own store has no hooks")
        return
    place = HookLocation.of(examination.stored.repository, examination.git)
    ours = _list_scripts(examination, place)
    states = status(place, list(ours.values()), examination.local.health)
    stopped = [state for state in states if not state.runs]
    stale = [state for state in states if state.runs and "not up to date" in state.said]
    if len(stopped) == len(states) and not place.scripts.is_dir():
        yield ok("not installed; baton hooks install has commits settle open loops")
        return
    if not stopped and not stale:
        yield ok(f"{count(len(states), 'hook')} installed, and run")
    for problem, events in _group_states(stopped).items():
        yield Diagnostic(
            "error", f"{', '.join(events)}: {problem}", "another tool wrote there, files were removed, or baton moved",
            "baton hooks install", _install_git_hooks(place, ours),
        )  # fmt: skip
    if stale:
        yield Diagnostic(
            "warning", f"{', '.join(state.event for state in stale)}: not up to date", "baton was updated since",
            "baton hooks install", _install_git_hooks(place, ours),
        )  # fmt: skip
    yield from _read_log(examination, "hooks.log")


def _list_scripts(examination: Examination, place: HookLocation) -> dict[str, HookScript]:
    """The scripts of the events that are installed here, or would be."""
    wanted = events_for(examination.stored.repository)
    events = [event for event in EVENTS if event in wanted or (place.scripts / event).exists()]
    return scripts(events, examination.prefix, examination.local.own_command)


def _group_states(states: Iterable[EventState]) -> dict[str, list[str]]:
    """The events by why they do not run; where only the name of the event differs, that is the same."""
    groups: dict[str, list[str]] = {}
    for state in states:
        why = state.said.removesuffix(": baton hooks install").replace(f"/{state.event}", "/<event>")
        groups.setdefault(why, []).append(state.event)
    return groups


def _install_git_hooks(place: HookLocation, ours: dict[str, HookScript]) -> Repair | None:
    """Return how git's hooks are installed; None where a newer baton or another tool owns the place."""
    files = list_files(place.scripts)
    if place.mode == "external" or any((mark := _marker(path)) and mark > _own_version(ours) for path in files):
        return None
    config = place.repository.common_dir / "config"
    return Repair(
        "Install the git hooks again; hooks of others run first and are kept",
        partial(_run_install, place, ours),
        lambda: [*list_files(place.scripts, *place.folders), *(place.scripts / event for event in ours), config],
    )


def _run_install(place: HookLocation, ours: dict[str, HookScript]) -> None:
    install(place, ours)


def _marker(path: Path) -> int | None:
    with suppress(OSError):
        mark = read_marker(path.read_bytes())
        return mark.version if mark is not None else None
    return None


def _own_version(ours: dict[str, HookScript]) -> int:
    mark = read_marker(next(iter(ours.values())).text)
    assert mark is not None
    return mark.version


# --- agents' CLIs


def check_agent_hooks(examination: Examination) -> Iterator[Diagnostic]:
    """Find hooks of agents' CLIs that do not run, turns that were not saved, and transcripts of an unknown form."""
    for name, setup in examination.local.agents.items():
        report = setup.inspection.report()
        diagnostics = list(_describe_agent(examination, name, setup, report))
        yield from diagnostics or [ok(_describe_running(examination, name, report))]
    if examination.store is not None:
        yield from _read_log(examination, "agents.log")


def _describe_agent(
    examination: Examination, name: str, setup: AgentSetup, report: AgentReport
) -> Iterator[Diagnostic]:
    for file in report.files:
        for problem in file.findings:
            repair = _install_hooks(name, setup, file)
            yield Diagnostic(_SEVERITIES[problem.verdict], f"{name}: {problem.said}", str(file.path), repair=repair)
    for problem in report.findings:
        yield Diagnostic(_SEVERITIES[problem.verdict], f"{name}: {problem.said}")
    if report.is_installed:
        yield from _find_unsaved(examination, name)
    if report.is_installed and report.program is None:
        yield Diagnostic("warning", f"{name}: hooks are installed, but {AGENTS[name].hooks.program} is not on the PATH")


def _install_hooks(name: str, setup: AgentSetup, file: FileReport) -> Repair | None:
    """Return how the hooks of one settings file are installed again; None where it cannot be read."""
    if file.state == "unreadable":
        return None
    settings = setup.inspection.files[file.scope]
    return Repair(
        f"Install the hooks of {name} again in {file.path}",
        partial(_run_agent_install, setup, file.scope),
        lambda: [file.path, *sorted(settings.memory.glob("*.json"))],
    )


def _run_agent_install(setup: AgentSetup, scope: Scope) -> None:
    setup.inspection.files[scope].install(setup.wanted[scope])


def _sessions(examination: Examination, name: str) -> list[HookSession]:
    if examination.store is None:
        return []
    return [seen for seen in HookSessionStore(str(examination.common_dir)).all() if seen.cli == name]


def _describe_running(examination: Examination, name: str, report: AgentReport) -> str:
    """Say how the hooks of a CLI are: the last event, and the last save."""
    if not report.is_installed:
        return f"{name}: {'no hooks are installed' if report.program else 'not on the PATH'}"
    sessions = _sessions(examination, name)
    if not sessions:
        return f"{name}: hooks are installed; no session has called them here yet"
    last = sessions[0]
    event = f"{last.event or 'an event'} {_ago(examination, last.seen)}"
    saved = _last_save(examination, sessions)
    return f"{name}: hooks run; the last event was {event}" + (f", the last save {saved}" if saved else "")


def _ago(examination: Examination, text: str) -> str:
    moment = parse_time_or_none(text)
    return relative_time(moment, examination.now) if moment is not None else "at an unknown time"


def _last_save(examination: Examination, sessions: list[HookSession]) -> str:
    store = HookSessionStore(str(examination.common_dir))
    ages = []
    for seen in sessions:
        with suppress(OSError):
            path = Path(store.path(seen.cli, seen.session, ".facts"))
            ages.append(examination.now.timestamp() - path.stat().st_mtime)
    return relative_time(examination.now - timedelta(seconds=min(ages)), examination.now) if ages else ""


def _find_unsaved(examination: Examination, name: str) -> Iterator[Diagnostic]:
    """Find turns whose facts were to be saved by now."""
    if examination.store is None:
        return
    store = HookSessionStore(str(examination.common_dir))
    for seen in _sessions(examination, name):
        path = Path(store.path(seen.cli, seen.session, ".turn"))
        if find_unsaved_turn(store, seen) is not None and examination.age(path) > SAVED_AFTER:
            yield Diagnostic(
                "warning", f"{name}: the last turn of session {seen.session} was not saved",
                "the process that saves it was killed, or failed; see baton/agents.log in the git directory",
                "the next start of a session saves it",
            )  # fmt: skip


def _read_log(examination: Examination, name: str) -> Iterator[Diagnostic]:
    """Report the recent problems that hooks have logged."""
    path = examination.common_dir / "baton" / name
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
    except OSError:
        return
    recent = [line for line in lines if _is_recent(line, examination.now)]
    if recent:
        yield Diagnostic(
            "warning", f"hooks logged {count(len(recent), 'problem')} in the last {LOG_AGE.days} days",
            f"the last: {one_line(recent[-1], 200)}", f"see {path}",
        )  # fmt: skip


def _is_recent(line: str, now: datetime) -> bool:
    moment = parse_time_or_none(line.split(" ")[0])
    return moment is not None and now - LOG_AGE < moment


# --- cost


def check_hook_cost(examination: Examination) -> Iterator[Diagnostic]:
    """Measure what a hook costs: with nothing to do, and until all that it needs is loaded."""
    for words in _list_programs(examination):
        idle = _measure(examination, [*words, "hook", "--agent", next(iter(AGENTS))])
        loaded = _measure(examination, [*words, "hook", "--check"])
        if idle is None or loaded is None:
            yield Diagnostic("error", f"{words[0]}: a hook takes more than {RUN_SECONDS:g} s, or cannot be started")
            continue
        text = f"{idle * 1000:.0f} ms with nothing to do, {loaded * 1000:.0f} ms until all is loaded"
        if loaded > SLOW_SECONDS:
            yield Diagnostic(
                "warning", text, f"a slow disk, or a busy machine: {words[0]}", "try again when it is idle"
            )
        else:
            yield ok(text)


def _list_programs(examination: Examination) -> list[tuple[str, ...]]:
    """The programs that the hooks of this user start; those of a project only where they are our own."""
    programs = []
    for setup in examination.local.agents.values():
        inspection = setup.inspection
        installed = [scope for scope, file in inspection.files.items() if file.entries_or_none()]
        words = dict.fromkeys(inspection.programs[scope] for scope in installed)
        programs += [program for program in words if inspection.health.problem(program, may_run=True) is None]
    return list(dict.fromkeys(programs))


def _measure(examination: Examination, words: list[str]) -> float | None:
    """Return the seconds that a program takes; None when it fails."""
    begin = time.monotonic()
    with suppress(OSError):
        done = child_process.run(words, examination.local.environment, Path(), RUN_SECONDS)
        if done is not None and done.code == 0:
            return time.monotonic() - begin
    return None


# --- MCP


def check_mcp(examination: Examination) -> Iterator[Diagnostic]:
    """Find MCP servers in the settings of agents' CLIs that cannot be started."""
    machine = examination.local
    for name, setup in machine.agents.items():
        for scope, tools in setup.tools.items():
            server = find_server(name, scope, tools.root, machine.environment)
            if server is None:
                continue
            command = server.get("command") if isinstance(server, dict) else None
            problem = _find_problem(examination, setup, scope, command)
            if problem is None:
                yield ok(f"{name}: the server of {'this user' if scope == 'user' else 'this project'} is configured")
                continue
            project = " --project" if scope == "project" else ""
            yield Diagnostic(
                "error", f"{name}: the MCP server does not start: {problem}", str(tools.server_path or ""),
                f"baton agents install {name}{project} --with mcp",
            )  # fmt: skip


def _find_problem(examination: Examination, setup: AgentSetup, scope: Scope, command: object) -> str | None:
    if not isinstance(command, str) or not command:
        return "its settings name no command"
    problem = examination.local.health.problem([command], may_run=False)
    if problem is None and command == setup.inspection.programs[scope][0] and find_spec("mcp") is None:
        return "a package is missing: pip install 'baton-git[mcp]'"
    return problem
