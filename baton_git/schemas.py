"""The records as JSON Schema (draft 2020-12), made of the models: what `formats/<kind>/schema.json` holds.

Merge rules stand in it as `x-merge`. Where the code demands more than a model can say (the name of a session is
checked in `names`), `_BEYOND` adds it; what no schema can say (ids given twice) is in `$comment`.
"""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from baton_git.errors import NotFound
from baton_git.layout import FOLDERS, FORMAT, SINGLES
from baton_git.records.archive import Archived
from baton_git.records.base import Part
from baton_git.records.baton import Baton

DIALECT = GenerateJsonSchema.schema_dialect

_MODELS: dict[str, type[Part]] = {
    **{kind: row.model for kind, row in {**FOLDERS, **SINGLES}.items()},
    "archived": Archived,
    "baton": Baton,
}
KINDS = tuple(_MODELS)
"""The names that `schema` knows: each kind with a folder, the singletons, `archived` and the whole document."""

_SESSION = {"minLength": 1, "maxLength": 128, "pattern": r"\S"}
_BEYOND: dict[str, dict[str, dict[str, Any]]] = {"baton": {"session_id": _SESSION, "parent_session": _SESSION}}
_COMMENTS = {
    "archived": "`record` is also checked against the schema of the kind whose folder the file is in.",
    "baton": "Also checked: an id stands once in its list, and can be a file name; a session is one printable line.",
    "rule": "The stored file is the text alone, as Markdown; the id is the name of the file.",
}


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of a kind, the same each time: `$schema`, `$id`, `title`, then what the model says.

    Raises:
        NotFound: there is no such kind; the hint lists them.
    """
    if kind not in _MODELS:
        raise NotFound("kind", kind, hint=f"the kinds are {', '.join(KINDS)}")
    model = _MODELS[kind]
    data = model.model_json_schema(schema_generator=_Plain)
    for name, more in _BEYOND.get(kind, {}).items():
        data["properties"][name] = _narrowed(data["properties"][name], more)
    comment = {"$comment": _COMMENTS[kind]} if kind in _COMMENTS else {}
    return {"$schema": DIALECT, "$id": f"urn:baton-git:format:{FORMAT}:{kind}", "title": kind, **comment, **data}


def _narrowed(field: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """The field with `more` demanded of its text, which may stand beside null."""
    if "anyOf" not in field:
        return {**field, **more}
    return {**field, "anyOf": [{**one, **more} if one.get("type") == "string" else one for one in field["anyOf"]]}


class _Plain(GenerateJsonSchema):
    """Schemas without the titles that pydantic makes of Python's names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def get_title_from_name(self, name: str) -> str:
        return ""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        data = super().model_schema(schema)
        data.pop("title", None)
        return data
