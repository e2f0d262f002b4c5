"""Checks of the hooks and programs that git and the agent CLIs start."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore, find_unsaved_turn
from baton_git.agents.registry import AGENTS, Scope
from baton_git.agents.settings.mcp_server import find_server
from baton_git.agents.settings.report import AgentReport, FileReport, Verdict
from baton_git.core.output import count_noun
from baton_git.core.times import from_seconds, parse_time_or_none, relative_time
from baton_git.git import child_process
from baton_git.git.hooks.installing import install, is_installed
from baton_git.git.hooks.location import EVENTS, HookLocation, events_for
from baton_git.git.hooks.reporting import REMEDY, EventState, status
from baton_git.git.hooks.script import HookScript, make_scripts, read_marker
from baton_git.verbs.doctor.examination import AgentSetup, Diagnostic, Examination, Repair, Severity, ok, read_log
from baton_git.verbs.doctor.journal import list_files
from baton_git.verbs.upkeep.extras import describe_install

# --- the check of `doctor` for the installed git hooks


def check_git_hooks(examination: Examination) -> Iterator[Diagnostic]:
    """Find git hooks that are outdated or do not run (missing for some events, overwritten, or without a program)."""
    if examination.common_dir == examination.local.data / "state.git":
        yield ok("your own store has no hooks")
        return
    location = HookLocation.of(examination.required_store.repository, examination.git)
    ours = _list_scripts(examination, location)
    states = status(location, list(ours.values()), examination.local.health)
    stopped = [state for state in states if not state.runs]
    stale = [state for state in states if state.is_outdated]
    if len(stopped) == len(states) and not is_installed(location):
        yield ok("not installed; to check the open loops at each commit: baton hooks install")
        return
    blind = [state for state in states if state.runs and state.neighbours.input_problem]
    if not stopped and not stale and not blind:
        yield ok(_describe_working(states))
    for problem, events in _group_states(stopped).items():
        yield Diagnostic(
            "error", f"{', '.join(events)}: {problem}", "another tool wrote there, files were removed, or baton moved",
            "baton hooks install", _install_git_hooks(location, ours),
        )  # fmt: skip
    for severity, group in _split_stale(stale):
        names = ", ".join(state.event for state in group)
        tools = " and ".join(sorted({tool for state in group for tool in state.neighbours.keeps_out}))
        kept_out = f", and keep the hooks of {tools} out: a push may leave out its files" if tools else ""
        yield Diagnostic(
            severity, f"{names}: not up to date{kept_out}", "baton was updated since",
            "baton hooks install", _install_git_hooks(location, ours),
        )  # fmt: skip
    for state in blind:
        yield Diagnostic(
            "warning", f"{state.event}: {state.summary}", "another script does not pass it on", _advise(state)
        )
    yield from read_log(examination, "hooks.log")


def _advise(state: EventState) -> str:
    if state.event == "post-rewrite":
        return "nothing, as long as git writes reflogs (core.logAllRefUpdates)"
    return "change the script that runs it as described"


def _describe_working(states: Iterable[EventState]) -> str:
    states = list(states)
    standing = [state.event for state in states if state.neighbours.stands_in]
    tools = sorted({tool for state in states for tool in state.neighbours.stands_in})
    more = f"; {', '.join(standing)} also run the hooks of {' and '.join(tools)}" if standing else ""
    return f"{count_noun(len(states), 'hook')} installed and working{more}"


def _split_stale(states: Iterable[EventState]) -> Iterator[tuple[Severity, list[EventState]]]:
    """Yield the outdated hooks that keep another tool out, as an error, and the other outdated hooks."""
    states = list(states)
    keeping = [state for state in states if state.neighbours.keeps_out]
    if keeping:
        yield "error", keeping
    others = [state for state in states if state not in keeping]
    if others:
        yield "warning", others


def _list_scripts(examination: Examination, location: HookLocation) -> dict[str, HookScript]:
    """Return the hook scripts that are or would be installed here, by event."""
    wanted = events_for(examination.required_store.repository)
    events = [event for event in EVENTS if event in wanted or (location.scripts / event).exists()]
    return make_scripts(events, examination.prefix, examination.local.own_command)


def _group_states(states: Iterable[EventState]) -> dict[str, list[str]]:
    """Group the events by the reason why their hooks do not run."""
    groups: dict[str, list[str]] = {}
    for state in states:
        why = state.summary.removesuffix(REMEDY).replace(f"/{state.event}", "/<event>")
        groups.setdefault(why, []).append(state.event)
    return groups


def _install_git_hooks(location: HookLocation, ours: dict[str, HookScript]) -> Repair | None:
    """Return the repair that installs git's hooks; None if a newer baton or another tool owns them."""
    files = list_files(location.scripts)
    if location.mode == "external" or any((mark := _marker(path)) and mark > _own_version(ours) for path in files):
        return None
    config = location.repository.common_dir / "config"
    return Repair(
        "Install the git hooks again; hooks of others run first and are kept",
        partial(_run_install, location, ours),
        lambda: [
            *list_files(location.scripts, *location.folders),
            *(location.scripts / event for event in ours),
            config,
        ],
    )


