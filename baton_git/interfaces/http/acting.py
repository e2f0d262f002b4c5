"""The context of a request: the namespace, the acting session and agent, and the revision it depends on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from starlette.requests import Request

from baton_git.core.errors import Stale
from baton_git.core.names import Oid
from baton_git.core.state import State
from baton_git.git.store import ObjectDraft
from baton_git.interfaces.http.responses import Outdated, is_named
from baton_git.interfaces.http.site import Site
from baton_git.namespace.branch import PATIENCE, Branch, Decider
from baton_git.namespace.provenance.ledger import RemoteSource
from baton_git.namespace.revision import Change, CommitStamp, ProposedState, Revision, WriteResult
from baton_git.namespace.workspace import Workspace


class Acting(NamedTuple):
    """The namespace, session, agent and If-Match of a request, from its headers and query."""

    namespace: str | None
    session: str | None
    agent: str | None
    if_match: str | None

    @classmethod
    def of(cls, request: Request) -> Acting:
        header = request.headers.get
        session, agent = _text(header("baton-session")), _text(header("baton-agent"))
        return cls(request.query_params.get("namespace"), session, agent, header("if-match"))

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
        self._check(tip)
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
        self._check(expected)
        moved = super().advance(draft, expected, new, stamp, by=by, source=source)
        self.condition.is_met = self.condition.is_met or moved
        return moved

    def _check(self, tip: Oid | None) -> None:
        if not self.condition.is_met:
            self.condition.check(self.revision_at(tip) if tip is not None else Revision(self.namespace, State()))


def _text(value: str | None) -> str | None:
    """Return a header decoded as UTF-8 if it is UTF-8, else unchanged; frameworks decode headers as Latin-1."""
    if value is None:
        return None
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


def describe_parameter(name: str, place: str, description: str, example: str = "") -> dict[str, Any]:
    """Return an optional text in the query or a header as a parameter of the OpenAPI document."""
    schema = {"type": "string", **({"examples": [example]} if example else {})}
    return {"name": name, "in": place, "required": False, "schema": schema, "description": description}


READER = (
    describe_parameter("namespace", "query", "The namespace. Default: the server's own.", "project:memory-hall"),
    describe_parameter("baton-session", "header", "The acting session, in UTF-8.", "2026-06-17-003"),
    describe_parameter("baton-agent", "header", "The acting agent.", "claude"),
)
"""The parameters that identify the sender of a request, and name its namespace."""
WRITER = (
    *READER,
    describe_parameter(
        "if-match",
        "header",
        'Refuse with 412 unless this is the ETag of the newest revision (`"none"`: the namespace must not exist).',
    ),
)
"""The same, and If-Match, which makes a change depend on the newest revision."""
