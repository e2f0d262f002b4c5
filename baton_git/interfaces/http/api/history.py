"""What changed, and going back: always by a new commit."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.responses import Response

from baton_git.core.errors import InvalidArgument
from baton_git.interfaces.http.api.acting import After, Limit, Named, Who
from baton_git.interfaces.http.api.answering import answer, page, written
from baton_git.interfaces.http.api.refusals import WRITES, refusals
from baton_git.interfaces.http.api.shapes import Asked, At, Commit, Page, Written
from baton_git.interfaces.http.body import Routes
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.results.history import compared, shown
from baton_git.namespace.results import ChangedRecord
from baton_git.namespace.revision import WriteResult as Moved
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.history import Filter, compare, full_id, moment, read_commit, read_log
from baton_git.verbs.rollback import rollback_record, rollback_session, rollback_to, undo_revision

REVISION = "A number, `~N` back from the newest, a commit id, or an ISO date or time."


class Log(Page):
    commits: list[Commit] = Field(description="The newest first.")


class Compared(Page):
    """What leads from one version to another."""

    before: At
    after: At
    changes: list[ChangedRecord] = Field(description="By kind and id.")


class GoingBack(Asked):
    """Where to: a revision, of everything or of one record; or without what one session did."""

    revision: str | None = Field(None, description=REVISION, examples=["12"])
    record: str | None = Field(None, description="Only this record, as at the revision, or before its last change.",
                               examples=["OL-7k3f9q"])  # fmt: skip
    of_session: str | None = Field(None, description="Instead: take back what this session did.",
                                   examples=["2026-06-17-003"])  # fmt: skip


class TakingBack(Asked):
    """Which revision is taken back."""

    revision: str | None = Field(None, description=f"{REVISION} The newest if it is left out.", examples=["12"])


class TakenBack(Written):
    taken_back: str = Field(description="What that revision had done, in words.", examples=["OL-7k3f9q verified"])


def router(site: Site) -> APIRouter:
    """The log, what differs, and going back."""
    routes = Routes(tags=["history"], responses=refusals())

    @routes.get("/v1/log", response_model=Log)
    def commits(
        namespace: Named = None,
        record: Annotated[str | None, Query(description="Only what changed it.", examples=["OL-7k3f9q"])] = None,
        by_session: Annotated[str | None, Query(description="Only what this session did.")] = None,
        by_agent: Annotated[str | None, Query(description="Only what this agent did.")] = None,
        since: Annotated[str | None, Query(description="Not older than this ISO date or time.")] = None,
        until: Annotated[str | None, Query(description="Not newer.")] = None,
        limit: Limit = 50,
        after: After = None,
    ) -> Response:
        """What was changed, by whom, newest first, record by record."""
        with site.work(namespace) as ws:
            version = ws.branch.read()
            wanted = Filter(
                full_id(ws, record) if record is not None else None, by_session, by_agent,
                moment(since), moment(until, end=True), after,
            )  # fmt: skip
            found = [shown(one) for one in read_log(ws, wanted, limit + 1, at=version)]
        more = found[limit - 1]["commit"] if len(found) > limit else None
        return answer({"commits": found[:limit], "next": more}, commit=version.commit)

    @routes.get("/v1/log/{revision}", response_model=Commit)
    def one_commit(
        revision: Annotated[str, Path(description=REVISION, examples=["12", "~1"])], namespace: Named = None
    ) -> Response:
        """One revision, and what it changed."""
        with site.work(namespace) as ws:
            found = read_commit(ws, revision)
        return answer(shown(found), commit=found.entry.commit)

    @routes.get("/v1/diff", response_model=Compared)
    def diff(
        a: Annotated[str, Query(description=REVISION, examples=["12"])],
        b: Annotated[str | None, Query(description="The newest if it is left out.", examples=["15"])] = None,
        namespace: Named = None,
        limit: Limit = 1000,
        after: After = None,
    ) -> Response:
        """What changed from revision a to revision b."""
        with site.work(namespace) as ws:
            data = compared(compare(ws, a, b))
        numbered, more = page(list(enumerate(data["changes"], 1)), limit, after, lambda one: str(one[0]))
        changes = [change for _, change in numbered]
        return answer({**data, "changes": changes, "next": more}, commit=data["after"]["commit"])

    @routes.post("/v1/rollback", response_model=Written, responses=refusals(*WRITES))
    def go_back(asked: GoingBack, who: Who) -> Response:
        """Go back: to a revision or time, for one record, or without what one session did. What only a person may do
        is refused."""
        with who.on(site) as ws:
            return written({}, _back(site, ws, asked))

    @routes.post("/v1/undo", response_model=TakenBack, responses=refusals(*WRITES))
    def take_back(who: Who, asked: TakingBack | None = None) -> Response:
        """Take one revision back, and keep what came after it."""
        with who.on(site) as ws:
            done, entry = undo_revision(ws, site.now(), (asked or TakingBack()).revision)
        return written({"taken_back": entry.subject}, done)

    return routes


def _back(site: Site, ws: Workspace, asked: GoingBack) -> Moved:
    now = site.now()
    if asked.of_session is not None and (asked.revision is not None or asked.record is not None):
        raise InvalidArgument("of_session goes alone", hint="leave revision and record out")
    if asked.of_session is not None:
        return rollback_session(ws, now, asked.of_session)
    if asked.record is not None:
        return rollback_record(ws, now, asked.record, asked.revision)
    if asked.revision is None:
        raise InvalidArgument("nothing says where to", hint="give a revision, a record, or of_session")
    return rollback_to(ws, now, asked.revision)