def _run_install(location: HookLocation, ours: dict[str, HookScript]) -> None:
    install(location, ours)


def _marker(path: Path) -> int | None:
    with suppress(OSError):
        mark = read_marker(path.read_bytes())
        return mark.version if mark is not None else None
    return None


def _own_version(ours: dict[str, HookScript]) -> int:
    mark = read_marker(next(iter(ours.values())).text)
    assert mark is not None
    return mark.version


# --- the check of the agent CLIs' hooks: whether they run, when they last ran, and whether everything was saved


SAVED_AFTER = 60.0
"""A turn whose facts are not saved after this many seconds is reported."""
_SEVERITIES: Mapping[Verdict, Severity] = {"off": "error", "unknown": "unknown", "ok": "ok"}


def check_agent_hooks(examination: Examination) -> Iterator[Diagnostic]:
    """Find agent hooks that do not run, turns that were not saved, and transcripts in an unknown format."""
    for name, setup in examination.local.agents.items():
        report = setup.inspection.report()
        diagnostics = list(_describe_agent(examination, name, setup, report))
        yield from diagnostics or [ok(_describe_running(examination, name, report))]
    if examination.store is not None:
        yield from read_log(examination, "agents.log")


def _describe_agent(
    examination: Examination, name: str, setup: AgentSetup, report: AgentReport
) -> Iterator[Diagnostic]:
    for file in report.files:
        for problem in file.findings:
            repair = _make_install_repair(name, setup, file)
            yield Diagnostic(_SEVERITIES[problem.verdict], f"{name}: {problem.summary}", str(file.path), repair=repair)
    for problem in report.findings:
        yield Diagnostic(_SEVERITIES[problem.verdict], f"{name}: {problem.summary}")
    if report.is_installed:
        yield from _find_unsaved(examination, name)
    if report.is_installed and report.program is None:
        yield Diagnostic("warning", f"{name}: hooks are installed, but {AGENTS[name].hooks.program} is not on the PATH")


def _make_install_repair(name: str, setup: AgentSetup, file: FileReport) -> Repair | None:
    """Return the repair that reinstalls the hooks in one settings file; None if the file cannot be read."""
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


def _list_sessions(examination: Examination, name: str) -> list[HookSession]:
    if examination.store is None:
        return []
    return [session for session in HookSessionStore(str(examination.common_dir)).all() if session.cli == name]


def _describe_running(examination: Examination, name: str, report: AgentReport) -> str:
    """Describe the hooks of a CLI: the last event and the last save."""
    if not report.is_installed:
        return f"{name}: {'no hooks are installed' if report.program else 'not on the PATH'}"
    sessions = _list_sessions(examination, name)
    if not sessions:
        return f"{name}: hooks are installed; no session has called them here yet"
    last = sessions[0]
    event_name = last.event.partition(" ")[0] or "an event"  # `event` is a fingerprint, which begins with the name
    event = f"{event_name} {_describe_age(examination, last.last_seen)}"
    saved = _describe_last_save(examination, sessions)
    return f"{name}: hooks run; the last event was {event}" + (f", the last save {saved}" if saved else "")


