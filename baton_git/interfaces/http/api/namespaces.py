"""Namespaces: which there are, the whole state of one, and whether it is sound."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import Field
from starlette.responses import Response

from baton_git.core.errors import BatonError
from baton_git.core.kinds import KINDS
from baton_git.core.names import Namespace
from baton_git.core.times import iso
from baton_git.interfaces.http.api.acting import After, At, IfNoneMatch, Limit, Named
from baton_git.interfaces.http.api.answering import answer
from baton_git.interfaces.http.api.refusals import refusals
from baton_git.interfaces.http.api.shapes import TIME, Page, Place
from baton_git.interfaces.http.body import Routes
from baton_git.interfaces.http.reading import is_named, tag
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.results import validation
from baton_git.interfaces.results.documents import with_provenance
from baton_git.namespace.remote_selection import pending_counts, waiting_counts
from baton_git.namespace.results import PageInput, UnreadableFile, full_position, take_page
from baton_git.namespace.revision import Revision
from baton_git.systems.session_baton.documents import read_document
from baton_git.verbs.schemas import make_schema
from baton_git.verbs.validation import validate_branch

FAULTY = 1000
"""Files with faults that are named."""


class NamespaceInShort(Place):
    """A namespace in short; where it cannot be read only its name, and why."""

    updated_at: str | None = Field(None, description="When it was written last.", examples=[TIME])
    counts: dict[str, int] = Field({}, description="By kind, how many live records.", examples=[{"open_loop": 3}])
    waiting: dict[str, int] = Field({}, description="By remote, commits that wait for a review.")
    pending: dict[str, int] = Field({}, description="By remote, commits that it does not have yet.")
    unreadable: str | None = Field(None, description="Why it cannot be read.")


class Namespaces(Page):
    namespaces: list[NamespaceInShort]


class NamespaceDocument(Place):
    """The whole document of session-baton."""

    baton: dict[str, Any] | None = Field(description="The document; null where the namespace does not exist.")
    updated_at: str | None = Field(description="When it was written, ISO 8601 with `+00:00`.")
    provenance: dict[str, dict[str, dict[str, str]]] = Field(
        {}, description="By kind and id, who vouches for each record: see `/v1/records`."
    )
    unreadable: list[UnreadableFile] = Field([], description="Records that cannot be read, and are left out.")


class CheckedFile(UnreadableFile):
    """A file of the branch, and its faults."""

    why: str = ""
    kind: str = Field(description="What it is.", examples=["open_loop"])
    ok: bool
    faults: list[dict[str, str]] = Field(description="Where, and what.")


class Validated(Place):
    checked: int = Field(description="How many files the branch has.")
    ok: bool
    faulty: list[CheckedFile] = Field(description=f"Those with faults, at most {FAULTY}.")


def router(site: Site) -> APIRouter:
    """Namespaces, state, validation and schemas."""
    routes = Routes(tags=["state"], responses=refusals())

    @routes.get("/v1/namespaces", response_model=Namespaces)
    def namespaces(limit: Limit = 100, after: After = None) -> Response:
        """The namespaces of the repository, by name, each in short."""
        names = [str(namespace) for namespace in site.namespaces()]
        shown, more = take_page(names, PageInput(limit=limit, after=after), str)
        return answer({"namespaces": [_summarize_namespace(site, name) for name in shown], "next": more})

    @routes.get("/v1/state", response_model=NamespaceDocument, responses={304: {"description": "It has not changed."}})
    def state(namespace: Named = None, at: At = None, if_none_match: IfNoneMatch = None) -> Response:
        """The whole state, as session-baton's document; `baton` is null where the namespace does not exist."""
        with site.work(namespace) as ws:
            commit = ws.branch.read(at).commit
            if if_none_match is not None and is_named(if_none_match, commit):
                return Response(status_code=304, headers={"ETag": tag(commit)})
            found = read_document(ws, at)
            data = with_provenance(ws, found)
        return answer(data, commit=found.version.commit)

    @routes.get("/v1/validate", response_model=Validated)
    def validate(namespace: Named = None, at: At = None) -> Response:
        """Whether every file of the branch is what it should be, the archive too."""
        with site.work(namespace) as ws:
            version = ws.branch.read(at)
            checked = list(validate_branch(ws, version.commit))
        faulty = [validation.checked(one) for one in checked if one.faults]
        data = {"checked": len(checked), "ok": not faulty, "faulty": faulty[:FAULTY]}
        return answer({**full_position(version), **data}, commit=version.commit)

    @routes.get("/v1/schema/{kind}")
    def schema_of(
        kind: Annotated[str, Path(description="A kind of record, or `baton`.", examples=["open_loop"])],
    ) -> Any:
        """The JSON Schema of a kind of record."""
        return answer(make_schema(kind))

    return routes


def _summarize_namespace(site: Site, name: str) -> dict[str, Any]:
    with site.work(Namespace(name).text) as ws:
        try:
            version = ws.branch.read()
            counts = {"waiting": {one.remote: one.commits for one in waiting_counts(ws)}, "pending": pending_counts(ws)}
            return {**full_position(version), **_count_records(version), **counts}
        except BatonError as error:
            return {"namespace": name, "revision": None, "commit": None, "unreadable": str(error)}


def _count_records(version: Revision) -> dict[str, Any]:
    counts = {kind: len(version.state.ids(kind)) for kind, info in KINDS.items() if info.counted is not None}
    return {"updated_at": iso(version.time) if version.time else None, "counts": counts}
