"""Fetch the objects that a partial clone left out, when a command needs one of them.

git fetches such objects one by one, and would prompt. Here one request brings all objects that the newest revision
lacks, and a second one those that its history lacks: within limits, without prompts, and as a pack of baton, which
git's repack does not drop (see `git.store.housekeeping`). An object is verified against its id, which is known here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from baton_git.core.errors import AccessDenied, BatonError, Rejected, RemoteError, StoreError, Unreachable
from baton_git.core.names import Oid
from baton_git.git.remotes import FetchLimits, open_remote
from baton_git.git.remotes.opening import find_git
from baton_git.git.store import Store
from baton_git.namespace.ingest.budget import ON_DEMAND, Budget

MAX_REQUESTS = 50
"""Maximum number of requests of one command."""
NEWEST, HISTORY = ("--no-walk",), ()
"""Options of `git rev-list`: the objects of the newest revision, and those of all revisions."""


class PromisedObjects:
    """Fetches missing objects from the promisor remotes of a repository; one object for one command.

    `tip` returns the commit whose objects are fetched together, or None; `budget` limits the bytes of one request, and
    the seconds of all requests together. If the remote cannot be reached, nothing more is tried.
    """

    def __init__(
        self, store: Store, environment: Mapping[str, str], tip: Callable[[], Oid | None], budget: Budget = ON_DEMAND
    ) -> None:
        self._store, self._environment, self._tip = store, environment, tip
        self._budget = budget
        self._scopes: list[tuple[str, ...]] = [NEWEST, HISTORY]
        self._requests = 0
        self._failure = ""

    def limit(self, seconds: float) -> None:
        """Reduce the time that is left for all further requests."""
        self._budget = replace(self._budget, seconds=min(self._budget.seconds, seconds))

    def supply(self, oid: Oid) -> str:
        """Fetch a missing object together with others; return why this failed, or an empty text.

        The text is empty, too, if this is not a partial clone, so that there is nobody to ask.
        """
        if self._failure or not self._store.repository.promisors:
            return self._failure
        try:
            self._fetch_with_others(oid)
        except (Unreachable, AccessDenied, StoreError) as error:
            self._failure = str(error)
            return self._failure
        except BatonError as error:  # about this object only: it is too large, or the remote lacks it
            return str(error)
        return "" if self._store.is_stored(oid) else "the remote does not have it"

    def complete(self) -> int:
        """Fetch all missing objects of all revisions; return how many were missing, as far as was known here.

        Raises:
            BatonError: they could not be fetched.
        """
        count = 0
        while missing := self._find_missing(HISTORY):
            self._fetch(missing)
            count += len(missing)
        return count

    def _fetch_with_others(self, oid: Oid) -> None:
        """Fetch an object with the others that are missing; alone, if they are too large or the remote lacks one."""
        wanted = self._choose_objects(oid)
        try:
            self._fetch(wanted)
        except (Rejected, RemoteError) as error:
            if len(wanted) == 1 or isinstance(error, Unreachable):
                raise
            self._scopes.clear()
            self._fetch({oid})

    def _choose_objects(self, oid: Oid) -> set[Oid]:
        """Return the objects to fetch: all that are missing in the smallest scope that lacks `oid`."""
        while self._scopes:
            missing = self._find_missing(self._scopes[0])
            if oid in missing:
                return missing
            self._scopes.pop(0)
        return {oid}

    def _find_missing(self, scope: tuple[str, ...]) -> set[Oid]:
        """Return the missing objects of the tip; an object below a missing tree or commit is unknown here."""
        tip = self._tip()
        if tip is None:
            return set()
        git = find_git(self._store.repository, self._environment)
        options = ("--objects", "--quiet", "--missing=print", *scope)
        printed = git.ask("--no-replace-objects", "rev-list", *options, tip)
        return {Oid(line[1:]) for line in (printed or "").splitlines() if line.startswith("?")}

    def _fetch(self, oids: set[Oid]) -> None:
        """Fetch objects from the first remote that gives them.

        Raises:
            RemoteError, Rejected: no remote gives them within the limits; the error of the last remote.
            WriteFailed: writing to disk failed.
        """
        self._requests += 1
        if self._budget.seconds <= 0 or self._requests > MAX_REQUESTS:
            raise Unreachable("no time is left to fetch it")
        last: BatonError = RemoteError("no promisor remote is configured")
        for name in self._store.repository.promisors:
            started = time.monotonic()
            try:
                self._fetch_from(name, oids, self._budget.seconds)
            except (RemoteError, Rejected, StoreError) as error:
                last = error
            else:
                return
            finally:
                self.limit(max(0.0, self._budget.seconds - (time.monotonic() - started)))
        raise last

    def _fetch_from(self, name: str, oids: set[Oid], seconds: float) -> None:
        remote = open_remote(self._store.repository, name, self._environment)
        limits = FetchLimits(self._budget.total_bytes, self._budget.object_bytes)
        with remote.fetch_objects(sorted(oids), seconds=seconds, limits=limits) as folder:
            headers = self._store.headers(folder, seconds)
            large = next((head for head in headers if head.size > limits.object_bytes), None)
            if large is not None:
                raise Rejected(f"{name}: object {large.oid} has {large.size:,} bytes, more than the limit")
            with self._store.adopt_packs(sorted((folder / "pack").glob("pack-*.pack"))):
                pass
