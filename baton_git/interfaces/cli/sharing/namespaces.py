"""Command-line additions to the verbs of namespaces: ask for confirmation, and print what was done."""

from __future__ import annotations

import shlex
from datetime import datetime

from baton_git.core.errors import NotAllowed
from baton_git.core.names import Namespace
from baton_git.core.natural_times import describe_age
from baton_git.core.output import count_noun, flat
from baton_git.core.styles import Column, Role
from baton_git.interfaces.cli.app import App, require_terminal
from baton_git.interfaces.cli.printing import agrees
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.other_prefixes import MOVE, list_misplaced
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.upkeep.namespace_moves import (
    DeletedNamespace,
    DeleteNamespace,
    NamespaceChange,
    RenamedNamespace,
    RenameNamespace,
    delete_namespace,
    rename_namespace,
)
from baton_git.verbs.upkeep.namespace_recovery import AcceptNamespace, RecoveredNamespace, accept_namespace
from baton_git.verbs.upkeep.namespaces import NamespaceList, NamespaceSummary
from baton_git.verbs.upkeep.prefix_move import MovedNamespaces, MoveNamespaces, move_namespaces

NAME_SETTING = "baton.namespace"
UNKNOWN = "unknown"
"""Shown instead of the figures of a namespace that cannot be read."""


def _confirm(question: str, done: str) -> None:
    """Ask for confirmation.

    Raises:
        UsageError: there is no terminal to ask at.
        NotAllowed: the person refused; the message has `done`, a participle such as `deleted`.
    """
    require_terminal()
    if not agrees(flat(question)):
        raise NotAllowed(f"not confirmed, so nothing was {done}")


def _rename(app: App, ws: Workspace, verb_input: RenameNamespace, values: Values) -> RenamedNamespace:
    """Rename a namespace; if it is the one that commands here use, store the new name in the repository's settings.

    Without `--yes`, a person must confirm a rename on a remote.
    """
    is_used_here = app.settings.namespace == Namespace(verb_input.name) and not app.settings.is_own_store
    if verb_input.remote and not verb_input.dry_run and not verb_input.yes:
        preview = rename_namespace(ws, app.now, verb_input.model_copy(update={"dry_run": True}))
        _confirm(f"Rename {preview.namespace} to {preview.new_name} on {verb_input.remote} too?", "renamed")
    renamed = rename_namespace(ws, app.now, verb_input.model_copy(update={"yes": True}))
    setting = app.settings.config.get(NAME_SETTING)
    if not verb_input.dry_run and (setting == renamed.namespace or (setting is None and is_used_here)):
        app.settings.repository_config.set(NAME_SETTING, renamed.new_name)
    return renamed


def _delete(app: App, ws: Workspace, verb_input: DeleteNamespace, values: Values) -> DeletedNamespace:
    """Delete a namespace, and remove the setting of the repository that named it.

    Without `--yes`, a person must confirm.
    """
    if not verb_input.dry_run and not verb_input.yes:
        preview = delete_namespace(ws, app.now, verb_input.model_copy(update={"dry_run": True}))
        where = f" here and on {verb_input.remote}" if verb_input.remote else ""
        _confirm(f"Delete {preview.namespace}{where} ({_size(preview)})?", "deleted")
    deleted = delete_namespace(ws, app.now, verb_input.model_copy(update={"yes": True}))
    is_named = not verb_input.dry_run and app.settings.config.get(NAME_SETTING) == deleted.namespace
    if is_named and not app.settings.repository_config.unset(NAME_SETTING):
        app.say(
            f"{NAME_SETTING} still names {deleted.namespace}; to see where: git config --show-origin {NAME_SETTING}"
        )
    return deleted


def _size(change: NamespaceChange) -> str:
    if change.records is None:
        return "its commits are no longer here"
    return f"{count_noun(change.records, 'record')}, revision {change.revision}"


def _render_renamed(app: App, result: RenamedNamespace) -> None:
    app.answer(result.as_data(), "" if result.dry_run else result.new_name)
    where = f", here and on {result.remote}" if result.remote else ""
    verb = "would be renamed" if result.dry_run else "was renamed"
    app.say(flat(f"{result.namespace} {verb} to {result.new_name} ({_size(result)}){where}"))
    if not result.dry_run:
        app.say("on each other machine, run the same command; until then, its changes go to the old name")