def _describe_age(examination: Examination, text: str) -> str:
    moment = parse_time_or_none(text)
    return relative_time(moment, examination.now) if moment is not None else "at an unknown time"


def _describe_last_save(examination: Examination, sessions: list[HookSession]) -> str:
    store = HookSessionStore(str(examination.common_dir))
    saved = []
    for session in sessions:
        with suppress(OSError):
            path = Path(store.path(session.cli, session.session, ".facts"))
            saved.append(path.stat().st_mtime)
    return relative_time(from_seconds(max(saved)), examination.now) if saved else ""


def _find_unsaved(examination: Examination, name: str) -> Iterator[Diagnostic]:
    """Find turns that should have been saved by now and were not."""
    if examination.store is None:
        return
    store = HookSessionStore(str(examination.common_dir))
    for session in _list_sessions(examination, name):
        path = Path(store.path(session.cli, session.session, ".turn"))
        if find_unsaved_turn(store, session) is not None and examination.age(path) > SAVED_AFTER:
            yield Diagnostic(
                "warning", f"{name}: the last turn of session {session.session} was not saved",
                "the process that saves it was killed, or failed; see baton/agents.log in the git directory",
                "the next start of a session saves it",
            )  # fmt: skip


# --- checks of the programs that agent CLIs start: the time a hook takes, and the MCP server


SLOW_SECONDS = 2.0
"""A hook that takes longer than this to load noticeably delays each turn of a session."""
RUN_SECONDS = 10.0
"""Time limit, in seconds, of one measured program."""


def check_hook_cost(examination: Examination) -> Iterator[Diagnostic]:
    """Measure the time of a hook that has nothing to do, and of one that imports the modules of all events."""
    for words in _list_programs(examination):
        idle = _measure(examination, [*words, "hook", "--agent", next(iter(AGENTS))])
        loaded = _measure(examination, [*words, "hook", "--check"])
        if idle is None or loaded is None:
            yield Diagnostic("error", f"{words[0]}: a hook takes more than {RUN_SECONDS:g} s, or fails")
            continue
        text = f"{idle * 1000:.0f} ms with nothing to do, {loaded * 1000:.0f} ms if it imports everything"
        if loaded > SLOW_SECONDS:
            yield Diagnostic(
                "warning", text, f"a slow disk, or a busy machine: {words[0]}", "try again when the machine is idle"
            )
        else:
            yield ok(text)


def _list_programs(examination: Examination) -> list[tuple[str, ...]]:
    """Return the working commands of baton that `agents install` would write, for each scope with installed hooks."""
    programs = []
    for setup in examination.local.agents.values():
        inspection = setup.inspection
        installed = [scope for scope, file in inspection.files.items() if file.entries_or_none()]
        words = dict.fromkeys(inspection.programs[scope] for scope in installed)
        programs += [program for program in words if inspection.health.find_problem(program, may_run=True) is None]
    return list(dict.fromkeys(programs))


def _measure(examination: Examination, words: list[str]) -> float | None:
    """Return how long a program runs, in seconds; None if it fails."""
    begin = time.monotonic()
    with suppress(OSError):
        done = child_process.run(words, examination.local.environment, Path(), RUN_SECONDS)
        if done is not None and done.code == 0:
            return time.monotonic() - begin
    return None


def check_mcp(examination: Examination) -> Iterator[Diagnostic]:
    """Find MCP servers in the settings of agent CLIs that cannot be started."""
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
    problem = examination.local.health.find_problem([command], may_run=False)
    if problem is None and command == setup.inspection.programs[scope][0] and find_spec("mcp") is None:
        return f"a package is missing: {describe_install('mcp')}"
    return problem
