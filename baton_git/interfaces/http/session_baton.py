"""session-baton's API with the responses of its own server.

It includes the revision numbers that session-baton's author added in a later project, memory-hall.
"""

from __future__ import annotations

from typing import Any

import anyio
from anyio.to_thread import run_sync
from pydantic import BaseModel, Field
from starlette.responses import Response

from baton_git.core.errors import InvalidName
from baton_git.interfaces.http.documents import WRITE, DocumentWrite, Readings, refuse_name, write_document
from baton_git.interfaces.http.guard import CALLER, Caller
from baton_git.interfaces.http.operations import Arguments, HttpOperation, declare
from baton_git.interfaces.http.responses import SafeJSONResponse
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.http.writer_processes import WriterProcesses


class ReadRequest(BaseModel):
    """The namespace to read."""

    namespace: str = Field(min_length=1, description="The namespace; any text.", examples=["project:memory-hall"])


class WriteRequest(BaseModel):
    """A whole document, and the revision that it is based on."""

    namespace: str = Field(min_length=1, description="The namespace; any text.", examples=["project:memory-hall"])
    baton: dict[str, Any] = Field(description="The whole document.", examples=[{"session_id": "2026-06-17-001"}])
    expected_revision: int | None = Field(
        None,
        ge=0,
        description="Reject the write with 409 unless this is the newest revision; 0: nothing has been written to "
        "the namespace yet.",
    )


class ReadAnswer(BaseModel):
    """The newest document of a namespace. If it does not exist, all values except `namespace` are null."""

    baton: dict[str, Any] | None = Field(description="The document; null if the namespace does not exist.")
    namespace: str
    updated_at: str | None = Field(description="The time of the write, ISO 8601 with `+00:00`.")
    revision: int | None
    commit: str | None


class WriteAnswer(BaseModel):
    """The revision that was written, and how it differs from the document in the request."""

    ok: bool
    updated_at: str
    namespace: str
    revision: int
    commit: str
    held: list[dict[str, Any]] | None = Field(
        None, description="The claims that only a person may make, which were not written."
    )
    filled: list[dict[str, Any]] | None = Field(
        None, description="The fields that records lacked, with their new values."
    )


TAG = "session-baton"
READ = "/v1/baton/read"

MAX_WRITERS = 16
"""Maximum number of documents that are written at the same time; further writes wait, reads do not."""


class SessionBaton:
    """The read and write requests of session-baton's API."""

    def __init__(self, site: Site, writers: WriterProcesses) -> None:
        self._site = site
        self._readings = Readings(site)
        self._writers = writers
        self._threads = anyio.CapacityLimiter(MAX_WRITERS)

    @property
    def operations(self) -> tuple[HttpOperation, ...]:
        return (
            declare("POST", READ, self.read_baton, TAG, body=ReadRequest, result=ReadAnswer),
            declare("POST", WRITE, self.write_baton, TAG, body=WriteRequest, result=WriteAnswer),
            declare("GET", "/health", self.health, "server", result=dict[str, str]),
        )

    def _describe_store(self, caller: Caller) -> dict[str, str]:
        """Return the repository and the namespace of the server; empty for a caller without a token."""
        if caller.kind not in ("owner", "agent"):
            return {}
        site = self._site
        namespace = caller.namespace or str(site.settings.namespace)
        return {"repository": str(site.repository.common_dir), "namespace": namespace}

    async def health(self, arguments: Arguments) -> Response:
        """Report that the server is running; needs no token. A request with a token is also told which repository
        and namespace answer."""
        store = self._describe_store(arguments.request.scope[CALLER])
        return SafeJSONResponse({"status": "ok", "service": "session-baton", **store})

    async def read_baton(self, arguments: Arguments) -> Response:
        """Return the whole document of a namespace; `baton` is null if the namespace does not exist."""
        try:
            return await self._readings.of(arguments.body.namespace)
        except InvalidName as error:
            return refuse_name(error)

    async def write_baton(self, arguments: Arguments) -> Response:
        """Write a document, merged with what others wrote since its session last read.

        `held` lists the claims that only a person may make, which were not written. `filled` lists the fields that
        records lacked, with their new values.
        """
        request, body = arguments.request, arguments.body
        write = DocumentWrite(body.namespace, body.baton, body.expected_revision, request.headers.get("if-match"))
        return await self._writers.write(write, len(await request.body()), self._write_in_thread)

    async def _write_in_thread(self, write: DocumentWrite) -> Response:
        return await run_sync(write_document, self._site, write, limiter=self._threads)
