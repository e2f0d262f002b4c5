"""The short names of sessions. An agent CLI names its sessions by UUIDs; people see and type their first 8 characters.

A short name is longer if another session of the namespace begins with the same characters. That happens with UUIDs of
version 7, as Codex makes them: they begin with the time, and two that were made within 65 seconds share 8 characters.
Other names, which baton or a person chose, are never shortened.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import takewhile

from baton_git.core.errors import Ambiguous
from baton_git.core.kinds import KINDS
from baton_git.core.records.lineage import Session
from baton_git.core.state import State

UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b(?!\.\w)", re.IGNORECASE)
"""The pattern of a UUID that is not the beginning of the name of a file."""
_SHORT = re.compile(r"[0-9a-f]{8}(-[0-9a-f-]{0,26})?", re.IGNORECASE)
LENGTHS = (8, 13, 18, 23)
"""The lengths of short names: a UUID is cut at a hyphen."""


def is_short_name(text: str) -> bool:
    """Whether a text may be the short name of a session: the beginning of a UUID, of at least 8 characters, alone or
    after the name of an agent as in the ids of handoffs."""
    return _SHORT.fullmatch(text.rpartition("/")[2]) is not None


def is_named(id_: str | None, text: str) -> bool:
    """Whether `text` is the id of a session, or the beginning of its UUID."""
    if id_ is None or id_ == text:
        return id_ is not None
    name = text.rpartition("/")[2].lower()
    return is_short_name(name) and UUID.fullmatch(id_) is not None and id_.lower().startswith(name)


def list_session_ids(state: State) -> set[str]:
    """Return the ids of all sessions in a state: of their records, digests and turns, live and archived."""
    kinds = (Session.kind, *(kind for kind, info in KINDS.items() if info.parts == 2))  # named `<agent>/<session>`
    return {id_.rpartition("/")[2] for kind in kinds for closed in (False, True)
            for id_ in state.ids(kind, archived=closed)}  # fmt: skip


def complete_session(state: State, text: str) -> str:
    """Return the id of the session with this short name; any other text unchanged.

    Raises:
        Ambiguous: several sessions have UUIDs that begin with `text`.
    """
    return complete_name("session", lambda: list_session_ids(state), text)


def complete_name(kind: str, list_ids: Callable[[], set[str]], text: str) -> str:
    """Return the id with this short name among those that `list_ids` returns; any other text unchanged.

    Raises:
        Ambiguous: several ids are UUIDs that begin with `text`.
    """
    if not is_short_name(text):
        return text
    known = list_ids()
    near = sorted(id_ for id_ in known if is_named(id_, text))
    if text in known or not near:
        return text
    if len(near) > 1:
        raise Ambiguous(kind, text, near)
    return near[0]


class SessionNames:
    """The short names of the sessions that `list_ids` returns. It is called when the first UUID is shortened."""

    def __init__(self, list_ids: Callable[[], Iterable[str]] = tuple) -> None:
        self._list_ids = list_ids

    @cached_property
    def _known(self) -> list[str]:
        return sorted(id_.lower() for id_ in self._list_ids())

    def shorten(self, id_: str) -> str:
        """Return the short name of a session, or of a record named `<agent>/<session>`."""
        head, slash, name = id_.rpartition("/")
        if not UUID.fullmatch(name):
            return id_
        free = (length for length in LENGTHS if self._is_free(name.lower(), length))
        return head + slash + name[: next(free, len(name))]

    def _is_free(self, name: str, length: int) -> bool:
        """Return whether no other session begins with the first characters of a name."""
        beginning = name[:length]
        place = bisect_left(self._known, beginning)
        alike = takewhile(lambda other: other.startswith(beginning), self._known[place : place + 2])
        return all(other == name for other in alike)

    def shorten_in(self, text: str, ids: Iterable[str] = ()) -> str:
        """Return a text in which the sessions of the namespace, and those with these ids, have their short names."""
        named = {id_.rpartition("/")[2].lower() for id_ in ids}

        def replace(match: re.Match[str]) -> str:
            name = match[0].lower()
            return self.shorten(match[0]) if name in named or self._is_known(name) else match[0]

        return UUID.sub(replace, text)

    def _is_known(self, name: str) -> bool:
        return self._known[bisect_left(self._known, name) :][:1] == [name]
