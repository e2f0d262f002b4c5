"""The verb `schema`: the formats as JSON Schema (draft 2020-12), generated from the models.

`formats/<kind>/schema.json` is such a schema. The merge rules are in it as `x-merge`. `_BEYOND` adds constraints that
are checked outside the models (such as those of session names). Constraints that JSON Schema cannot express (such as
unique ids) are described in `$comment`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, get_args, get_type_hints

from pydantic import ConfigDict, Field
from pydantic.json_schema import GenerateJsonSchema

from baton_git.core.errors import NotFound
from baton_git.core.kinds import ALL_KINDS, KINDS, SINGLETONS
from baton_git.core.merge import ContestedValue, Decision
from baton_git.core.records.base import Archived, Part
from baton_git.core.stored_form import FORMAT
from baton_git.core.verb import READS, Input, Option, Result, verb
from baton_git.core.view import Reader, ResultView
from baton_git.systems import list_documents

DIALECT = GenerateJsonSchema.schema_dialect

_MODELS: dict[str, Callable[[], type[Part]]] = {
    **{kind: info.load for kind, info in ALL_KINDS.items()},
    "archived": lambda: Archived,
    **{document.name: document.model for document in list_documents()},
}
RECORDS = tuple(_MODELS)
"""All kinds, `archived`, and the documents of the systems."""
DECISIONS = "decisions"
SCHEMAS = (*RECORDS, DECISIONS)
"""The names that `make_schema` accepts."""

_SESSION = {"minLength": 1, "maxLength": 128, "pattern": r"\S"}
_BEYOND: dict[str, dict[str, dict[str, Any]]] = {"baton": {"session_id": _SESSION, "parent_session": _SESSION}}
_COMMENTS = {
    "archived": "`record` is also checked against the schema of the kind whose folder the file is in.",
    "baton": "Also checked: an id occurs once in its list and can be a file name; a session is one printable line.",
    "ecc_session": "Also checked: workers have different ids, `aggregates` agrees with the workers, and a whole "
    "number is written without a decimal point (`1.0` is rejected).",
    **{info.kind: info.comment for info in KINDS.values() if info.comment},
}


class WhichSchema(Input):
    """The schema to generate."""

    kind: str | None = Field(
        None,
        description="A kind of record, or another format such as `baton`. Without it, the names are listed.",
        examples=["open_loop"],
    )


class KindSchema(Result):
    """The JSON Schema of a kind of record, or the list of `kinds` if none was given."""

    model_config = ConfigDict(extra="allow")

    kinds: list[str] = Field([], description="The names of all kinds, if no kind was given.")

    def show(self, reader: Reader) -> ResultView | None:
        return ResultView("\n".join(self.kinds)) if self.kinds else None


@verb(
    "schema",
    "GET /v1/schema/{kind}",
    effect=READS,
    standalone=True,
    tag="state",
    options={"kind": Option(hidden=True)},
    examples=("baton schema", "baton schema open_loop > open_loop.schema.json"),
)
def schema(ws: None, now: datetime, verb_input: WhichSchema) -> KindSchema:
    """Show the JSON Schema of a kind of record, or list the kinds.

    Raises:
        NotFound: there is no such kind.
    """
    return KindSchema(kinds=list(SCHEMAS)) if verb_input.kind is None else KindSchema(**make_schema(verb_input.kind))


def make_schema(kind: str) -> dict[str, Any]:
    """Generate the JSON Schema of a kind: `$schema`, `$id`, `title`, then the schema of the model.

    Raises:
        NotFound: the kind does not exist; the hint lists the kinds.
    """
    if kind not in SCHEMAS:
        raise NotFound("kind", kind, hint=f"the kinds are {', '.join(SCHEMAS)}")
    if kind == DECISIONS:
        return _make_decisions_schema()
    model = _MODELS[kind]()
    data = model.model_json_schema(schema_generator=_SchemaGenerator)
    for name, more in _BEYOND.get(kind, {}).items():
        data["properties"][name] = _narrow_field(data["properties"][name], more)
    comment = {"$comment": _COMMENTS[kind]} if kind in _COMMENTS else {}
    return {"$schema": DIALECT, "$id": f"urn:baton-git:format:{FORMAT}:{kind}", "title": kind, **comment, **data}


def _narrow_field(field: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Add constraints to a text field, which may be nullable."""
    if "anyOf" not in field:
        return {**field, **more}
    return {
        **field,
        "anyOf": [{**option, **more} if option.get("type") == "string" else option for option in field["anyOf"]],
    }


def _make_decisions_schema() -> dict[str, Any]:
    """Build the schema of a list of `Decision.as_data`, which has no pydantic model."""
    key = {
        "kind": {"enum": [*KINDS, *SINGLETONS], "description": "Its kind.", "type": "string"},
        "id": {"description": "Its id; empty for a single file.", "type": "string"},
        "archived": {"description": "Present, and true, for a record in the archive.", "type": "boolean"},
    }
    value = "absent if there is none."
    contested = {
        "field": {"description": "The field; empty for the record as a whole.", "type": "string"},
        "base": {"description": f"The value of the merge base; {value}"},
        "ours": {"description": f"Our value; if the merge prefers no side, the value that it keeps; {value}"},
        "theirs": {"description": f"The other value; {value}"},
        "winner": _make_choice(ContestedValue, "winner", "The side whose value the merge keeps."),
    }
    decision = {
        **key,
        "action": _make_choice(Decision, "action", "What the merge does."),
        "result": {
            "description": "The merged record; absent if the record is removed, or ours is kept.",
            "type": "object",
        },
        "to": {
            "$ref": "#/$defs/Place",
            "description": "The key of the result, if it differs from the key of the record.",
        },
        "leaves": {"$ref": "#/$defs/Place", "description": "The key under which the record is removed."},
        "contested": {
            "description": "The values in conflict.",
            "items": {"$ref": "#/$defs/Contested"},
            "type": "array",
        },
    }
    return {
        "$schema": DIALECT,
        "$id": f"urn:baton-git:format:{FORMAT}:{DECISIONS}",
        "title": DECISIONS,
        "description": "The merge decisions for all records, in the order of their keys.",
        "type": "array",
        "items": {"$ref": "#/$defs/Decision"},
        "$defs": {
            "Decision": _make_table("The merge decision for one record.", decision, ["kind", "id", "action"]),
            "Place": _make_table("The key of a record.", key, ["kind", "id"]),
            "Contested": _make_table("A value that both sides changed.", contested, ["field", "winner"]),
        },
    }


def _make_choice(of: type, name: str, description: str) -> dict[str, Any]:
    return {"enum": list(get_args(get_type_hints(of)[name])), "description": description, "type": "string"}


def _make_table(description: str, fields: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "description": description,
        "type": "object",
        "properties": fields,
        "required": required,
        "additionalProperties": False,
    }


class _SchemaGenerator(GenerateJsonSchema):
    """Generates schemas without pydantic's titles."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def get_title_from_name(self, name: str) -> str:
        return ""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        data = super().model_schema(schema)
        data.pop("title", None)
        return data
