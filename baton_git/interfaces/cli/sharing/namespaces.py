"""Command-line additions to the verbs of namespaces: ask for confirmation, and print what was done."""

from __future__ import annotations

import shlex
from datetime import datetime

from baton_git.core.names import Namespace
from baton_git.core.output import count_noun, flat
from baton_git.core.styles import Column, Role
from baton_git.core.times import describe_age
from baton_git.interfaces.cli.app import App
from baton_git.interfaces.cli.confirming import run_for_person
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.namespaces import MOVE, list_misplaced
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.upkeep.namespace_moves import (
    DeletedNamespace,
    DeleteNamespace,
    RenamedNamespace,
    RenameNamespace,
    delete_namespace,
    rename_namespace,
)
from baton_git.verbs.upkeep.namespaces import NamespaceList, NamespaceSummary

NAME_SETTING = "baton.namespace"
UNKNOWN = "unknown"
"""Shown instead of the figures of a namespace that cannot be read."""


def _rename(app: App, ws: Workspace, verb_input: RenameNamespace, values: Values) -> RenamedNamespace:
    """Rename a namespace; if it is the one that commands here use, store the new name in the repository's settings.

    Without `--yes`, a person must confirm a rename on a remote.
    """
    is_used_here = app.settings.namespace == Namespace(verb_input.name) and not app.settings.is_own_store
    renamed: RenamedNamespace = run_for_person(app, ws, rename_namespace.verb, verb_input)
    setting = app.settings.config.get(NAME_SETTING)
    if not verb_input.dry_run and (setting == renamed.namespace or (setting is None and is_used_here)):
        app.settings.repository_config.set(NAME_SETTING, renamed.new_name)
    return renamed


def _delete(app: App, ws: Workspace, verb_input: DeleteNamespace, values: Values) -> DeletedNamespace:
    """Delete a namespace, and remove the setting of the repository that named it.

    Without `--yes`, a person must confirm.
    """
    deleted: DeletedNamespace = run_for_person(app, ws, delete_namespace.verb, verb_input)
    is_named = not verb_input.dry_run and app.settings.config.get(NAME_SETTING) == deleted.namespace
    if is_named and not app.settings.repository_config.unset(NAME_SETTING):
        app.say(
            f"{NAME_SETTING} still names {deleted.namespace}; to see where: git config --show-origin {NAME_SETTING}"
        )
    return deleted


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


ADDITIONS = {
    "namespace list": Addition(render=_render_list),
    "namespace rename": Addition(run=_rename),
    "namespace delete": Addition(run=_delete),
}
