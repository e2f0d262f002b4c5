"""The responses of the APIs: JSON that is safe to print, ETags, and errors in the form that belongs to the path."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from baton_git.core import errors
from baton_git.core.codecs import json as strict_json
from baton_git.core.errors import BatonError
from baton_git.core.names import Oid
from baton_git.core.output import one_line, safe_json, terminal
from baton_git.interfaces.context.hint_words import say_for_http

# --- JSON, with control characters escaped as `\uXXXX`


def json_bytes(data: Any, **options: Any) -> bytes:
    """Return `data` as JSON in UTF-8; `options` are passed to `json.dumps`.

    Raises:
        ValueError: `data` contains an unpaired surrogate, or a number that JSON cannot represent.
    """
    return safe_json(json.dumps(data, ensure_ascii=False, allow_nan=False, **options)).encode()


class SafeJSONResponse(JSONResponse):
    """Starlette's JSON response with unsafe characters escaped."""

    def render(self, content: Any) -> bytes:
        return json_bytes(content, separators=(",", ":"))


def compact(data: Any) -> bytes:
    """Return data as JSON in session-baton's form: without spaces, and without escapes for non-ASCII characters."""
    return json_bytes(data, separators=(",", ":"))


# --- errors: problem details (RFC 9457) with the command line's error names, or session-baton's shape


class Outdated(BatonError):
    """If-Match names a revision that is not the newest; the counterpart of `Stale` for commits."""

    code = errors.Stale.code

    def __init__(self, namespace: str, revision: int, commit: str | None) -> None:
        super().__init__(
            f"{namespace} is at revision {revision} now",
            hint="read the current state, apply the change to it, and write again",
            namespace=namespace, current_revision=revision, current_commit=commit,
        )  # fmt: skip


