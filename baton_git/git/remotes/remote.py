"""The interface of a remote, and the outcomes of a push."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

from baton_git.core.names import Oid
from baton_git.git.remotes.quarantine import FetchLimits, Quarantine
from baton_git.git.store import ObjectDraft


class Depth(NamedTuple):
    """A number of generations of commits: from the tip, or (`is_relative`) beyond the present boundary."""

    generations: int
    is_relative: bool = False

    @property
    def option(self) -> str:
        return f"--{'deepen' if self.is_relative else 'depth'}={self.generations}"


class Push(NamedTuple):
    """A request to move `ref` of the remote from `expected` (None: it must not exist) to `new` (None: delete it).

    Attributes:
        draft: the objects of `new` that are not stored in the repository.
    """

    ref: str
    new: Oid | None
    expected: Oid | None
    draft: ObjectDraft | None = None


class PushAccepted(NamedTuple):
    """The server moved the ref to the new commit, or deleted it as requested."""


class PushOvertaken(NamedTuple):
    """The ref has an unexpected value or is being moved by another client: fetch, merge, and push again."""

    why: str


class PushRefused(NamedTuple):
    """The server refused the push. `server_lines`: the output of its hooks, line by line."""

    why: str
    server_lines: tuple[str, ...]

    def may_be_rule_for_branches(self, ref: str) -> bool:
        """Whether a rule of the server for branches may be the reason, so that a ref that is no branch may be accepted.

        Baton's own hook on a server checks the content, which another ref does not change.
        """
        return ref.startswith("refs/heads/") and not any(line.startswith("baton: ") for line in self.server_lines)


PushOutcome = PushAccepted | PushOvertaken | PushRefused


class Remote(Protocol):
    """Another repository, accessed over the network or by a path. `name` is for messages and has no password."""

    @property
    def name(self) -> str: ...

    def fetch(
        self,
        wants: Mapping[str, str],
        *,
        seconds: float,
        limits: FetchLimits,
        everything: bool = False,
        depth: Depth | None = None,
    ) -> AbstractContextManager[Quarantine]:
        """Fetch branches into a quarantine, which is deleted at the end of the `with` block. No local ref changes.

        Args:
            wants: private local ref by full name of the remote ref; both may have one `*`. Refs that do not exist on
                the remote are ignored.
            everything: also fetch objects that exist locally, because they may be damaged.
            depth: how much of the history to fetch; None for all of it. A server that cannot limit it sends all.

        Raises:
            Unreachable: the remote did not respond, the connection broke, or more than `seconds` passed.
            AccessDenied: authentication failed, or the repository does not exist or must not be read.
            Rejected: the fetched objects exceed the limits.
            RemoteError: the remote reported another error.
            StoreError: the fetched objects cannot be stored.
        """
        ...

    def fetch_objects(
        self, oids: Sequence[Oid], *, seconds: float, limits: FetchLimits
    ) -> AbstractContextManager[Path]:
        """Fetch single objects, with all that trees and commits among them refer to.

        Returns:
            The object directory with them, which is deleted at the end of the `with` block.

        Raises:
            Unreachable, AccessDenied, Rejected, RemoteError: like `fetch`; also if the remote lacks one of them.
        """
        ...

    def tips(self, wants: Mapping[str, str], *, seconds: float) -> dict[str, Oid]:
        """Return the values of the wanted refs that exist on the remote, without fetching them.

        Raises:
            Unreachable, AccessDenied, RemoteError: like `fetch`.
        """
        ...

    def push(self, moves: Sequence[Push], *, seconds: float) -> dict[str, PushOutcome]:
        """Move refs with compare-and-swap on the server, independently of each other; return the outcome for each.

        The caller must make sure that `new` is a descendant of `expected`.

        Raises:
            Unreachable: like `fetch`. The refs may have moved or not; fetch to find out.
            AccessDenied: authentication failed, or the repository must not be written.
            RemoteError: the remote reported another error, or no outcome for a ref.
        """
        ...
