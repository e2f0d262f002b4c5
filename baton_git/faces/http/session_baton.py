"""session-baton's API, as its own server answers it; with revisions, as its author added them later in memory-hall."""

from __future__ import annotations

from typing import Any

import anyio
from anyio.to_thread import run_sync
from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from baton_git.errors import InvalidDocument, InvalidName, LimitExceeded, Stale
from baton_git.faces.answers.documents import conflict, written
from baton_git.faces.http import problems
from baton_git.faces.http.body import body_as
from baton_git.faces.http.lane import Handler
from baton_git.faces.http.reading import Readings, compact, tag
from baton_git.faces.http.site import Site
from baton_git.names import Oid
from baton_git.operations.documents import Read, read, write


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
WRITERS = 8
"""Threads that write side by side; who comes then waits in the order of coming, and readers do not wait for them."""


class SessionBaton:
    """The two requests of session-baton's API."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._readings = Readings(site)
        self._writers = anyio.CapacityLimiter(WRITERS)

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
        if_match = request.headers.get("if-match")
        return await run_sync(_write, self._site, asked, if_match, limiter=self._writers)


def router(wire: SessionBaton) -> APIRouter:
    """`/health` and `/v1/baton`."""
    routes = APIRouter(tags=["session-baton"])

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


def _write(site: Site, asked: WriteRequest, if_match: str | None) -> Response:
    expected = asked.expected_revision
    try:
        with site.work(asked.namespace) as ws:
            if if_match is not None:
                found = read(ws)
                if not _matches(if_match, found):
                    return _conflict(asked.namespace, expected, found, 412)
                if expected is None and if_match.strip() != "*":
                    expected = found.version.revision
            try:
                done = write(ws, site.now(), asked.baton, expected_revision=expected)
            except Stale:
                return _conflict(asked.namespace, expected, read(ws), 409)
    except InvalidName as error:
        return _refused_name(error)
    except InvalidDocument as error:
        return problems.of_document(error, ("baton",), asked.baton)
    except LimitExceeded as error:
        return _refused("baton", f"{error}; {error.hint}" if error.hint else str(error), None)
    return _json(written(done), 200, done.written.version.commit)


def _matches(if_match: str, found: Read) -> bool:
    """Whether If-Match lets a write pass: one of its tags is the version's, or `*` and there is one."""
    tags = [one.strip() for one in if_match.split(",")]
    return tag(found.version.commit) in tags or (tags == ["*"] and found.version.commit is not None)


def _json(data: dict[str, Any], status: int, commit: Oid | None) -> Response:
    return Response(compact(data), status, {"ETag": tag(commit)}, "application/json")


def _conflict(namespace: str, expected: int | None, found: Read, status: int) -> Response:
    """memory-hall's answer to a write that comes too late: with the current state, nothing written."""
    return _json({"detail": conflict(namespace, expected, found)}, status, found.version.commit)


def _refused_name(error: InvalidName) -> Response:
    return _refused("namespace", str(error), error.data["name"])


def _refused(field: str, message: str, given: Any) -> Response:
    fault = {"type": "value_error", "loc": ["body", field], "msg": message, "input": given}
    return Response(compact({"detail": [fault]}), 422, media_type="application/json")
