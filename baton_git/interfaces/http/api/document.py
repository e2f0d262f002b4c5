"""The OpenAPI document: FastAPI's, completed with what FastAPI cannot derive from the handlers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from baton_git.interfaces.http.api.refusals import WORDS, WRITES, Problem, refusals
from baton_git.interfaces.http.problems import SESSION_BATON, is_ours

REFUSED = (404, 408, 409, 412, 413, 422, 500, 503, 507)
DETAIL = {"type": "object", "properties": {"detail": {"description": "What is wrong."}}, "required": ["detail"]}
ETAG = {
    "description": "The version that the answer is about, for If-Match and If-None-Match.",
    "schema": {"type": "string"},
}
BEARER = {"type": "http", "scheme": "bearer", "description": "The server's token, `BATON_API_TOKEN`; PAIF's paths also "
          "take an agent's own."}  # fmt: skip
TAGS = {
    "server": "The server itself.",
    "session-baton": "session-baton's API, as its own server answers it.",
    "PAIF": "PAIF's session protocol.",
    "state": "Namespaces, the whole state, and its records.",
    "records": "The verbs of open loops, follow-ups, patterns and decisions.",
    "sessions": "Sessions: begin, end, who worked when, what they left.",
    "history": "What changed, and going back.",
    "sharing": "Other machines: sync, review, conflicts.",
    "handovers": "KAIROS' protocol runs, handed over from one client to the next.",
    "snapshots": "ECC's snapshots of sessions.",
    "events": "Changes as they happen.",
}


def install(app: FastAPI, *, is_guarded: bool) -> None:
    """Make `/openapi.json` return the completed document.

    Args:
        is_guarded: whether requests need the token.
    """
    made: dict[str, Any] = {}

    def openapi() -> dict[str, Any]:
        if not made:
            made.update(_document(app, is_guarded))
        return made

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way of having it changed


def _document(app: FastAPI, is_guarded: bool) -> dict[str, Any]:
    data = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    components = data.setdefault("components", {})
    components.setdefault("securitySchemes", {})["bearer"] = BEARER
    components.setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
    data["security"] = [{"bearer": []}] if is_guarded else [{"bearer": []}, {}]
    operations = list(_operations(data))
    used = {name for _, one in operations for name in one.get("tags", ())}
    data["tags"] = [{"name": name, "description": text} for name, text in TAGS.items() if name in used]
    for path, one in operations:
        if path == "/health":
            one["security"] = []
        _say(one)
        _add_refusals(path, one)
        _add_tag(path, one)
    return data


def _operations(data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in data["paths"].items():
        for one in methods.values():
            yield path, one


def _add_refusals(path: str, operation: dict[str, Any]) -> None:
    """Add the error responses of session-baton's and PAIF's paths, which their handlers do not declare."""
    if path.startswith(SESSION_BATON):
        refused, plain = refusals(421), {400, 401, 403, 429, *REFUSED}
    elif not path.startswith("/v1/") and path != "/health":
        refused, plain = refusals(*WRITES), {400, 401, 429}
    else:
        return
    operation["responses"].pop("422", None)
    refused |= {status: _plain(status) for status in plain}
    for status, told in refused.items():
        operation["responses"].setdefault(str(status), told)


def _add_tag(path: str, operation: dict[str, Any]) -> None:
    """Add the ETag header to responses about a revision."""
    if not is_ours(path) or path == "/v1/events":
        return
    for status in {"200", "201"} & operation["responses"].keys():
        operation["responses"][status]["headers"] = {"ETag": ETAG}


def _plain(status: int) -> dict[str, Any]:
    """Return an error response in the shape of session-baton's server."""
    return {"description": WORDS[status], "content": {"application/json": {"schema": DETAIL}}}


def _say(operation: dict[str, Any]) -> None:
    """Use the first sentence of the docstring as the summary, instead of the function's name."""
    text = operation.get("description", "")
    first, _, rest = text.partition("\n\n")
    if first:
        operation["summary"] = " ".join(first.split()).rstrip(".")
        operation["description"] = rest or first
