"""Command-line additions to the verbs of namespaces: ask for confirmation, and print what was done."""

from __future__ import annotations

from baton_git.core.names import Namespace
from baton_git.interfaces.cli.app import App
from baton_git.interfaces.cli.confirming import run_for_person
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.upkeep.namespace_moves import (
    DeletedNamespace,
    DeleteNamespace,
    RenamedNamespace,
    RenameNamespace,
    delete_namespace,
    rename_namespace,
)

NAME_SETTING = "baton.namespace"


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


ADDITIONS = {
    "namespace rename": Addition(run=_rename),
    "namespace delete": Addition(run=_delete),
}
