"""`baton hooks`: install git hooks next to those of other tools, check them, and remove them."""

from __future__ import annotations

import click

from baton_git.core.errors import InvalidArgument
from baton_git.git.hooks.installing import HookReport, find_uncalled, install, uninstall
from baton_git.git.hooks.location import EVENTS, HookLocation, events_for
from baton_git.git.hooks.reporting import EventState, ProgramHealth, status
from baton_git.git.hooks.script import make_scripts
from baton_git.git.local_git import LocalGit
from baton_git.interfaces.cli.app import App, command, group
from baton_git.interfaces.cli.machine.hook_events import run_command
from baton_git.interfaces.context.process import outside_git, own_command


@command("install", short_help="Install or update the git hooks.")
@click.option("--server", is_flag=True, help="Also validate pushes to this repository, as in a bare repository.")
def install_command(app: App, server: bool) -> None:
    """Install or update the git hooks; existing hooks are kept, and run first.

    After a commit, merge, checkout or rewrite, the hooks of baton run the checks of open loops whose result may have
    changed, in the background. When you push, they push the namespace too. In a bare repository, they refuse invalid
    pushes, and run checks after valid ones.

    \b
    baton hooks install
    baton hooks install --repo /srv/git/project.git
    """
    location = _find_location(app)
    events = events_for(app.settings.repository, server=server)
    report = install(location, make_scripts(events, app.settings.prefix, own_command()))
    uncalled = find_uncalled(location, events)
    called = [event for event in events if event not in uncalled]
    done = [f"installed: {', '.join(called)}"] if called else []
    waiting = f"written, but git does not run them: {', '.join(uncalled)}"
    _tell_report(app, location, report, "; ".join([*done, *([waiting] if uncalled else [])]))


@command("status", short_help="Show which hooks will run here.")
def status_command(app: App) -> None:
    """Show for each event whether its hook will run here, and if not, why.

    \b
    baton hooks status
    """
    location = _find_location(app)
    installed = [event for event in EVENTS if (location.scripts / event).exists()]
    events = [event for event in EVENTS if event in installed or event in events_for(app.settings.repository)]
    ours = make_scripts(events, app.settings.prefix, own_command())
    states = status(location, list(ours.values()), ProgramHealth(outside_git(), own_command()))
    data = {
        "mode": location.mode, "git": ".".join(map(str, location.git.version)), "folder": str(location.folder),
        "hooks_path": location.hooks_path,
        "events": [_describe_state(state) for state in states],
    }  # fmt: skip
    app.answer(
        data, "\n".join(f"{state.event:<14} {'runs' if state.runs else '-   '}  {state.summary}" for state in states)
    )
    if not installed:
        app.say("no hook of baton is installed here; to install them: baton hooks install")
    elif not all(state.runs for state in states):
        app.say("the next baton boot, verify or sync makes up for a hook that does not run")


def _describe_state(state: EventState) -> dict[str, object]:
    stands_in, keeps_out, problem = state.neighbours
    return {
        "event": state.event, "runs": state.runs, "gets_input": state.runs and not problem,
        "stands_in_for": list(stands_in), "keeps_out": list(keeps_out), "summary": state.summary,
    }  # fmt: skip


@command("uninstall", short_help="Remove the git hooks, and restore earlier ones.")
def uninstall_command(app: App) -> None:
    """Remove the git hooks, and restore the hooks that were there before, unchanged.

    \b
    baton hooks uninstall
    """
    location = _find_location(app)
    _tell_report(app, location, uninstall(location), "uninstalled")


def _find_location(app: App) -> HookLocation:
    if app.settings.is_own_store:
        raise InvalidArgument("your own store has no hooks", hint="change to a repository, or name one with --repo")
    repository = app.settings.repository
    return HookLocation.of(repository, LocalGit(repository.work_tree or repository.git_dir, outside_git()))


def _tell_report(app: App, location: HookLocation, report: HookReport, done: str) -> None:
    app.answer({"mode": report.mode, "changed": report.has_changes, "notes": list(report.notes)}, "")
    app.say(*report.notes, done if report.has_changes else "nothing to do")


hooks = group(
    "hooks",
    "Install git hooks that run checks after commits, push the namespace when you push, and validate pushes.",
    [install_command, status_command, uninstall_command, run_command],
)

COMMANDS = {"hooks": hooks}
