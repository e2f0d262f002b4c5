"""The OpenAPI document, derived from the operations of the APIs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, Field, TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from baton_git import __version__
from baton_git.interfaces.http.operations import HttpOperation
from baton_git.interfaces.http.responses import PROBLEM, SESSION_BATON, SafeJSONResponse, is_ours

DESCRIPTION = """\
The memory between sessions of AI coding agents, kept in git. `/v1/baton` is session-baton's API; `/checkpoint`,
`/restore` and `/sessions` are PAIF's; `/agents` manages tokens for PAIF's agents; the rest of `/v1` is baton-git's
own. Where `namespace` is optional, it defaults to the namespace of the server."""
_REF = "#/components/schemas/{model}"

REFUSED = (404, 408, 409, 412, 413, 422, 500, 503, 507)
DETAIL = {"type": "object", "properties": {"detail": {"description": "What is wrong."}}, "required": ["detail"]}
ETAG = {
    "description": "The revision that this response is about, for If-Match and If-None-Match.",
    "schema": {"type": "string"},
}
BEARER = {"type": "http", "scheme": "bearer", "description": "The server's token, `BATON_API_TOKEN`; PAIF's paths also "
          "accept an agent's own token."}  # fmt: skip
TAGS = {
    "server": "The server itself.",
    "session-baton": "session-baton's API, with the responses of its own server.",
    "PAIF": "PAIF's session protocol.",
    "state": "Namespaces, the whole state, and its records.",
    "records": "The verbs of open loops, follow-ups, patterns and decisions.",
    "sessions": "Begin, end and list sessions, and read the facts that they left for later ones.",
    "history": "History: changes, undo and rollback.",
    "sharing": "Other machines: sync, review, conflicts.",
    "handovers": "Runs of KAIROS protocols, which another client can continue.",
    "snapshots": "ECC snapshots of sessions.",
    "events": "Changes as they happen.",
}


class Problem(BaseModel):
    """Problem details (RFC 9457); some errors add fields with their data."""

    type: str = Field(
        description="`urn:baton-git:error:` followed by the code.", examples=["urn:baton-git:error:not_found"]
    )
    title: str = Field(description="The code in words.", examples=["not found"])
    status: int = Field(description="The HTTP status.", examples=[404])
    detail: str = Field(description="What is wrong and where, on one line.", examples=["there is no open loop 'OL-1'"])
    error: str = Field(
        description="The code, as in the output of `--json` on the command line.", examples=["not_found"]
    )
    hint: str = Field("", description="The next step, as a hint for users of the command line.")


CONTENT = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}

WORDS = {
    400: "The request cannot be parsed: its headers are too large, or its body is not text or is nested too deeply.",
    401: "The token is missing or wrong.",
    403: "The caller may not do this, a person must do it (`needs_human`), or a page of another site tried to write.",
    404: "There is no such record, revision, run or remote.",
    408: "The request was not received in time.",
    409: "Somebody else has written meanwhile, or several records match.",
    410: "The run has ended, and is archived.",
    412: "If-Match does not name the newest revision.",
    413: "The request or a record is too large.",
    421: "The Host header is not a name of this server.",
    422: "The body is not JSON, or a name, a field or an argument is not valid.",
    429: "Too many wrong tokens from this address; Retry-After has the seconds to wait.",
    502: "The remote repository could not be used, for example because it denied access or rejected the push.",
    503: "Others kept writing, too many event streams are open, or there was no answer in time; the detail says which.",
    504: "The remote repository cannot be reached.",
    507: "Writing to disk failed; nothing was written.",
    500: "Stored data cannot be read, or there is a bug; the server's log has the details.",
}
ALWAYS = (400, 401, 403, 404, 408, 409, 413, 421, 422, 429, 500, 503)
"""The statuses of the errors that every request can have."""
WRITES = (412, 507)
"""The additional statuses for requests that write."""


def refusals(*more: int) -> dict[int, Mapping[str, Any]]:
    """Return the error responses by status: those of any request, and those of `more`."""
    return {status: {"description": WORDS[status], "content": CONTENT} for status in sorted({*ALWAYS, *more})}


def make_document(operations: Iterable[HttpOperation], *, is_guarded: bool) -> dict[str, Any]:
    """Return the OpenAPI document of some operations.

    Args:
        is_guarded: whether requests need the token.
    """
    operations = tuple(operations)
    schemas, definitions = _describe_types(operations)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        path = re.sub(r":\w+\}", "}", operation.path)
        paths.setdefault(path, {})[operation.method.lower()] = _describe_operation(path, operation, schemas)
    used = {operation.tag for operation in operations}
    return {
        "openapi": "3.1.0",
        "info": {"title": "baton-git", "description": DESCRIPTION, "version": __version__},
        "paths": paths,
        "components": {
            "schemas": dict(sorted({**definitions, "Problem": Problem.model_json_schema()}.items())),
            "securitySchemes": {"bearer": BEARER},
        },
        "security": [{"bearer": []}] if is_guarded else [{"bearer": []}, {}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items() if name in used],
    }


Schemas = Mapping[Any, Any]
"""The JSON Schemas of the bodies (`validation`) and results (`serialization`) of operations, by their names."""


def _describe_types(operations: Iterable[HttpOperation]) -> tuple[Schemas, dict[str, Any]]:
    """Return the schemas of the operations' bodies and results, and the definitions to which they refer."""
    inputs: list[Any] = [
        (operation.name, "validation", operation.body_adapter) for operation in operations if operation.body is not None
    ]
    results: list[Any] = [
        (operation.name, "serialization", TypeAdapter(operation.result))
        for operation in operations
        if operation.result is not None
    ]
    schemas, rest = TypeAdapter.json_schemas([*inputs, *results], ref_template=_REF)
    return schemas, rest.get("$defs", {})


