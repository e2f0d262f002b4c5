"""Read and write documents of session-baton's API, and make the response of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from baton_git.core.errors import BatonError, InvalidDocument, InvalidName, LimitExceeded, Stale
from baton_git.core.names import Oid
from baton_git.core.value_cache import ValueCache
from baton_git.interfaces.context.hint_words import say_for_http
from baton_git.interfaces.http.responses import compact, of_bug, of_document, of_error, tag
from baton_git.interfaces.http.site import Site
from baton_git.namespace import branch
from baton_git.namespace.branch import TargetedUpdate
from baton_git.namespace.revision import WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.document_writing import PlannedWrite, plan_write
from baton_git.systems.session_baton.documents import DocumentRead, describe_conflict, read_document

# --- cache of read responses: the newest document of each namespace, with its commit


KEPT_BYTES = 64 << 20
"""Maximum total size of the cached responses in bytes."""


class _Reading(NamedTuple):
    response: Response
    commit: Oid | None


class Readings:
    """Cache of the newest read response per namespace; a hit costs one look-up of its ref and its kept ref."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._kept = ValueCache(KEPT_BYTES)

    async def of(self, namespace: str) -> Response:
        """Return the response with the current document of a namespace.

        Raises:
            InvalidName: `namespace` is not a valid name.
            BranchMoved: another program deleted the branch, moved it back or replaced it.
            Corrupt: the document cannot be read.
        """
        kept: _Reading | None = self._kept.get(namespace)
        if kept is not None and kept.commit == self._site.trusted_tip(namespace):
            return kept.response
        return await run_in_threadpool(self._reload, namespace)

    def _reload(self, namespace: str) -> Response:
        with self._site.work(namespace) as ws:
            state = read_document(ws, foreign=True)
        body, commit = compact(state.as_data()), state.revision.commit
        response = Response(body, 200, {"ETag": tag(commit)}, "application/json")
        if commit is not None and len(body) <= KEPT_BYTES // 4:
            self._kept.put(namespace, _Reading(response, commit), len(body))
        return response


# --- write documents of session-baton's API, one or several together, and make the response of each


WRITE = "/v1/baton/write"


class DocumentWrite(NamedTuple):
    """A request to write a document.

    Attributes:
        expected: the revision that must be the newest, from the body of the request.
        if_match: the header If-Match.
    """

    namespace: str
    baton: dict[str, Any]
    expected: int | None
    if_match: str | None


class _Planned(NamedTuple):
    ws: Workspace
    write: PlannedWrite

    @property
    def expected(self) -> int | None:
        return self.write.update.expected_revision


def write_document(site: Site, request: DocumentWrite) -> Response:
    """Write a document, and return its result, or session-baton's own response if it is refused."""
    plan = _plan(site, request)
    if isinstance(plan, Response):
        return plan
    change, stamp, expected = plan.write.update
    try:
        written = plan.write.branch.update(change, stamp, expected_revision=expected)
    except Exception as error:  # noqa: BLE001  it becomes a response
        return _answer(request, plan, error)
    return _answer(request, plan, written)


def write_together(site: Site, requests: Sequence[DocumentWrite]) -> list[Response | None]:
    """Write documents, and return the response to each; None if it must be written with `write_document`.

    All share the syncs to the disk. Those for one namespace are written in the order given, each in a commit of its
    own.
    """
    plans = [_plan(site, request) for request in requests]
    updates = [TargetedUpdate(plan.write.branch, plan.write.update) for plan in plans if isinstance(plan, _Planned)]
    results = iter(branch.write_together(updates))
    responses: list[Response | None] = []
    for request, plan in zip(requests, plans, strict=True):
        written = next(results) if isinstance(plan, _Planned) else None
        if isinstance(plan, _Planned):
            responses.append(None if written is None else _answer(request, plan, written))
        else:
            responses.append(plan)
    return responses


def _plan(site: Site, request: DocumentWrite) -> _Planned | Response:
    """Parse a document; return the response if it is refused before it is written."""
    expected, if_match = request.expected, request.if_match
    try:
        with site.work(request.namespace, may_begin=True) as ws:
            if if_match is not None:
                current = read_document(ws, foreign=True)
                if not _is_current(if_match, current):
                    return _answer_conflict(request.namespace, expected, current, 412)
                if expected is None and if_match.strip() != "*":
                    expected = current.revision.number
            return _Planned(ws, plan_write(ws, site.now(), request.baton, expected_revision=expected))
    except Exception as error:  # noqa: BLE001  one of several requests
        return _refuse(request, error)


def _answer(request: DocumentWrite, plan: _Planned, written: WriteResult | Exception) -> Response:
    try:
        if isinstance(written, Stale):
            current = read_document(plan.ws, foreign=True)
            return _answer_conflict(request.namespace, plan.expected, current, 409)
        if isinstance(written, Exception):
            return _refuse(request, written)
        result = plan.write.result(written)
        return _json_response(result.as_data(), 200, result.written.revision.commit)
    except Exception as error:  # noqa: BLE001  one of several requests
        return _refuse(request, error)


def _refuse(request: DocumentWrite, error: Exception) -> Response:
    if isinstance(error, InvalidName):
        return refuse_name(error)
    if isinstance(error, InvalidDocument):
        return of_document(error, ("baton",), request.baton)
    if isinstance(error, LimitExceeded):
        return _refuse_field("baton", f"{error}; {say_for_http(error.hint)}" if error.hint else str(error), None)
    if isinstance(error, BatonError):
        return of_error(WRITE, error)
    return of_bug("POST", WRITE, error)


def _is_current(if_match: str, current: DocumentRead) -> bool:
    """Return whether If-Match allows a write: it has the ETag of the current revision, or it is `*` and the namespace
    exists."""
    tags = [value.strip() for value in if_match.split(",")]
    return tag(current.revision.commit) in tags or (tags == ["*"] and current.revision.commit is not None)


def _json_response(data: dict[str, Any], status: int, commit: Oid | None) -> Response:
    return Response(compact(data), status, {"ETag": tag(commit)}, "application/json")


def _answer_conflict(namespace: str, expected: int | None, current: DocumentRead, status: int) -> Response:
    """Return memory-hall's response to a stale write: the current state; nothing was written."""
    return _json_response({"detail": describe_conflict(namespace, expected, current)}, status, current.revision.commit)


def refuse_name(error: InvalidName) -> Response:
    """Return the response to an invalid name of a namespace."""
    return _refuse_field("namespace", str(error), error.data["name"])


def _refuse_field(field: str, message: str, given: Any) -> Response:
    fault = {"type": "value_error", "loc": ["body", field], "msg": message, "input": given}
    return Response(compact({"detail": [fault]}), 422, media_type="application/json")
