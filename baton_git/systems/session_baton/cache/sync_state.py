"""The sidecar of one namespace: what its cache file cannot say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from baton_git.core.codecs import json
from baton_git.core.errors import Corrupt, InvalidDocument, LimitExceeded
from baton_git.systems.session_baton.client import Answer


@dataclass(frozen=True)
class Note:
    """What is known of a namespace.

    Attributes:
        url: the server that the rest is about; empty where none was reached or asked yet.
        seen: what that server had when it was seen last: the base of a merge, and what a write is made against.
        local: the document that waits to be sent; None when nothing waits.
        theirs: what the server had when `local` was turned away; None where there is no conflict.
        owns: whether the cache file is this namespace's, since several may want one name.
        digests: SHA-256 of the cache file as we wrote it, and as it was before, should we have been killed between.
    """

    namespace: str
    url: str = ""
    seen: Answer | None = None
    local: dict[str, Any] | None = None
    theirs: Answer | None = None
    owns: bool = True
    digests: tuple[str, ...] = ()

    def text(self) -> bytes:
        data = {
            "namespace": self.namespace, "url": self.url, "seen": _plain(self.seen), "local": self.local,
            "theirs": _plain(self.theirs), "owns": self.owns, "digests": list(self.digests),
        }  # fmt: skip
        return f"{json.dumps(data)}\n".encode()


def _plain(answer: Answer | None) -> dict[str, Any] | None:
    return answer._asdict() if answer is not None else None


def parse_note(text: bytes, namespace: str, where: str) -> Note:
    """The sidecar of `namespace`.

    Raises:
        Corrupt: it is none, or of another namespace.
    """
    try:
        data = json.loads(text, where=where)
        note = Note(
            data["namespace"], data["url"], _answer(data["seen"]), _object(data["local"]), _answer(data["theirs"]),
            data["owns"] is True, tuple(str(one) for one in data["digests"]),
        )  # fmt: skip
    except (InvalidDocument, LimitExceeded, KeyError, TypeError) as error:
        raise Corrupt(where, "is damaged: this is no note of baton's cache") from error
    if note.namespace != namespace or not isinstance(note.url, str):
        raise Corrupt(where, "is the note of another namespace")
    return note


def _answer(data: Any) -> Answer | None:
    if data is None:
        return None
    updated_at, revision = data["updated_at"], data["revision"]
    if not isinstance(updated_at, str | None) or not isinstance(revision, int | None):
        raise TypeError("not an answer")
    return Answer(_object(data["baton"]), updated_at, revision)


def _object(data: Any) -> dict[str, Any] | None:
    if not isinstance(data, dict | None):
        raise TypeError("not an object")
    return data
