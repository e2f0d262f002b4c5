"""Command-line additions to `edit` and `forget`: an option for each field, an editor, and asking a person."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, get_args, get_origin

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from baton_git.core.errors import BatonError
from baton_git.core.kinds import KINDS, find_kind
from baton_git.core.verb import Result
from baton_git.interfaces.cli.app import App, at_terminal
from baton_git.interfaces.cli.common_command import WORDS, find_completer
from baton_git.interfaces.cli.confirming import run_for_person
from baton_git.interfaces.cli.records.editor import edit_in_editor
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.interfaces.context.invocation import Call
from baton_git.interfaces.context.settings import CommonOptions, Settings
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.records.details import find_record
from baton_git.verbs.records.editing import EDITABLE, EditRecord, edit_record

NOT_OPTIONS = ("id", "source_tier", "graduated_to")
"""Fields without an option, because other verbs change them. Fields that contain tables also have no option."""


def _list_fields() -> dict[str, dict[str, FieldInfo]]:
    """Return the fields that have an option, by name and then by kind of record."""
    fields: dict[str, dict[str, FieldInfo]] = {}
    for kind, model in EDITABLE.items():
        for name, info in model.model_fields.items():
            if name not in NOT_OPTIONS and not _holds_tables(info):
                fields.setdefault(name, {})[kind] = info
    return fields


def _holds_tables(info: FieldInfo) -> bool:
    types = [info.annotation, *get_args(info.annotation)]
    return any(isinstance(item, type) and issubclass(item, BaseModel) for item in types)


def _make_option(name: str, by_kind: dict[str, FieldInfo]) -> Any:
    annotation = next(iter(by_kind.values())).annotation
    is_list = get_origin(annotation) is tuple
    type_ = click.INT if int in (annotation, *get_args(annotation)) else click.STRING
    return click.option(
        f"--{name.replace('_', '-')}", name, type=type_, multiple=is_list, cls=FieldOption, by_kind=by_kind,
        metavar="NUMBER" if type_ is click.INT else "TEXT", shell_complete=find_completer(name, "edit"),
    )  # fmt: skip


class FieldOption(click.Option):
    """The option of a field. If the command line names a record, the help shows the fields of its kind only."""

    def __init__(self, *args: Any, by_kind: dict[str, FieldInfo], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._by_kind = by_kind

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        kind = _find_kind(ctx)
        by_kind = self._by_kind if kind is None else {kind: self._by_kind[kind]} if kind in self._by_kind else {}
        record = super().get_help_record(ctx) if by_kind else None
        repeats = " Repeatable." if self.multiple else ""
        return None if record is None else (record[0], f"{_describe_field(by_kind)}{repeats}")


def _find_kind(ctx: click.Context) -> str | None:
    """Return the kind of the record that the command line names; None if it names none, or one that is not there."""
    try:
        values, _, _ = ctx.command.make_parser(ctx).parse_args(list(ctx.meta.get(WORDS, ())))
    except click.UsageError:
        return None
    id_ = str(values.get("id") or "")
    kind = find_kind(str(values.get("kind") or id_.partition("/")[0]))
    if kind is not None or not id_:
        return kind
    minted = [kind for kind in EDITABLE if id_.upper().startswith(f"{KINDS[kind].prefix}-")]
    return minted[0] if minted else _look_up_kind(id_, CommonOptions(values.get("repo"), values.get("namespace")))


def _look_up_kind(id_: str, options: CommonOptions) -> str | None:
    try:
        with Call(Settings(options)).workspace() as ws:
            return find_record(ws.branch.read().state, id_).kind
    except BatonError:  # a help text never fails; the command itself reports the error
        return None


def _describe_field(by_kind: dict[str, FieldInfo]) -> str:
    """Return the help of an option: by kind of record, the field's values or else its description."""
    kinds: dict[str, list[str]] = {}
    for kind, info in by_kind.items():
        text = ", ".join(_list_choices(info.annotation)) or (info.description or "").rstrip(".")
        kinds.setdefault(text[:1].lower() + text[1:], []).append(KINDS[kind].name(2))
    return " ".join(f"{', '.join(names).capitalize()}: {text}." for text, names in kinds.items())


def _list_choices(annotation: Any) -> tuple[str, ...]:
    """Return the values of a `Literal`, which may be optional; empty for another type."""
    literals = [annotation, *get_args(annotation)]
    return next((get_args(item) for item in literals if get_origin(item) is Literal), ())


FIELDS = _list_fields()
_EDIT = (
    *(_make_option(name, field) for name, field in FIELDS.items()),
    click.option("--unset", multiple=True, metavar="FIELD", help="Remove this field. Repeatable."),
)


def _fill_fields(app: App, values: Values) -> Values:
    given = {name: value for name, value in values.items() if name in FIELDS}
    fields = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
    fields |= dict.fromkeys((name.replace("-", "_") for name in values.get("unset", ())), None)
    if not fields and not at_terminal():
        kind = _find_kind(click.get_current_context())
        named = (name for name, by_kind in FIELDS.items() if kind is None or kind in by_kind)
        raise click.UsageError(
            f"name a field and its new value, for example --{next(named, 'id').replace('_', '-')} TEXT"
        )
    return {name: value for name, value in values.items() if name not in FIELDS} | {"fields": fields}


def _edit(app: App, ws: Workspace, verb_input: EditRecord, values: Values) -> Result | None:
    edit = partial(run_for_person, app, ws, edit_record.verb)
    return edit(verb_input) if verb_input.fields else edit_in_editor(app, ws, verb_input, edit)


ADDITIONS = {
    "edit": Addition(
        _EDIT,
        fill=_fill_fields,
        run=_edit,
    ),
}
