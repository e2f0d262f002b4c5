"""The error responses of requests, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from baton_git.interfaces.http.problems import PROBLEM


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
Responses = dict[int | str, dict[str, Any]]

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


def refusals(*more: int) -> Responses:
    """Return the error responses by status: those of any request, and those of `more`."""
    return {status: {"description": WORDS[status], "content": CONTENT} for status in sorted({*ALWAYS, *more})}
