"""`baton hooks`: next to the git hooks of others."""

from __future__ import annotations

import click

from baton_git.core.errors import InvalidArgument
from baton_git.git.hooks.installing import HookReport, install, uninstall
from baton_git.git.hooks.location import EVENTS, HookLocation, events_for
from baton_git.git.hooks.program_health import ProgramHealth
from baton_git.git.hooks.reporting import status
from baton_git.git.hooks.script import scripts
from baton_git.git.local_git import LocalGit
from baton_git.interfaces.cli.app import App, command, group
from baton_git.interfaces.cli.machine.hook_events import run_command
from baton_git.interfaces.context.process import own_command
from baton_git.interfaces.context.settings import outside_git


@command("install", short_help="Install the git hooks, or bring them up to date.")
@click.option("--server", is_flag=True, help="Also look at what is pushed here; a bare repository always does.")
def install_command(app: App, server: bool) -> None:
    """Install the git hooks, or bring them up to date; hooks that are there run first and are kept.

    After a commit, merge, checkout or rewrite they verify the open loops that the code has settled, in the background;
    on a push they send the state along. In a bare repository they refuse pushes that break a rule, and verify.

    \b
    baton hooks install
    baton hooks install --repo /srv/git/project.git
    """
    place = _find_location(app)
    events = events_for(app.settings.repository, server=server)
    report = install(place, scripts(events, app.settings.prefix, own_command()))
    _tell_report(app, place, report, f"installed: {', '.join(events)}")


@command("status", short_help="Say which hooks will run here, and if not, why.")
def status_command(app: App) -> None:
    """Say for each event whether its hook will run here, and if not, why.

    \b
    baton hooks status
    """
    place = _find_location(app)
    installed = [event for event in EVENTS if (place.scripts / event).exists()]
    events = [event for event in EVENTS if event in installed or event in events_for(app.settings.repository)]
    ours = scripts(events, app.settings.prefix, own_command())
    states = status(place, list(ours.values()), ProgramHealth(outside_git(), own_command()))
    data = {
        "mode": place.mode, "git": ".".join(map(str, place.git.version)), "folder": str(place.folder),
        "hooks_path": place.hooks_path, "events": [state._asdict() for state in states],
    }  # fmt: skip
    app.answer(
        data, "\n".join(f"{state.event:<14} {'runs' if state.runs else '-   '}  {state.said}" for state in states)
    )
    if not all(state.runs for state in states):
        app.say("what a hook would have done happens at the next baton boot, verify or sync")


@command("uninstall", short_help="Take the git hooks away; what was there comes back.")
def uninstall_command(app: App) -> None:
    """Take the git hooks away and put back what was there before, to the byte.

    \b
    baton hooks uninstall
    """
    place = _find_location(app)
    _tell_report(app, place, uninstall(place), "uninstalled")


def _find_location(app: App) -> HookLocation:
    if app.settings.is_own_store:
        raise InvalidArgument("your own store has no hooks", hint="stand in a repository, or name one with --repo")
    repository = app.settings.repository
    return HookLocation.of(repository, LocalGit(repository.work_tree or repository.git_dir, outside_git()))


def _tell_report(app: App, place: HookLocation, report: HookReport, done: str) -> None:
    app.answer({"mode": report.mode, "changed": report.has_changes, "notes": list(report.notes)}, "")
    app.say(*report.notes, done if report.has_changes else "nothing to be done")


hooks = group(
    "hooks",
    "Git hooks: verify what a commit settles, push the state along, check what is pushed.",
    [install_command, status_command, uninstall_command, run_command],
)

COMMANDS = {"hooks": hooks}
