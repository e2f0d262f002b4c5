"""Sessions: who worked when, and what is left of them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field
from starlette.responses import Response

from baton_git.interfaces.http.api.acting import After, At, Limit, Named
from baton_git.interfaces.http.api.answering import answer, page, where
from baton_git.interfaces.http.api.refusals import refusals
from baton_git.interfaces.http.api.shapes import TIME, Page, Place
from baton_git.interfaces.http.body import Routes
from baton_git.interfaces.http.site import Site
from baton_git.systems.gobby.previous_sessions import extraction_time, resolve_handoff
from baton_git.systems.gobby.record import Handoff
from baton_git.verbs.history import lineage


class Lineage(Page, Place):
    sessions: list[dict[str, Any]] = Field(
        description="The newest first; the fields are those of `/v1/schema/session`.",
        examples=[[{"id": "2026-06-17-003", "started": TIME, "status": "active", "agent": "claude"}]],
    )


class HandoffInShort(BaseModel):
    """The facts of a session, in short."""

    id: str = Field(examples=["claude/1f0c"])
    extracted_at: str = Field(examples=[TIME])
    trigger: str = Field(examples=["session_end"])
    machine: str | None = None
    worktree: str | None = None
    branch: str | None = None
    goal: str = Field(description="What the session was about.")


class Handoffs(Page, Place):
    handoffs: list[HandoffInShort]


class OneHandoff(Place):
    handoff: dict[str, Any] = Field(description="All of its facts; the fields are those of `/v1/schema/handoff`.")


def router(site: Site) -> APIRouter:
    """The lineage of sessions, and their handoffs."""
    routes = Routes(tags=["sessions"], responses=refusals())

    @routes.get("/v1/sessions", response_model=Lineage)
    def sessions(namespace: Named = None, limit: Limit = 50, after: After = None) -> Response:
        """Who worked when, and after whom; the newest first."""
        with site.work(namespace) as ws:
            version = ws.branch.read()
            shown, more = page(lineage(ws)[::-1], limit, after, lambda one: one.id)
        data = {"sessions": [one.as_data() for one in shown], "next": more}
        return answer({**where(version), **data}, commit=version.commit)

    @routes.get("/v1/handoffs", response_model=Handoffs)
    def handoffs(namespace: Named = None, limit: Limit = 50, after: After = None) -> Response:
        """The facts of sessions that are kept, in short; the newest first."""
        with site.work(namespace) as ws:
            version = ws.branch.read()
            found = sorted(version.state.records(Handoff), key=extraction_time, reverse=True)
        shown, more = page(found, limit, after, lambda one: one.id)
        data = {"handoffs": [_in_short(one) for one in shown], "next": more}
        return answer({**where(version), **data}, commit=version.commit)

    @routes.get("/v1/handoffs/{handoff_id:path}", response_model=OneHandoff)
    def handoff(
        handoff_id: Annotated[str, Path(description="AGENT/SESSION, the session alone, or a unique beginning.",
                                        examples=["claude/1f0c"])],
        namespace: Named = None,
        at: At = None,
    ) -> Response:  # fmt: skip
        """The facts that are kept of a session."""
        with site.work(namespace) as ws:
            version = ws.branch.read(at)
            found = resolve_handoff(version.state, handoff_id)
        return answer({**where(version), "handoff": found.as_data()}, commit=version.commit)

    return routes


def _in_short(one: Handoff) -> dict[str, Any]:
    names = ("id", "extracted_at", "trigger", "machine", "worktree", "branch")
    return {**{name: getattr(one, name) for name in names}, "goal": one.facts.initial_goal or ""}
