"""The error responses of requests, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from baton_git.interfaces.http.problems import PROBLEM


class Problem(BaseModel):
    """Problem details (RFC 9457); some errors add fields with their data."""

    type: str = Field(description="`urn:baton-git:error:` and the code.", examples=["urn:baton-git:error:not_found"])
    title: str = Field(description="The code in words.", examples=["not found"])
    status: int = Field(description="The status of the answer.", examples=[404])
    detail: str = Field(description="What is wrong and where, in one line.", examples=["there is no open loop 'OL-1'"])
    error: str = Field(description="The code: what the command line's `--json` says.", examples=["not_found"])
    hint: str = Field("", description="The next step, for who uses the command line.")


CONTENT = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
Responses = dict[int | str, dict[str, Any]]

WORDS = {
    400: "The body is no JSON, or the request cannot be understood.",
    401: "The token is missing or wrong.",
    403: "A rule forbids it, only a person may do it (`needs_human`), or another site's page wants to write.",
    404: "There is no such record, revision, run or remote.",
    408: "The request did not arrive in time.",
    409: "Somebody else was faster, or several records are meant.",
    410: "It has ended, and is in the archive.",
    412: "If-Match does not name the newest version.",
    413: "It is larger than it may be.",
    421: "The server is not called that.",
    422: "A name, a field or an argument is not what it should be.",
    429: "Too many wrong tokens from this address; Retry-After says when to try again.",
    502: "The other repository said no.",
    503: "Others kept writing, or there are too many requests of this kind; try again.",
    504: "The other repository cannot be reached.",
    507: "The disk said no; nothing was written.",
    500: "Something stored cannot be read, or a bug; the server's log has the details.",
}
ALWAYS = (400, 401, 403, 404, 408, 409, 413, 421, 422, 429, 500, 503)
"""What any request can meet."""
WRITES = (412, 507)
"""What a request that writes can meet beside that."""
REMOTES = (502, 504)


def refusals(*more: int) -> Responses:
    """Return the error responses by status: those of any request, and those of `more`."""
    return {status: {"description": WORDS[status], "content": CONTENT} for status in sorted({*ALWAYS, *more})}
