"""session-baton's API, as its own server answers it; with revisions, as its author added them later in memory-hall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from baton_git.core.errors import InvalidDocument, InvalidName, LimitExceeded, Stale
from baton_git.core.names import Oid
from baton_git.interfaces.http import problems
from baton_git.interfaces.http.body import Routes, body_as
from baton_git.interfaces.http.fast_path import Handler
from baton_git.interfaces.http.reading import Readings, compact, tag
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.http.write_batcher import Answer, Desk
from baton_git.interfaces.results.documents import conflict, written
from baton_git.namespace.revision import UpdateResult
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.document_writing import PreparedWrite, prepare_write
from baton_git.systems.session_baton.documents import DocumentRead, read_document


class ReadRequest(BaseModel):
    """Which namespace is to be read."""

    namespace: str = Field(min_length=1, description="The namespace; any text.", examples=["project:memory-hall"])


class WriteRequest(BaseModel):
    """A whole document, and what it stands on."""

    namespace: str = Field(min_length=1, description="The namespace; any text.", examples=["project:memory-hall"])
    baton: dict[str, Any] = Field(description="The whole document.", examples=[{"session_id": "2026-06-17-001"}])
    expected_revision: int | None = Field(
        None, ge=0, description="Refuse with 409 unless this is the newest revision; 0: it must not exist yet."
    )


class ReadAnswer(BaseModel):
    baton: dict[str, Any] | None = Field(description="The document; null where the namespace does not exist.")
    namespace: str
    updated_at: str | None = Field(description="When it was written, ISO 8601 with `+00:00`.")
    revision: int | None
    commit: str | None


class WriteAnswer(BaseModel):
    ok: bool
    updated_at: str
    namespace: str
    revision: int
    commit: str
    held: list[dict[str, Any]] | None = Field(None, description="What only a person may claim, and was not written.")


READ, WRITE = "/v1/baton/read", "/v1/baton/write"


class SessionBaton:
    """The two requests of session-baton's API."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._readings = Readings(site)
        self._desk = Desk[_Asked](lambda lot: _write_all(site, lot))

    @property
    def posts(self) -> dict[str, Handler]:
        return {READ: self.read, WRITE: self.write}

    async def read(self, request: Request) -> Response:
        """The whole document of a namespace; `baton` is null where it does not exist."""
        asked = await body_as(ReadRequest, request)
        try:
            found = await self._readings.of(asked.namespace)
        except InvalidName as error:
            return _refused_name(error)
        return Response(found.body, 200, {"ETag": found.tag}, "application/json")

    async def write(self, request: Request) -> Response:
        """Writes a document, merged with what others wrote since its session last read; `held` was held back."""
        asked = await body_as(WriteRequest, request)
        return await self._desk.answer(asked.namespace, _Asked(asked, request.headers.get("if-match")))


def router(wire: SessionBaton) -> APIRouter:
    """`/health` and `/v1/baton`."""
    routes = Routes(tags=["session-baton"])

    @routes.get("/health", tags=["server"])
    async def health() -> dict[str, str]:
        """Whether the server answers; needs no token."""
        return {"status": "ok", "service": "session-baton"}

    for path, handler, model, answer in (
        (READ, wire.read, ReadRequest, ReadAnswer),
        (WRITE, wire.write, WriteRequest, WriteAnswer),
    ):
        routes.add_api_route(
            path, handler, methods=["POST"], response_model=answer, name=handler.__name__ + "_baton",
            openapi_extra={"requestBody": _described(model)},
        )  # fmt: skip
    return routes


def _described(model: type[BaseModel]) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": model.model_json_schema()}}}


class _Asked(NamedTuple):
    """A request to write, with its If-Match."""

    request: WriteRequest
    if_match: str | None


class _Begun(NamedTuple):
    """A request whose document is valid."""

    asked: WriteRequest
    ws: Workspace
    writing: PreparedWrite


def _write_all(site: Site, lot: Sequence[_Asked]) -> list[Answer]:
    """Writes documents of one namespace together; the answer to each, or what went wrong with it."""
    begun = [_begun(site, one.request, one.if_match) for one in lot]
    ready = [one for one in begun if isinstance(one, _Begun)]
    written = iter(ready[0].ws.branch.update_all([one.writing.update for one in ready]) if ready else ())
    return [_ended(one, next(written)) if isinstance(one, _Begun) else one for one in begun]


def _begun(site: Site, asked: WriteRequest, if_match: str | None) -> _Begun | Answer:
    expected = asked.expected_revision
    try:
        with site.work(asked.namespace) as ws:
            if if_match is not None:
                found = read_document(ws)
                if not _matches(if_match, found):
                    return _conflict(asked.namespace, expected, found, 412)
                if expected is None and if_match.strip() != "*":
                    expected = found.version.number
            return _Begun(asked, ws, prepare_write(ws, site.now(), asked.baton, expected_revision=expected))
    except Exception as error:  # noqa: BLE001  it is this request's, and not that of the others
        return _refusal(asked, error)


def _ended(begun: _Begun, updated: UpdateResult) -> Answer:
    try:
        done = begun.writing.done(updated.result())
        return _json(written(done), 200, done.written.revision.commit)
    except Stale:
        return _conflict(begun.asked.namespace, begun.writing.update.expected_revision, read_document(begun.ws), 409)
    except Exception as error:  # noqa: BLE001  as above
        return _refusal(begun.asked, error)


def _refusal(asked: WriteRequest, error: Exception) -> Answer:
    """The wire's own answers; what else went wrong is answered as everywhere."""
    if isinstance(error, InvalidName):
        return _refused_name(error)
    if isinstance(error, InvalidDocument):
        return problems.of_document(error, ("baton",), asked.baton)
    if isinstance(error, LimitExceeded):
        return _refused("baton", f"{error}; {error.hint}" if error.hint else str(error), None)
    return error


def _matches(if_match: str, found: DocumentRead) -> bool:
    """Whether If-Match lets a write pass: one of its tags is the version's, or `*` and there is one."""
    tags = [one.strip() for one in if_match.split(",")]
    return tag(found.version.commit) in tags or (tags == ["*"] and found.version.commit is not None)


def _json(data: dict[str, Any], status: int, commit: Oid | None) -> Response:
    return Response(compact(data), status, {"ETag": tag(commit)}, "application/json")


def _conflict(namespace: str, expected: int | None, found: DocumentRead, status: int) -> Response:
    """memory-hall's answer to a write that comes too late: with the current state, nothing written."""
    return _json({"detail": conflict(namespace, expected, found)}, status, found.version.commit)


def _refused_name(error: InvalidName) -> Response:
    return _refused("namespace", str(error), error.data["name"])


def _refused(field: str, message: str, given: Any) -> Response:
    fault = {"type": "value_error", "loc": ["body", field], "msg": message, "input": given}
    return Response(compact({"detail": [fault]}), 422, media_type="application/json")
