"""Command-line additions to `init`, `boot`, `wrap` and `status`: options, settings to store, and the output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from baton_git.core.output import flat
from baton_git.interfaces.cli.app import App, baton_command
from baton_git.interfaces.cli.verb_command import Addition

if TYPE_CHECKING:
    from baton_git.verbs.sessions.sessions import InitResult


def _render_init(app: App, result: InitResult) -> None:
    """Store the namespace's name and the merge driver in the repository's git config, and print the name."""
    if not app.settings.is_own_store:  # so that the namespace is found when the folder is renamed
        app.settings.repository_config.set("baton.namespace", result.namespace)
        app.settings.repository_config.set("merge.baton.name", "records of baton")
        app.settings.repository_config.set("merge.baton.driver", f"{baton_command()} merge-driver %O %A %B %P")
    app.answer(result.as_data(), result.namespace)
    is_plain = result.ref.endswith(f"/{result.namespace}")  # else `baton/%41pp`, which nobody types
    name = result.ref if is_plain else f"the namespace {flat(result.namespace)}"
    app.say(
        f"created {name} in {result.repository}" if result.created else f"{name} already exists in {result.repository}"
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


ADDITIONS = {
    "init": Addition(
        acting=lambda app: app.creating,
        render=_render_init,
    ),
}
