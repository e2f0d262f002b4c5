"""Command-line additions to the verbs of namespaces: ask for confirmation, and print what was done."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from datetime import datetime
from typing import Any

import click

from baton_git.core.errors import NotAllowed
from baton_git.core.names import Namespace
from baton_git.core.natural_times import describe_age
from baton_git.core.output import count_noun
from baton_git.core.verb import Result, VerbFunction
from baton_git.interfaces.cli.app import App, flat, require_terminal
from baton_git.interfaces.cli.printing import agrees
from baton_git.interfaces.cli.rendering.styles import Role
from baton_git.interfaces.cli.rendering.table import Column, render_table
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.upkeep.namespace_moves import (
    DeletedNamespace,
    NamespaceChange,
    RenamedNamespace,
    delete_namespace,
    rename_namespace,
)
from baton_git.verbs.upkeep.namespaces import NamespaceList, NamespaceSummary

YES = click.option(
    "--yes",
    "-y",
    is_flag=True,
    default=None,
    help="Do not ask; required without a terminal, to delete a namespace or to rename one on a remote.",
)


def _asking(
    verb: VerbFunction[Any, Any], make_question: Callable[[Any, NamespaceChange], str], done: str
) -> Callable[[App, Workspace, Any, Values], Result]:
    """Return a function that runs a verb after asking for confirmation.

    Args:
        make_question: returns the question, given the input and a preview; empty if no confirmation is needed.
        done: the participle for the message if the person refuses, such as `deleted`.
    """

    def run(app: App, ws: Workspace, asked: Any, values: Values) -> Result:
        if not (values.get("yes") or asked.dry_run):
            question = make_question(asked, verb(ws, app.now, asked.model_copy(update={"dry_run": True})))
            if question:
                require_terminal()
            if question and not agrees(flat(question)):
                raise NotAllowed(f"not confirmed, so nothing was {done}")
        return verb(ws, app.now, asked)  # type: ignore[no-any-return]  # a result of whatever verb it is

    return run


def _ask_rename(asked: Any, preview: NamespaceChange) -> str:
    return f"Rename {preview.namespace} to {asked.new_name} on {asked.remote} too?" if asked.remote else ""


def _ask_delete(asked: Any, preview: NamespaceChange) -> str:
    where = f" here and on {asked.remote}" if asked.remote else ""
    return f"Delete {preview.namespace}{where} ({_size(preview)})?"


def _size(change: NamespaceChange) -> str:
    return f"{count_noun(change.records, 'record')}, revision {change.revision}"


def _render_renamed(app: App, result: RenamedNamespace) -> None:
    settings = app.settings
    if not result.dry_run and settings.config.get("baton.namespace") == result.namespace:
        settings.set_config("baton.namespace", result.new_name)
    app.answer(result.as_data(), "" if result.dry_run else result.new_name)
    where = f", here and on {result.remote}" if result.remote else ""
    verb = "would be renamed" if result.dry_run else "was renamed"
    app.say(flat(f"{result.namespace} {verb} to {result.new_name} ({_size(result)}){where}"))


def _render_deleted(app: App, result: DeletedNamespace) -> None:
    settings = app.settings
    if not result.dry_run and settings.config.get("baton.namespace") == result.namespace:
        settings.set_config("baton.namespace", None)
    app.answer(result.as_data(), "")
    where = f", here and on {result.remote}" if result.remote else ""
    verb = "would be deleted" if result.dry_run else "was deleted"
    app.say(flat(f"{result.namespace} {verb} ({_size(result)}){where}"))
    if result.backup is not None:
        ref = app.settings.prefix + Namespace(result.namespace).component
        app.say(f"to restore it: git update-ref {ref} {result.backup}")


def _render_list(app: App, result: NamespaceList) -> None:
    columns = (
        Column("namespace", lambda row: row.namespace, Role.HEADING),
        Column("revision", lambda row: "" if row.revision is None else row.revision, right=True),
        Column("records", lambda row: sum(row.counts.values()), right=True),
        Column("changed", lambda row: _describe_change(row, app.now)),
        Column("to do", _describe_due, Role.WARNING, wraps=True),
    )
    app.answer(result.as_data(), render_table(result.namespaces, columns))
    if not result.namespaces:
        app.say("there is no namespace yet; to create one: baton init")
    elif result.next is not None:
        app.say(f"there are more namespaces: baton namespace list --after {shlex.quote(flat(result.next))}")


def _describe_change(row: NamespaceSummary, now: datetime) -> str:
    return describe_age(row.updated_at, now) if row.revision else ""


def _describe_due(row: NamespaceSummary) -> str:
    if row.unreadable is not None:
        return flat(row.unreadable)
    waiting = [
        f"{count_noun(number, 'commit')} of {remote} wait for a review" for remote, number in row.waiting.items()
    ]
    return ", ".join(
        [*waiting, *(f"{count_noun(number, 'commit')} for {name}" for name, number in row.pending.items())]
    )


ADDITIONS = {
    "namespace list": Addition(render=_render_list),
    "namespace rename": Addition((YES,), run=_asking(rename_namespace, _ask_rename, "renamed"), render=_render_renamed),
    "namespace delete": Addition((YES,), run=_asking(delete_namespace, _ask_delete, "deleted"), render=_render_deleted),
}
