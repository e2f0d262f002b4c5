"""Helpers for the tests of remotes: a user's repository, commits on its memory branch, and a remote to push to."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from servers import Served

from baton_git.core.names import Oid
from baton_git.git.remotes import Push, PushOutcome, Remote, open_remote
from baton_git.git.store import ReflogEntry, Repository, Store
from baton_git.namespace.ingest.fetch import fetch_and_check

X = "refs/heads/baton/x"
Y = "refs/heads/baton/y"
INCOMING = "refs/baton-incoming/origin/x"
WHO = "Agent <agent@machine>"
SECONDS = 20.0


@dataclass(frozen=True)
class Place:
    """A local repository, and its server."""

    top: Path
    served: Served
    extra: Mapping[str, str]

    @property
    def repository(self) -> Repository:
        return Repository.open(self.top)

    @contextmanager
    def store(self) -> Iterator[Store]:
        with Store(self.repository) as opened:
            yield opened

    def commit(self, ref: str, content: str, *, parents: tuple[Oid, ...] | None = None) -> Oid:
        """Move `ref` to a new commit that adds a file with this name and content.

        The parents are `parents`, or the tip of `ref` by default.
        """
        with self.store() as store:
            tip = store.tip(ref)
            on = parents if parents is not None else (tip,) if tip else ()
            draft = store.draft()
            base = store.commit(on[0]).tree if on else None
            tree = draft.tree(base, {f"open_loops/{content}.toml": content.encode()})
            when = 1_700_000_000 + (store.commit(on[0]).time - 1_699_999_999 if on else 0)
            new = draft.commit(tree, on, author=WHO, time=when, timezone=0, message=content)
            assert store.publish(draft, ref, tip, new, ReflogEntry(WHO, when, 0, content))
        return new

    def environment(self) -> dict[str, str]:
        return {**os.environ, **self.served.environment, **self.extra}

    def remote(self, name: str | None = None, **options: object) -> Remote:
        """Return the server as a remote, by its URL or by another name."""
        return open_remote(self.repository, name or self.served.url, self.environment(), **options)  # type: ignore[arg-type]

    def push(self, ref: str, new: Oid, expected: Oid | None) -> PushOutcome:
        return self.remote().push([Push(ref, new, expected)], seconds=SECONDS)[ref]

    def fetch(self, there: str = X, here: str = INCOMING) -> Oid | None:
        return self.fetch_refs({there: here}).get(there)

    def fetch_refs(self, wants: Mapping[str, str], name: str | None = None, seconds: float = SECONDS) -> dict[str, Oid]:
        """Fetch refs from the server, and return their values."""
        with self.store() as store:
            return fetch_and_check(store, self.remote(name), wants, seconds=seconds).tips

    def tip(self, ref: str) -> Oid | None:
        with self.store() as store:
            return store.tip(ref)

    def tip_there(self, ref: str = X) -> str:
        """Return the value of a ref on the server; empty if it does not exist."""
        asked = ["git", "--git-dir", str(self.served.bare), "rev-parse", "-q", "--verify", ref]
        return subprocess.run(asked, capture_output=True, text=True).stdout.strip()


def refs_of(top: Path) -> str:
    done = subprocess.run(["git", "-C", str(top), "for-each-ref"], capture_output=True, text=True, check=True)
    return done.stdout
