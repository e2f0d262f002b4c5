"""Cache of read responses: the newest document of each namespace, with its commit."""

from __future__ import annotations

from typing import NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from baton_git.core.names import Oid
from baton_git.core.value_cache import ValueCache
from baton_git.interfaces.http.responses import compact, tag
from baton_git.interfaces.http.site import Site
from baton_git.systems.session_baton.documents import read_document

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