def _describe_operation(path: str, operation: HttpOperation, schemas: Schemas) -> dict[str, Any]:
    summary, _, rest = operation.about.partition("\n\n")
    described: dict[str, Any] = {
        "tags": [operation.tag], "summary": " ".join(summary.split()).rstrip("."), "description": rest or summary,
        "operationId": operation.name,
    }  # fmt: skip
    if parameters := [*_describe_parameters(path, operation), *operation.parameters]:
        described["parameters"] = parameters
    if operation.body is not None:
        described["requestBody"] = _describe_body(operation, schemas[operation.name, "validation"])
    responses = {str(status): response for status, response in _list_responses(path, operation, schemas).items()}
    if is_ours(path) and path != "/v1/events":
        for status in {"200", "201"} & responses.keys():
            responses[status] = {**responses[status], "headers": {"ETag": ETAG}}
    described["responses"] = responses
    if path == "/health":
        described["security"] = []
    return described


def _describe_parameters(path: str, operation: HttpOperation) -> Iterable[dict[str, Any]]:
    """Yield the parameters in the path and in the query, with the schemas of their models."""
    in_path = operation.in_path.model_json_schema()["properties"] if operation.in_path is not None else {}
    for name in re.findall(r"\{(\w+)\}", path):
        yield _describe_parameter(name, "path", in_path.get(name, {"type": "string"}), is_required=True)
    if operation.in_query is not None:
        schema = operation.in_query.model_json_schema()
        for name, field in schema["properties"].items():
            yield _describe_parameter(name, "query", field, is_required=name in schema.get("required", ()))


def _describe_parameter(name: str, place: str, schema: dict[str, Any], *, is_required: bool) -> dict[str, Any]:
    described = {"name": name, "in": place, "required": is_required, "schema": schema}
    return described | ({"description": schema["description"]} if "description" in schema else {})


def _describe_body(operation: HttpOperation, schema: Any) -> dict[str, Any]:
    if operation.is_body_required:
        return {"required": True, "content": {"application/json": {"schema": schema}}}
    return {"content": {"application/json": {"schema": {"anyOf": [schema, {"type": "null"}]}}}}


def _list_responses(path: str, operation: HttpOperation, schemas: Schemas) -> dict[int, Mapping[str, Any]]:
    """Return the responses of an operation by status: its own, and its errors in the form of the path."""
    result = schemas.get((operation.name, "serialization"))
    content = {"application/json": {"schema": result}}
    responses: dict[int, Mapping[str, Any]] = {
        operation.status: {"description": "Successful Response", **({} if result is None else {"content": content})}
    }
    for status, response in operation.responses.items():
        responses[status] = response
        if "model" in response:
            responses[status] = {"description": response["description"], "content": content}
    if path.startswith(SESSION_BATON):
        with_detail = (400, 401, 403, 429, *REFUSED)
        return responses | refusals(421) | {status: _make_detail_response(status) for status in with_detail}
    if not path.startswith("/v1/") and path != "/health":
        return responses | refusals(*WRITES)
    return responses


def _make_detail_response(status: int) -> dict[str, Any]:
    """Return an error response in the shape of session-baton's server."""
    return {"description": WORDS[status], "content": {"application/json": {"schema": DETAIL}}}


def document_endpoint(operations: Iterable[HttpOperation], *, is_guarded: bool) -> Callable[[Request], Response]:
    """Return the handler of `/openapi.json`; the document is made by the first request."""
    make = cache(lambda: SafeJSONResponse(make_document(operations, is_guarded=is_guarded)).body)
    return lambda _: Response(make(), media_type="application/json")
