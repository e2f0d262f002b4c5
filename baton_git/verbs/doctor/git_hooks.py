"""The check of `doctor` for the installed git hooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from baton_git.core.output import count_noun
from baton_git.git.hooks.installing import install, is_installed
from baton_git.git.hooks.location import EVENTS, HookLocation, events_for
from baton_git.git.hooks.reporting import REMEDY, EventState, status
from baton_git.git.hooks.script import HookScript, make_scripts, read_marker
from baton_git.verbs.doctor.diagnostic import Diagnostic, Repair, Severity, ok
from baton_git.verbs.doctor.examination import Examination
from baton_git.verbs.doctor.hook_log import read_log
from baton_git.verbs.doctor.journal import list_files


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
