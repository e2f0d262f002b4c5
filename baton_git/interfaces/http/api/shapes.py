"""What requests and answers look like, for the OpenAPI document. Answers are not checked against it: what is stored may
be odd, and is told as it is."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from baton_git.namespace.results import COMMIT, ChangedRecord, RedactedValue

TIME = "2026-06-17T12:30:00Z"


class Asked(BaseModel):
    """The body of a request; a field that is not known is refused."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """What went wrong (RFC 9457), with more fields where the error has data."""

    type: str = Field(description="`urn:baton-git:error:` and the code.", examples=["urn:baton-git:error:not_found"])
    title: str = Field(description="The code in words.", examples=["not found"])
    status: int = Field(description="The status of the answer.", examples=[404])
    detail: str = Field(description="What is wrong and where, in one line.", examples=["there is no open loop 'OL-1'"])
    error: str = Field(description="The code: what the command line's `--json` says.", examples=["not_found"])
    hint: str = Field("", description="The next step, for who uses the command line.")


class At(BaseModel):
    """A version of a namespace."""

    revision: int | None = Field(description="Its number; 0 where the namespace does not exist.", examples=[12])
    commit: str | None = Field(description="Its commit; null where the namespace does not exist.", examples=[COMMIT])


class Place(At):
    """A namespace, and the version that the answer is about."""

    namespace: str = Field(description="The namespace.", examples=["project:memory-hall"])


class Written(At):
    """What a change did; `changes` is empty where nothing differed."""

    changes: list[ChangedRecord] = Field(description="What changed, record by record.")
    redactions: list[RedactedValue] = Field(description="Which secrets were taken out.")


class Page(BaseModel):
    """A part of a list."""

    next: str | None = Field(description="`after` of the request for what follows; null where this is the end.")


class Commit(At):
    """One commit, who made it, and what it changed."""

    parents: list[str] = Field(description="The commits that it stands on.", examples=[[COMMIT]])
    time: str = Field(description="When, ISO 8601 in UTC.", examples=[TIME])
    author: str = Field(description="Name and mail.", examples=["Ada <ada@example.org>"])
    op: str = Field(description="The verb; empty for a commit made by hand.", examples=["loop-verify"])
    session: str | None = Field(description="The session that acted.", examples=["2026-06-17-003"])
    agent: str | None = Field(description="The agent that acted.", examples=["claude"])
    machine: str | None = Field(description="The machine.", examples=["mac2"])
    subject: str = Field(description="What it did, in words.", examples=["OL-7k3f9q verified"])
    changes: list[ChangedRecord] = Field(description="What changed, record by record.")
