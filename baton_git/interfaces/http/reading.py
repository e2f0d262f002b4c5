"""The document of a namespace as bytes, kept by commit: what a commit says never changes."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Any, NamedTuple

from fastapi.concurrency import run_in_threadpool

from baton_git.core.names import Oid
from baton_git.interfaces.http.json_response import json_bytes
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.results.documents import document
from baton_git.systems.session_baton.documents import read_document

KEPT_BYTES = 64 << 20
"""Answers that are kept, together."""


class Reading(NamedTuple):
    """An answer of `/v1/baton/read`, and the ETag of its version."""

    body: bytes
    tag: str


class Readings:
    """Cache of the newest read response per namespace; a hit costs one look at its ref."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._kept: OrderedDict[str, tuple[Oid, Reading]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    async def of(self, namespace: str) -> Reading:
        """Return the current document of a namespace.

        Raises:
            InvalidName: `namespace` is no valid name.
            Corrupt: the document cannot be read.
        """
        commit = self._site.tip(namespace)
        kept, reading = self._kept.get(namespace, (None, None))
        if reading is not None and kept == commit:
            return reading
        return await run_in_threadpool(self._reload, namespace)

    def _reload(self, namespace: str) -> Reading:
        with self._site.work(namespace) as ws:
            state = read_document(ws)
        body = compact(document(state))
        reading = Reading(body, tag(state.version.commit))
        if state.version.commit is not None and len(body) <= KEPT_BYTES // 4:
            self._keep(namespace, state.version.commit, reading)
        return reading

    def _keep(self, namespace: str, commit: Oid, reading: Reading) -> None:
        with self._lock:
            _, old = self._kept.pop(namespace, (None, None))
            self._bytes += len(reading.body) - (len(old.body) if old is not None else 0)
            self._kept[namespace] = (commit, reading)
            while self._bytes > KEPT_BYTES:
                _, (_, gone) = self._kept.popitem(last=False)
                self._bytes -= len(gone.body)


def compact(data: Any) -> bytes:
    """JSON as session-baton writes it: no spaces, real characters."""
    return json_bytes(data, separators=(",", ":"))


def tag(commit: Oid | None) -> str:
    """The ETag of a version; of a namespace that does not exist, one that no version has."""
    return f'"{commit}"' if commit is not None else '"none"'


def is_named(header: str, commit: Oid | None) -> bool:
    """Whether If-Match or If-None-Match names the version; `*` names any that exists."""
    tags = {value.strip().removeprefix("W/") for value in header.split(",")}
    return tag(commit) in tags or (commit is not None and "*" in tags)