class InvalidRequest(Exception):
    """A request is not valid.

    Attributes:
        faults: the faults in the form of FastAPI, which session-baton's server uses: `type`, `loc`, `msg`, `input`.
    """

    def __init__(self, faults: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(faults)
        self.faults = faults


PROBLEM = "application/problem+json"
SESSION_BATON = "/v1/baton/"
"""The prefix of the paths of session-baton's API."""

STATUS: dict[type[BatonError], int] = {
    errors.InvalidName: 422, errors.InvalidDocument: 422, errors.InvalidArgument: 422, errors.LimitExceeded: 413,
    errors.NotFound: 404, errors.Ambiguous: 409, errors.NotAllowed: 403, errors.Unsettled: 409, errors.Stale: 409,
    errors.StepConflict: 409, Outdated: 412, errors.EndedError: 410, errors.Busy: 503,
    errors.Unreachable: 504, errors.RemoteError: 502, errors.WriteFailed: 507, errors.StoreError: 500,
}  # fmt: skip
"""The HTTP status by error type; the most specific type applies."""

CODES = {404: "not_found", 405: "method_not_allowed", 413: "limit_exceeded"}
"""The codes of the framework's errors, by HTTP status."""

RETRY_AFTER = {"Retry-After": "1"}

log = logging.getLogger("baton.http")


def is_ours(path: str) -> bool:
    """Return whether a path belongs to baton-git's own API, whose errors are problem details."""
    return path.startswith("/v1/") and not path.startswith(SESSION_BATON)


def has_session_baton_form(path: str) -> bool:
    """Return whether the errors of a path have session-baton's form; those of all other paths are problem details.

    Additional slashes are ignored: session-baton's server answers them with its own form, too.
    """
    names = [name for name in path.split("/") if name]
    return names[:2] == ["v1", "baton"] or names == ["health"]


def status_of(error: BatonError) -> int:
    """Return the HTTP status for an error; 500 for a type without one."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def problem(
    status: int, code: str, message: str, *, hint: str = "", headers: dict[str, str] | None = None, **data: Any
) -> Response:
    """Return a response with problem details: `error` is the command line's name of the error, `hint` the next step."""
    return SafeJSONResponse(_details(status, code, message, hint, data), status, headers, media_type=PROBLEM)


def _details(status: int, code: str, message: str, hint: str, data: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {
        "type": f"urn:baton-git:error:{code}", "title": code.replace("_", " "), "status": status, "detail": message,
        "error": code,
    }  # fmt: skip
    if hint:
        body["hint"] = hint
    return body | {name: value for name, value in data.items() if name not in body}


def refusal(path: str, status: int, code: str, message: str, *, hint: str = "", **data: Any) -> Response:
    """Return an error response in the shape that belongs to the path."""
    headers = RETRY_AFTER if status == 503 else None
    if has_session_baton_form(path):
        return SafeJSONResponse({"detail": f"{message}; {hint}" if hint else message}, status, headers)
    return problem(status, code, message, hint=hint, headers=headers, **data)


def of_error(path: str, error: BatonError, **more: Any) -> Response:
    """Return the response for an expected error, with `more` data. Its texts contain no control characters."""
    data = {name: value for name, value in _select_json({**error.data, **more}).items() if name not in _OWN}
    return refusal(
        path, status_of(error), error.code, terminal(str(error)), hint=terminal(say_for_http(error.hint)), **data
    )


_OWN = ("path", "status", "code", "message", "hint", "headers")
"""Names that an error's data must not have: the parameters of `refusal`."""


def describe_problem(error: BatonError) -> dict[str, Any]:
    """Return an error as problem details, for a stream whose response has begun."""
    message, hint = terminal(str(error)), terminal(say_for_http(error.hint))
    return _details(status_of(error), error.code, message, hint, _select_json({**error.data}))


def _select_json(data: dict[str, Any]) -> dict[str, Any]:
    """Return the values of an error's data that JSON can represent."""
    fields = {}
    for name, value in data.items():
        try:
            strict_json.check(value)
        except BatonError:
            continue
        fields[name] = value
    return fields


def of_document(error: errors.InvalidDocument, where: tuple[str, ...], document: Any = None) -> Response:
    """Return the faults of a document in the shape in which FastAPI reports faults of a request.

    `where` is the path to the document in the request's body.
    """
    faults = []
    for fault in error.faults:
        steps = _split_path(fault.path)
        value = _find_value(document, steps)
        details = {"type": "value_error", "loc": ["body", *where, *steps], "msg": terminal(fault.message)}
        faults.append({**details, "input": value if _is_json(value) else None})
    return SafeJSONResponse({"detail": faults}, 422)


def _find_value(document: Any, steps: list[str | int]) -> Any:
    """Return the value at a path; if it is missing, the value that should contain it."""
    for step in steps:
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            return document
    return document


def _split_path(path: str) -> list[str | int]:
    """Return a path such as `open_loops[2].verify` in the form of FastAPI's `loc`."""
    steps: list[str | int] = []
    for part in path.replace("[", ".[").split("."):
        inner = part[1:-1] if part.startswith("[") and part.endswith("]") else ""
        steps += [int(inner)] if inner.isdecimal() else [part] if part else []
    return steps


async def _answer_exception(request: Request, error: Exception) -> Response:
    """Return the response for an error of the package or of the framework, or for a bug."""
    path = request.url.path
    match error:
        case BatonError():
            return of_error(path, error)
        case InvalidRequest():
            return of_request(path, error)
        case HTTPException():
            return _of_framework(request, error)
        case ClientDisconnect():
            return Response(status_code=400)  # nobody receives it
    return of_bug(request.method, path, error)


HANDLERS = dict.fromkeys((BatonError, InvalidRequest, HTTPException, ClientDisconnect, Exception), _answer_exception)
"""The handler of each exception, for Starlette, which otherwise answers with text. It also looks at base classes."""


def of_bug(method: str, path: str, error: Exception) -> Response:
    """Return status 500 without a stack trace, which is in the log."""
    log.error("a bug in baton itself: %s %s", method, one_line(path, 1000), exc_info=error)
    return refusal(path, 500, "bug", "a bug in baton itself; the server's log has the details")


def _of_framework(request: Request, error: HTTPException) -> Response:
    """Return the response for an error of the framework: an unknown path, a wrong method, an undecodable body."""
    if has_session_baton_form(request.url.path):
        return SafeJSONResponse({"detail": error.detail}, error.status_code, error.headers)
    code = CODES.get(error.status_code, "invalid_request")
    message, hint = _describe_framework_error(request, error)
    return problem(error.status_code, code, terminal(message), hint=hint, headers=dict(error.headers or {}))


def _describe_framework_error(request: Request, error: HTTPException) -> tuple[str, str]:
    """Return the message and the hint for an error of the framework."""
    path = errors.shorten(request.url.path)
    if error.status_code == 404:
        return f"there is no path {path}", "/openapi.json describes all paths of the APIs"
    if error.status_code == 405:
        return (
            f"{path} has no method {errors.shorten(request.method)}",
            "/openapi.json describes the methods of each path",
        )
    return str(error.detail), "/openapi.json describes the valid requests"


def of_request(path: str, error: InvalidRequest) -> Response:
    """Return request faults: in FastAPI's own shape on session-baton's paths, elsewhere as problem details."""
    faults = [_clean_fault(fault) for fault in error.faults]
    if has_session_baton_form(path):
        return SafeJSONResponse({"detail": faults}, 422)
    named = [{"path": _join_path(fault["loc"]), "message": fault["msg"]} for fault in faults]
    text = "; ".join(f"{fault['path']}: {fault['message']}" for fault in named[:5])
    return problem(422, "invalid_request", text, faults=named, hint="/openapi.json describes the valid requests")


def _clean_fault(fault: Any) -> dict[str, Any]:
    """Return a fault without values that JSON cannot represent: bytes, lone surrogates, exceptions."""
    loc = [terminal(part) if isinstance(part, str) else part for part in fault["loc"]]
    fields = {"type": fault["type"], "loc": loc, "msg": terminal(str(fault["msg"]))}
    for name in ("input", "ctx"):
        value = fault.get(name)
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        if name in fault and _is_json(value):
            fields[name] = value
    return fields


def _is_json(value: Any) -> bool:
    try:
        strict_json.check(value)
        strict_json.dumps(value)
    except (BatonError, TypeError, ValueError):
        return False
    return True


def _join_path(loc: list[Any]) -> str:
    return ".".join(str(part) for part in loc if part not in ("query", "header", "path")) or "body"


# --- answers with any stored data, including values that JSON cannot represent


NOTHING: Any = object()


def answer(data: Any, status: int = 200, *, commit: Oid | None = NOTHING, **options: Any) -> Response:
    """Return `data` as JSON, with an ETag if `commit` is passed: that of the commit, or for None that of a missing
    namespace. `options` are passed to `json.dumps`."""
    headers = {} if commit is NOTHING else {"ETag": tag(commit)}
    return Response(_bytes(data, default=str, **options), status, headers, "application/json")


def _bytes(data: Any, **options: Any) -> bytes:
    try:
        return json_bytes(data, **options)
    except ValueError:  # half of a surrogate pair, or a number that JSON does not have
        text = json.dumps(_replace_unsafe(data), ensure_ascii=False, allow_nan=False, **options)
        return safe_json(text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")).encode()


def _replace_unsafe(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(name): _replace_unsafe(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_replace_unsafe(item) for item in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def tag(commit: Oid | None) -> str:
    """Return the ETag of a commit; for a namespace that does not exist, an ETag that no commit has."""
    return f'"{commit}"' if commit is not None else '"none"'


def is_named(header: str, commit: Oid | None) -> bool:
    """Return whether an If-Match or If-None-Match header contains the ETag; `*` matches every commit."""
    tags = {value.strip().removeprefix("W/") for value in header.split(",")}
    return tag(commit) in tags or (commit is not None and "*" in tags)
