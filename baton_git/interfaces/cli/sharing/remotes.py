"""Command-line additions to the verbs of remotes: their output."""

from __future__ import annotations

from baton_git.core.output import count_noun
from baton_git.interfaces.cli.app import App, flat
from baton_git.interfaces.cli.rendering.styles import Role
from baton_git.interfaces.cli.rendering.table import Column, render_table
from baton_git.interfaces.cli.verb_command import Addition
from baton_git.verbs.sharing.remotes import RemoteList, RemotePolicyResult
from baton_git.verbs.sharing.sync import SyncResult


def _render_list(app: App, result: RemoteList) -> None:
    columns = (
        Column("remote", lambda row: row.remote, Role.HEADING),
        Column("policy", lambda row: row.policy),
        Column("trusted", lambda row: "yes" if row.trusted else "no"),
        Column("to review", lambda row: row.waiting or "", Role.WARNING, right=True),
        Column("to send", lambda row: row.pending or "", right=True),
        Column("address", lambda row: row.address),
    )
    app.answer(result.as_data(), render_table(result.remotes, columns))
    if not result.remotes:
        app.say("no remote is configured; to add one: git remote add origin URL")


def _render_policy(app: App, result: RemotePolicyResult) -> None:
    app.answer(result.as_data(), "")
    if result.policy == result.previous:
        app.say(flat(f"the policy of {result.remote} is already {result.policy}"))
    else:
        app.say(flat(f"the policy of {result.remote} is now {result.policy} (it was {result.previous})"))


def _render_review(app: App, result: SyncResult) -> None:
    app.answer(result.as_data(), "")
    app.say(*(flat(line) for line in result.summary))
    waiting = sum(namespace["waiting"] for namespace in result.namespaces)
    if waiting:
        app.say(flat(f"to review {count_noun(waiting, 'commit')}: baton review --remote {result.remote}"))
    else:
        app.say(flat(f"nothing from {result.remote} is waiting for a review; later changes will have to be reviewed"))


ADDITIONS = {
    "remote list": Addition(render=_render_list),
    "remote policy": Addition(render=_render_policy),
    "remote review": Addition(render=_render_review),
}
