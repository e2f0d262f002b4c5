"""Command-line additions to `init`, `boot`, `wrap` and `status`: options, settings to store, and the output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from baton_git.core.output import flat
from baton_git.interfaces.cli.app import INPUT_FILE, App, baton_command, read_text
from baton_git.interfaces.cli.verb_command import Addition, Values

if TYPE_CHECKING:
    from baton_git.namespace.workspace import Workspace
    from baton_git.verbs.sessions.sessions import BootResult, InitResult, SessionStart


def _render_init(app: App, result: InitResult) -> None:
    """Store the namespace's name and the merge driver in the repository's git config, and print the name."""
    if not app.settings.is_own_store:  # so that the namespace is found when the folder is renamed
        app.settings.repository_config.set("baton.namespace", result.namespace)
        app.settings.repository_config.set("merge.baton.name", "records of baton")
        app.settings.repository_config.set("merge.baton.driver", f"{baton_command()} merge-driver %O %A %B %P")
    app.answer(result.as_data(), result.namespace)
    app.say(
        f"created {result.ref} in {result.repository}"
        if result.created
        else f"{result.ref} already exists in {result.repository}"
    )
    app.say(*(flat(line) for line in result.news))
    if app.settings.options.namespace and not app.settings.is_own_store:
        app.say("commands here use this namespace from now on (git config baton.namespace)")
    if result.created:
        app.say("next: baton boot at the start of a session, baton wrap --context TEXT at its end")
        if app.settings.remote_settings.remotes and not app.settings.is_own_store and not result.revision:
            app.say(
                "to share it, once: baton sync; then sessions do it by themselves (to send it with each git push, too, "
                "and check loops after commits: baton hooks install)"
            )
    from baton_git.interfaces.cli.sessions.mine import (
        offer_mining,
    )  # slow to import

    offer_mining(app)


def _fill_start(app: App, values: Values) -> Values:
    off = {"no_verify": "check_seconds", "no_sync": "sync_seconds"}
    return values | {field: 0 for option, field in off.items() if values.get(option)}


def _boot(app: App, ws: Workspace, verb_input: SessionStart, values: Values) -> BootResult:
    from baton_git.interfaces.background.catching_up import with_catch_up
    from baton_git.interfaces.context.client_cache import with_client_cache
    from baton_git.verbs.sessions.sessions import boot  # slow to import

    return boot.verb.run(with_catch_up(with_client_cache(ws)), app.now, verb_input)


def _send_cached(app: App, values: Values) -> None:
    """Send what waits in the client's cache, which belongs to no repository, although no session can start here."""
    from baton_git.interfaces.context.client_cache import send_cached
    from baton_git.verbs.sessions.session_start import LEAST_FOR_CACHE
    from baton_git.verbs.sharing.auto_sync import AT_START  # slow to import

    seconds = values.get("sync_seconds", AT_START)
    if seconds > 0:
        app.say(*map(flat, send_cached(max(LEAST_FOR_CACHE, seconds))))


def _render_boot(app: App, result: BootResult) -> int | None:
    app.answer(result.as_data(), result.brief)
    if result.is_new:
        app.tell_new_namespace(result.namespace)
    return None if result.is_readable else 1


def _fill_end(app: App, values: Values) -> Values:
    if "context" in values and "file" in values:
        raise click.UsageError("give --context or --file, not both")
    context = {"context": read_text(values["file"])} if "file" in values else {}
    return values | context | ({"sync": False} if values.get("no_sync") else {})


_START = (
    click.option("--no-verify", is_flag=True, default=None, help="Run no checks."),
    click.option("--no-sync", is_flag=True, default=None, help="Do not fetch from the remote."),
)
_END = (
    click.option(
        "--file",
        "-f",
        "file",
        type=INPUT_FILE,
        metavar="FILE",
        help="Read the context from a file; - reads standard input.",
    ),
    click.option("--no-sync", is_flag=True, default=None, help="Do not push to the remote."),
)
ADDITIONS = {
    "init": Addition(
        about="This also sets git config baton.namespace and a merge driver in the repository, so that git merge "
        "merges the branch like baton sync.",
        acting=lambda app: app.creating,
        render=_render_init,
    ),
    "boot": Addition(
        _START,
        about="Later commands in this work tree act in this session until baton wrap. If several agents work in "
        "one work tree at the same time, each must set BATON_SESSION.\n\nExit status: 1 if "
        "the newest revision cannot be read.",
        fill=_fill_start,
        run=_boot,
        acting=lambda app: app.lenient,
        unopened=_send_cached,
        render=_render_boot,
    ),
    "wrap": Addition(_END, fill=_fill_end),
}