def _render_deleted(app: App, result: DeletedNamespace) -> None:
    app.answer(result.as_data(), "")
    where = f", here and on {result.remote}" if result.remote else ""
    verb = "would be deleted" if result.dry_run else "was deleted"
    app.say(flat(f"{result.namespace} {verb} ({_size(result)}){where}"))
    if result.backup is not None:
        ref = app.settings.prefix + Namespace(result.namespace).component
        app.say(f"to restore it: git update-ref {ref} {result.backup}")


def _move(app: App, ws: Workspace, verb_input: MoveNamespaces, values: Values) -> MovedNamespaces:
    """Move the branches to the prefix of the settings. Without `--yes`, a person must confirm a move on a remote."""
    if verb_input.remote and not (verb_input.dry_run or verb_input.yes):
        _confirm(f"Move the branches on {verb_input.remote} too?", "moved")
    return move_namespaces(ws, app.now, verb_input.model_copy(update={"yes": True}))


def _render_moved(app: App, result: MovedNamespaces) -> None:
    app.answer(result.as_data(), "")
    verb = "would be moved" if result.dry_run else "was moved"
    app.say(*(flat(f"{item.namespace} {verb} from {item.old_ref} to {item.ref}") for item in result.moved))
    if not result.moved:
        app.say(f"all branches are below {result.prefix}")
    elif not result.dry_run:
        app.say(f"on each other machine: git config baton.refPrefix {result.prefix}, then baton namespace move")


def _render_list(app: App, result: NamespaceList) -> None:
    columns = (
        Column("namespace", lambda row: row.namespace, Role.HEADING),
        Column("revision", lambda row: UNKNOWN if row.revision is None else row.revision, right=True),
        Column("records", lambda row: UNKNOWN if row.revision is None else sum(row.counts.values()), right=True),
        Column("changed", lambda row: _describe_change(row, app.now)),
        Column("to do", _describe_due, Role.WARNING, wraps=True),
    )
    app.answer(result.as_data(), app.reader.table(result.namespaces, columns))
    with app.workspace() as ws:
        misplaced = list_misplaced(ws.branch.store, ws.branch.prefix)
    for other in sorted({other for other, _ in misplaced}):
        names = [flat(str(name)) for prefix, name in misplaced if prefix == other]
        app.say(f"still under {other}: {', '.join(names)}; to move them to {app.settings.prefix}: {MOVE}")
    if not result.namespaces and not misplaced:
        app.say("there is no namespace yet; to create one: baton init")
    elif result.next is not None:
        app.say(f"there are more namespaces: baton namespace list --after {shlex.quote(flat(result.next))}")


def _describe_change(row: NamespaceSummary, now: datetime) -> str:
    return describe_age(row.updated_at, now) if row.revision else ""


def _describe_due(row: NamespaceSummary) -> str:
    if row.unreadable is not None:
        return flat(row.unreadable)
    waiting = [
        f"{count_noun(number, 'commit')} of {remote} {'waits' if number == 1 else 'wait'} for a review"
        for remote, number in row.waiting.items()
    ]
    return ", ".join(
        [*waiting, *(f"{count_noun(number, 'commit')} to push to {name}" for name, number in row.pending.items())]
    )


def _accept(app: App, ws: Workspace, verb_input: AcceptNamespace, values: Values) -> RecoveredNamespace:
    """Accept where another program moved a branch. Without `--yes`, a person must confirm."""
    if not verb_input.dry_run and not verb_input.yes:
        preview = accept_namespace(ws, app.now, verb_input.model_copy(update={"dry_run": True}))
        _confirm(f"Go on with {preview.namespace} as it is now ({_size(preview)})?", "changed")
    return accept_namespace(ws, app.now, verb_input.model_copy(update={"yes": True}))


def _render_recovered(app: App, result: RecoveredNamespace) -> None:
    app.answer(result.as_data(), "")
    verb = "would be" if result.dry_run else "is"
    app.say(flat(f"{result.namespace} {verb} at {result.commit[:10]} ({_size(result)})"))
    if result.backup is not None:
        app.say(f"a backup has the other revision: {result.backup}")


ADDITIONS = {
    "namespace list": Addition(render=_render_list),
    "namespace rename": Addition(run=_rename, render=_render_renamed),
    "namespace move": Addition(run=_move, render=_render_moved),
    "namespace restore": Addition(render=_render_recovered),
    "namespace accept": Addition(run=_accept, render=_render_recovered),
    "namespace delete": Addition(run=_delete, render=_render_deleted),
}
