"""The context of a request: the namespace, the acting session and agent, and the revision it depends on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, NamedTuple

from fastapi import Depends, Header, Query

from baton_git.core.errors import Stale
from baton_git.core.names import Oid
from baton_git.core.state import State
from baton_git.git.store import ObjectDraft
from baton_git.interfaces.http.problems import Outdated
from baton_git.interfaces.http.reading import is_named
from baton_git.interfaces.http.site import Site
from baton_git.namespace.branch import PATIENCE, Branch, Decider
from baton_git.namespace.provenance.ledger import RemoteSource
from baton_git.namespace.revision import Change, CommitStamp, ProposedState, Revision, WriteResult
from baton_git.namespace.workspace import Workspace

Named = Annotated[
    str | None,
    Query(description="The namespace. Default: the server's own.", examples=["project:memory-hall"]),
]
IfNoneMatch = Annotated[
    str | None, Header(description="ETags that the client has; the answer is 304 if one of them is still current.")
]


class Acting(NamedTuple):
    """The namespace, session, agent and If-Match of a request, from its headers and query."""

    namespace: str | None
    session: str | None
    agent: str | None
    if_match: str | None

    @contextmanager
    def on(self, site: Site, *, may_begin: bool = False) -> Iterator[Workspace]:
        """Yield the workspace of the request. With If-Match, its branch rejects a write if somebody else has written
        since.

        Args:
            may_begin: whether the first write creates the namespace.

        Raises:
            InvalidName: a name is not valid.
            Outdated: If-Match names a revision that is not the newest.
        """
        with site.work(self.namespace, session=self.session, agent=self.agent, may_begin=may_begin) as ws:
            if self.if_match is None:
                yield ws
                return
            tip = ws.branch.read()
            if not is_named(self.if_match, tip.commit):
                raise Outdated(str(tip.namespace), tip.number, tip.commit)
            if "*" in (tag.strip() for tag in self.if_match.split(",")):  # `*` matches any revision
                yield ws
                return
            branch = ws.branch
            conditional = _ConditionalBranch(
                **{field.name: getattr(branch, field.name) for field in fields(branch)}, condition=_Condition(tip)
            )
            try:
                yield replace(ws, branch=conditional)
            except Stale as error:
                raise Outdated(error.namespace, error.actual, branch.read().commit) from error


class _Condition:
    """The condition that a branch is at a known revision when a request first writes. Later writes of the same request
    compare with their own predecessor."""

    def __init__(self, seen: Revision) -> None:
        self._seen = seen
        self.is_met = False

    def check(self, tip: Revision) -> None:
        """Raise Stale if another commit is the newest. Commits are compared, because two may have the same revision
        number."""
        if not self.is_met and tip.commit != self._seen.commit:
            raise Stale(str(tip.namespace), self._seen.number, tip.number)


@dataclass(frozen=True)
class _ConditionalBranch(Branch):
    """A branch that can be written to only while a condition holds."""

    condition: _Condition = field(kw_only=True)

    def update(
        self, change: Change, stamp: CommitStamp, *, expected_revision: int | None = None, patience: float = PATIENCE
    ) -> WriteResult:
        def change_if_met(tip: Revision) -> State | ProposedState:
            self.condition.check(tip)
            return change(tip)

        result = super().update(change_if_met, stamp, expected_revision=expected_revision, patience=patience)
        self.condition.is_met = True
        return result

    def claim(self, tip: Oid | None) -> None:
        if not self.condition.is_met:
            self.condition.check(self.revision_at(tip) if tip is not None else Revision(self.namespace, State()))
        self.condition.is_met = True

    def advance(
        self,
        draft: ObjectDraft,
        expected: Oid | None,
        new: Oid,
        stamp: CommitStamp,
        *,
        by: Decider,
        source: RemoteSource | None = None,
    ) -> bool:
        if not self.condition.is_met:
            self.condition.check(
                self.revision_at(expected) if expected is not None else Revision(self.namespace, State())
            )
        moved = super().advance(draft, expected, new, stamp, by=by, source=source)
        self.condition.is_met = self.condition.is_met or moved
        return moved


SessionHeader = Annotated[str | None, Header(description="The acting session, in UTF-8.", examples=["2026-06-17-003"])]
AgentHeader = Annotated[str | None, Header(description="The acting agent.", examples=["claude"])]
IfMatch = Annotated[
    str | None,
    Header(
        description="Refuse with 412 unless this is the ETag of the newest revision "
        '(`"none"`: the namespace must not exist).'
    ),
]


def _parse_write_headers(
    namespace: Named = None,
    baton_session: SessionHeader = None,
    baton_agent: AgentHeader = None,
    if_match: IfMatch = None,
) -> Acting:
    return Acting(namespace, _text(baton_session), _text(baton_agent), if_match)


def _parse_read_headers(
    namespace: Named = None, baton_session: SessionHeader = None, baton_agent: AgentHeader = None
) -> Acting:
    return Acting(namespace, _text(baton_session), _text(baton_agent), None)


def _text(value: str | None) -> str | None:
    """Return a header decoded as UTF-8 if it is UTF-8, else unchanged; frameworks decode headers as Latin-1."""
    if value is None:
        return None
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


Who = Annotated[Acting, Depends(_parse_write_headers)]
"""The headers that identify the sender of a change, and If-Match, which makes it depend on the newest revision."""
Reader = Annotated[Acting, Depends(_parse_read_headers)]
"""The same headers without If-Match, for requests that only read."""
