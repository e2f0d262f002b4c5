"""The check of the agent CLIs' hooks: whether they run, when they last ran, and whether everything was saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore, find_unsaved_turn
from baton_git.agents.registry import AGENTS, Scope
from baton_git.agents.settings.report import AgentReport, FileReport, Verdict
from baton_git.core.times import from_seconds, parse_time_or_none, relative_time
from baton_git.verbs.doctor.diagnostic import Diagnostic, Repair, Severity, ok
from baton_git.verbs.doctor.examination import AgentSetup, Examination
from baton_git.verbs.doctor.hook_log import read_log

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
