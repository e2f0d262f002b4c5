"""The sync state of a cached namespace: the content of its sidecar file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from baton_git.core.codecs import json
from baton_git.core.errors import Corrupt, InvalidDocument, LimitExceeded
from baton_git.systems.session_baton.client import ServerAnswer


@dataclass(frozen=True)
class SyncState:
    """The sync state of a cached namespace with its server.

    Attributes:
        url: the server to which the other fields refer; empty if no server was contacted yet.
        seen: the server's document when last seen: the merge base, and the expected state of the next write.
        local: the pending document, or None.
        theirs: the server's document when it rejected `local`; None if there is no conflict.
        owns: whether the cache file belongs to this namespace; several namespaces may share a file name.
        digests: the SHA-256 digests of the cache file after baton's last write and before it. After a kill during that
            write, the file may have either.
    """

    namespace: str
    url: str = ""
    seen: ServerAnswer | None = None
    local: dict[str, Any] | None = None
    theirs: ServerAnswer | None = None
    owns: bool = True
    digests: tuple[str, ...] = ()

    def encode(self) -> bytes:
        data = {
            "namespace": self.namespace, "url": self.url, "seen": _encode_answer(self.seen), "local": self.local,
            "theirs": _encode_answer(self.theirs), "owns": self.owns, "digests": list(self.digests),
        }  # fmt: skip
        return f"{json.dumps(data)}\n".encode()


def _encode_answer(answer: ServerAnswer | None) -> dict[str, Any] | None:
    if answer is None:
        return None
    return {"baton": answer.baton, "updated_at": answer.updated_at, "revision": answer.revision}


def parse_sync_state(text: bytes, namespace: str, where: str) -> SyncState:
    """Parse the sidecar file of `namespace`.

    Raises:
        Corrupt: it cannot be parsed, or belongs to another namespace.
    """
    try:
        data = json.loads(text, where=where)
        sync_state = SyncState(
            data["namespace"], data["url"], _parse_answer(data["seen"]), _parse_object(data["local"]),
            _parse_answer(data["theirs"]), data["owns"] is True, tuple(str(digest) for digest in data["digests"]),
        )  # fmt: skip
    except (InvalidDocument, LimitExceeded, KeyError, TypeError) as error:
        raise Corrupt(where, "is damaged: it is not a sidecar file of baton's cache") from error
    if sync_state.namespace != namespace or not isinstance(sync_state.url, str):
        raise Corrupt(where, "is the sidecar file of another namespace")
    return sync_state


def _parse_answer(data: Any) -> ServerAnswer | None:
    if data is None:
        return None
    updated_at, revision = data["updated_at"], data["revision"]
    if not isinstance(updated_at, str | None) or not isinstance(revision, int | None):
        raise TypeError("not an answer")
    return ServerAnswer(_parse_object(data["baton"]), updated_at, revision)


def _parse_object(data: Any) -> dict[str, Any] | None:
    if not isinstance(data, dict | None):
        raise TypeError("not an object")
    return data
