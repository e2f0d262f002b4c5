"""`baton sync`: fetch, merge and push namespaces."""

from __future__ import annotations

from dataclasses import replace

import click

from baton_git.core.change_lines import LINES, format_changes
from baton_git.core.diff import RecordChange
from baton_git.core.errors import BatonError, NotAllowed
from baton_git.core.names import Namespace
from baton_git.core.output import count_noun, flat
from baton_git.interfaces.cli.app import SECONDS, App, command, require_terminal
from baton_git.interfaces.cli.common_command import find_completer
from baton_git.interfaces.cli.confirming import YES, confirm_extent
from baton_git.interfaces.cli.printing import agrees, progress_line
from baton_git.namespace.sync.actions import Settle
from baton_git.namespace.sync.synchronise import SECONDS as DEFAULT
from baton_git.namespace.sync.synchronise import SyncOptions
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.sessions.meeting import Meeting
from baton_git.verbs.sharing.open_conflicts import list_open_conflicts
from baton_git.verbs.sharing.sync import Synced, describe_error, describe_sync, meet_for_sync, sync, with_hand_over


@command("sync")
@click.argument("remote", required=False, shell_complete=find_completer("remote", "sync"))
@click.option(
    "--remote",
    "-r",
    "named",
    metavar="REMOTE",
    help="The same as REMOTE.",
    shell_complete=find_completer("remote", "sync"),
)
@click.option("--all", "everything", is_flag=True, help="Sync all namespaces of this repository and of the remote.")
@click.option("--dry-run", is_flag=True, help="Only show what would be done, and which records would change here.")
@click.option("--settle", type=click.Choice(["merge", "theirs", "ours"]),
              help="What to do if the branch was rewritten or deleted on the remote, or purged here. merge: keep the "
                   "changes of both sides, and push a deleted branch again. theirs: drop the commits that the remote "
                   "dropped, and keep them in a backup ref; not possible for a deleted branch. ours: after a purge "
                   "here, replace the branch on the remote. They ask before they change many records or replace a "
                   "branch; a sync without --settle never asks.")  # fmt: skip
@YES
@click.option("--timeout", type=SECONDS, default=DEFAULT, show_default=True, help="Time limit in seconds.")
def sync_command(
    app: App,
    remote: str | None,
    named: str | None,
    everything: bool,
    dry_run: bool,
    settle: Settle | None,
    yes: bool | None,
    timeout: float,
) -> int | None:
    """Fetch the changes of other machines, merge them, and push your own.

    REMOTE is the name or the address of a remote. Default: git config baton.remote, else origin, else the only remote.

    No push is ever forced, except that --settle ours replaces a branch with purged commits. An unreachable remote is
    not an error: the next sync pushes what is pending. Once a namespace was synced, baton boot fetches and baton wrap
    pushes automatically, unless git config baton.autosync is false.

    \b
    baton sync
    baton sync backup --all
    baton sync --dry-run --json
    """
    if remote is not None and named is not None:
        raise click.UsageError("give REMOTE or --remote, not both")
    if "" in (remote, named):
        raise click.UsageError("REMOTE is empty")
    with app.workspace() as ws, progress_line("syncing") as line:
        ws = replace(ws, remote_settings=ws.remote_settings._replace(progress=line.show if line.is_shown else None))
        options = SyncOptions(timeout, everything=everything, dry_run=dry_run)
        meeting = meet_for_sync(ws, remote or named, options)
        ws = meeting.ws
        if settle is not None and not (dry_run or yes):
            planned = sync(ws, app.now, remote or named, replace(options, dry_run=True), settle=settle)
            confirm_extent(app, _list_changes(planned), ws.branch.read().state)
            _confirm_replacement(planned)
        options = with_hand_over(ws, remote or named, options)
        done = sync(ws, app.now, remote or named, options, settle=settle)
        is_here = ws.branch.exists
        open_conflicts = [] if dry_run else _list_conflicts(ws, done)
    app.answer(done.as_data(), LINES.join(format_changes(app.reader, _list_changes(done))))
    lines = (
        _describe_plan(done)
        if dry_run
        else describe_sync(done)
        or [_SAME.format(done.remote) if is_here else _describe_missing(ws, done.remote, meeting)]
    )
    lines = [*([meeting.note] if meeting.note else ()), *lines]
    app.say(*(flat(line) for text in lines for line in text.splitlines()))
    return _status(done.errors) or app.tell_conflicts(open_conflicts, done.conflicts)


def _confirm_replacement(planned: Synced) -> None:
    """Ask before branches on the remote are replaced.

    Raises:
        UsageError: there is no terminal to ask at.
        NotAllowed: the person refused.
    """
    replaced = [
        action.why for outcome in planned.outcomes for action in outcome.actions if action.kind == "send" and action.why
    ]
    if replaced:
        require_terminal()
        if not agrees(flat(f"{'; '.join(replaced)}. Replace it?")):
            raise NotAllowed("not confirmed, so nothing was sent")


def _describe_missing(ws: Workspace, remote: str, meeting: Meeting) -> str:
    others = "; ".join(meeting.news)
    return f"{others}; to fetch all: baton sync --all" if meeting.found else _NONE.format(ws.branch.namespace, remote)


_SAME = "up to date with {}"
_NONE = "there is no namespace {} here or on {}; to create it: baton init; to fetch others: baton sync --all"


def _list_conflicts(ws: Workspace, done: Synced) -> list[str]:
    """List the ids of the open conflicts of all namespaces that were synced."""
    names = [Namespace(outcome.namespace) for outcome in done.outcomes if outcome.error is None]
    branches = [replace(ws.branch, namespace=name) for name in names]
    opened = (list_open_conflicts(replace(ws, branch=branch)) for branch in branches)
    return [conflict.id for conflicts in opened for conflict in conflicts.outlines]


def _list_changes(done: Synced) -> list[RecordChange]:
    """Return the changes of all namespaces that a dry run shows."""
    return [change for outcome in done.outcomes for change in outcome.changes]


def _describe_plan(done: Synced) -> list[str]:
    lines = [f"working offline: {done.offline}"] if done.offline else []
    for outcome in done.outcomes:
        for action in outcome.actions:
            commits = f", {count_noun(action.commits, 'commit')}" if action.commits else ""
            why = f" ({action.why})" if action.why else ""
            lines.append(f"{outcome.namespace}: {_WORDS[action.kind]}{commits}{why}")
        first = done.first.get(outcome.namespace)
        lines += [first] if first else []
        lines += describe_error(outcome)
    return lines


_WORDS = {
    "nothing": "nothing to do", "take": "create it here", "forward": "fast-forward to the remote",
    "merge": "merge both sides", "wait": "wait for a review", "send": "push new commits",
    "create": "create it on the remote", "reset": "drop the commits that the remote dropped", "stop": "stop",
}  # fmt: skip


def _status(errors: list[BatonError]) -> int | None:
    from baton_git.interfaces.cli.error_handler import status_of  # only here: every start of a command would pay for it

    return status_of(errors[0]) if errors else None


COMMANDS = {"sync": sync_command}
