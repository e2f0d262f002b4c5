"""Who asks for what: the namespace, who acts, and on which version the request stands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

from fastapi import Depends, Header, Query

from baton_git.branch import PATIENCE, Branch, Change, Stamp, Written
from baton_git.errors import Stale
from baton_git.faces.http.problems import Outdated
from baton_git.faces.http.reading import is_named
from baton_git.faces.http.site import Site
from baton_git.operations.workspace import Workspace

Named = Annotated[
    str | None,
    Query(description="The namespace; the server's own if it is left out.", examples=["project:memory-hall"]),
]
At = Annotated[
    str | None,
    Query(
        description="As it was: a revision, `~N`, a commit id, or an ISO date or time.", examples=["~1", "2026-06-17"]
    ),
]
Limit = Annotated[int, Query(ge=1, le=1000, description="At most so many.")]
After = Annotated[str | None, Query(description="What an answer before this one gave as `next`.")]
IfNoneMatch = Annotated[str | None, Header(description="ETags that are known: 304 while one of them holds.")]


class Acting(NamedTuple):
    """Who acts, and where; what its headers and its query say."""

    namespace: str | None
    session: str | None
    agent: str | None
    if_match: str | None

    @contextmanager
    def on(self, site: Site) -> Iterator[Workspace]:
        """The workspace of the one who acts; with If-Match, one whose branch refuses once somebody else has written.

        Raises:
            InvalidName: a name cannot be one.
            Outdated: it is at another version by now.
        """
        with site.work(self.namespace, session=self.session, agent=self.agent) as ws:
            if self.if_match is None:
                yield ws
                return
            tip = ws.branch.read()
            if not is_named(self.if_match, tip.commit):
                raise Outdated(str(tip.namespace), tip.revision, tip.commit)
            branch = ws.branch
            held = _Held(branch.store, branch.namespace, branch.prefix, branch.sign, tip.revision)
            try:
                yield replace(ws, branch=held)
            except Stale as error:
                raise Outdated(error.namespace, error.actual, branch.read().commit) from error


@dataclass(frozen=True)
class _Held(Branch):
    """A branch that is written to only while it stands at a revision."""

    expected: int = 0

    def update(
        self, change: Change, stamp: Stamp, *, expected_revision: int | None = None, patience: float = PATIENCE
    ) -> Written:
        expected = self.expected if expected_revision is None else expected_revision
        return super().update(change, stamp, expected_revision=expected, patience=patience)


def _acting(
    namespace: Named = None,
    baton_session: Annotated[
        str | None, Header(description="The session that acts; UTF-8.", examples=["2026-06-17-003"])
    ] = None,
    baton_agent: Annotated[str | None, Header(description="The agent that acts.", examples=["claude"])] = None,
    if_match: Annotated[
        str | None,
        Header(
            description='Refuse with 412 unless this is the ETag of the newest version (`"none"`: it must not exist).'
        ),
    ] = None,
) -> Acting:
    return Acting(namespace, _text(baton_session), _text(baton_agent), if_match)


def _text(value: str | None) -> str | None:
    """A header as UTF-8, which frameworks give as Latin-1."""
    if value is None:
        return None
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


Who = Annotated[Acting, Depends(_acting)]
