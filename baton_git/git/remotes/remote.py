"""What a remote can do, and the three things that may become of a pushed ref."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from baton_git.core.names import Oid
from baton_git.git.remotes.quarantine import FetchLimits, Quarantine


class Push(NamedTuple):
    """Moves `ref` of the remote to the commit `new` (None: deletes it), if it still stands at `expected` (None: does
    not exist yet)."""

    ref: str
    new: Oid | None
    expected: Oid | None


class PushAccepted(NamedTuple):
    """The server said that the ref stands at the new commit."""


class PushOvertaken(NamedTuple):
    """The ref is not where it was expected, or somebody is moving it: fetch, merge, and push again."""

    why: str


class PushRefused(NamedTuple):
    """The server does not want it. `server_lines`: what its hooks printed, line by line."""

    why: str
    server_lines: tuple[str, ...]


PushOutcome = PushAccepted | PushOvertaken | PushRefused


class Remote(Protocol):
    """Another repository, reached over the network or by a path. `name` is fit for messages: no password in it."""

    @property
    def name(self) -> str: ...

    def fetch(
        self, wants: Mapping[str, str], *, seconds: float, limits: FetchLimits, everything: bool = False
    ) -> AbstractContextManager[Quarantine]:
        """Brings branches into a quarantine, which is gone at the end of the `with`. Nothing else here changes.

        Args:
            wants: by full name of a ref there, the private ref here that it goes with; both may have one `*`. Refs that
                do not exist there are left out.
            everything: whether also what is here already is fetched, because some of it may be damaged.

        Raises:
            Unreachable: no answer, a connection that broke off, or more than `seconds` passed.
            AccessDenied: it does not know us, there is no such repository, or we may not read it.
            Rejected: what came is over the limits.
            RemoteError: it said something else.
            StoreError: what came cannot be stored.
        """
        ...

    def tips(self, wants: Mapping[str, str], *, seconds: float) -> dict[str, Oid]:
        """Where the wanted refs stand there; those that do not exist are left out. Nothing is fetched.

        Raises:
            Unreachable, AccessDenied, RemoteError: as in `fetch`.
        """
        ...

    def push(self, moves: Sequence[Push], *, seconds: float) -> dict[str, PushOutcome]:
        """Asks for each ref to be moved, and gives the server's own word for each. They do not hang together.

        A compare-and-swap on the server. Whether `new` was built on `expected` is for the caller to know.

        Raises:
            Unreachable: as in `fetch`. Then nobody knows whether the refs moved; a fetch tells.
            AccessDenied: it does not know us, or we may not write there at all.
            RemoteError: it said something else, or nothing about a ref.
        """
        ...
