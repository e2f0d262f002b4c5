"""Build the fields of a form from the input model of a verb, and convert the entered texts to data for that model."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from baton_git.core.diff import title_of
from baton_git.core.errors import InvalidArgument
from baton_git.core.records.base import Part, Record
from baton_git.core.records.check_methods import CHECK_METHODS
from baton_git.core.records.work_items import ActiveDecision, Pattern, VerifySpec
from baton_git.core.state import Key, State
from baton_git.interfaces.web.texts import cut, words
from baton_git.verbs.work_items.new_records import REFERENCES

FieldKind = Literal["text", "lines", "number", "choice", "flag", "check"]

NAMED: Mapping[str, type[Record]] = {**REFERENCES, "pattern": Pattern, "decision": ActiveDecision}
"""The form fields whose value is the id of a record, each with the model of that record."""
SAME_KIND = ("into", "by")
"""The form fields that name another record of the same kind as the record that the form changes."""
MOST_CHOICES = 300
METHODS = {
    "http": "an address answers", "file_exists": "a file exists", "process_running": "a process runs",
    "port_open": "a port is open", "git_commit": "a commit exists", "command": "a command succeeds",
    "manual": "a person checks",
}  # fmt: skip
"""The check methods that a form offers, with their labels."""


class FormField(NamedTuple):
    """One field of a form.

    Attributes:
        label: the first sentence of the description in the input model.
        hint: the other sentences of that description.
        choices: the values that can be chosen, each with its label; empty for other fields.
        value: the text that is already in the field.
    """

    name: str
    kind: FieldKind
    label: str
    hint: str = ""
    is_required: bool = False
    choices: Sequence[tuple[str, str]] = ()
    value: str = ""
    placeholder: str = ""


def build_fields(
    model: type[BaseModel], without: set[str], entered: Mapping[str, str], state: State, key: Key | None = None
) -> list[FormField]:
    """Return the form fields for the input model of a verb.

    Args:
        without: fields of the input to leave out.
        entered: the texts that are already in the fields.
        state: contains the records that can be chosen.
        key: the record that the form changes; None if it changes none.
    """
    fields = [
        _build_field(name, info, _list_choices(name, info, state, key))
        for name, info in model.model_fields.items()
        if name not in without
    ]
    return [field._replace(value=entered.get(field.name, "")) for field in fields]


def _build_field(name: str, info: FieldInfo, choices: Sequence[tuple[str, str]]) -> FormField:
    label, _, hint = (info.description or words(name)).partition(". ")
    example = info.examples[0] if info.examples else ""
    placeholder = "\n".join(map(str, example)) if isinstance(example, list) else str(example)
    return FormField(
        name, find_field_kind(info, choices), label.rstrip("."), hint, info.is_required(), choices, "",
        "" if isinstance(example, dict) else placeholder,
    )  # fmt: skip


def find_field_kind(info: FieldInfo, choices: Sequence[tuple[str, str]] = ()) -> FieldKind:
    """Return the kind of form field for the type of an input field."""
    kind = _strip_optional(info.annotation)
    if choices:
        return "choice"
    if get_origin(kind) in (list, tuple):
        return "lines"
    by_type: dict[Any, FieldKind] = {VerifySpec: "check", bool: "flag", int: "number", float: "number"}
    return by_type.get(kind, "text")


def _strip_optional(annotation: Any) -> Any:
    """Return `X` for `X | None`, without the metadata of an annotated type."""
    parts = get_args(annotation)
    if get_origin(annotation) is Annotated:
        return _strip_optional(parts[0])
    inner = [part for part in parts if part is not NoneType]
    return _strip_optional(inner[0]) if NoneType in parts and len(inner) == 1 else annotation


def _list_choices(name: str, info: FieldInfo, state: State, key: Key | None) -> list[tuple[str, str]]:
    annotation = _strip_optional(info.annotation)
    if get_origin(annotation) is Literal:
        return [(str(value), words(value)) for value in get_args(annotation)]
    if name in SAME_KIND and key is not None:
        kind, ids = key.kind, state.ids(key.kind) - {key.id}
    elif name in NAMED:
        kind, ids = NAMED[name].kind, state.ids(NAMED[name].kind)
    else:
        return []
    return [(id_, f"{cut(title, 70)} ({id_})") for id_, title in _list_titles(state, kind, ids)]


def _list_titles(state: State, kind: str, ids: Iterable[str]) -> Iterator[tuple[str, str]]:
    for id_ in sorted(ids)[:MOST_CHOICES]:
        record = state.entry(Key(kind, id_))
        if isinstance(record, Part):
            yield id_, title_of(kind, record.as_data())


def read_entered(fields: Sequence[FormField], entered: Mapping[str, str]) -> dict[str, Any]:
    """Return the texts entered in a form as data for its input model, without fields that were left empty.

    Raises:
        InvalidArgument: a value is not valid for its field, or a required value is missing.
    """
    data: dict[str, Any] = {}
    for field in fields:
        value = _read_value(field, entered)
        if value is None and field.is_required:
            raise InvalidArgument(f"this is missing: {field.label}")
        if value is not None:
            data[field.name] = value
    return data


def _read_value(field: FormField, entered: Mapping[str, str]) -> Any:
    text = entered.get(field.name, "").strip()
    if field.kind == "check":
        return _read_check(entered.get(f"{field.name}.method", ""), entered.get(f"{field.name}.target", "").strip())
    if not text:
        return None
    if field.kind == "lines":
        return [line.strip() for line in text.splitlines() if line.strip()]
    return text == "on" if field.kind == "flag" else text


def _read_check(method: str, target: str) -> dict[str, Any] | None:
    """Return the check that was entered in a form, or None if no method was chosen."""
    if not method:
        if target:
            raise InvalidArgument("choose a method for the check")
        return None
    if method not in CHECK_METHODS:
        raise InvalidArgument(f"there is no check method {method}")
    if not target:
        raise InvalidArgument("enter the target of the check")
    return {"method": method, **_read_target(method, target)}


def _read_target(method: str, target: str) -> dict[str, Any]:
    if method == "command":
        try:
            return {"argv": shlex.split(target)}
        except ValueError as error:  # an unclosed quotation mark, or a backslash at the end
            raise InvalidArgument(f"the command cannot be split into words: {str(error).lower()}") from None
    if method == "port_open":
        host, _, port = target.rpartition(":")
        if not port.isdecimal() or len(port) > 5:
            raise InvalidArgument(f"{target!r} is not a port; give HOST:PORT, for example localhost:5432")
        return {"host": host.strip("[]") or "127.0.0.1", "port": int(port)}
    return {CHECK_METHODS[method]: target}
