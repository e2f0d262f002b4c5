"""Sessions: who worked when, and what is left of them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from baton_git.interfaces.http.api.acting import After, Limit, Named
from baton_git.interfaces.http.api.answering import answer
from baton_git.interfaces.http.api.refusals import refusals
from baton_git.interfaces.http.api.shapes import TIME, Page, Place
from baton_git.interfaces.http.body import Routes
from baton_git.interfaces.http.site import Site
from baton_git.namespace.results import PageInput, full_position, take_page
from baton_git.verbs.history import lineage


class Lineage(Page, Place):
    sessions: list[dict[str, Any]] = Field(
        description="The newest first; the fields are those of `/v1/schema/session`.",
        examples=[[{"id": "2026-06-17-003", "started": TIME, "status": "active", "agent": "claude"}]],
    )


def router(site: Site) -> APIRouter:
    """The lineage of sessions."""
    routes = Routes(tags=["sessions"], responses=refusals())

    @routes.get("/v1/sessions", response_model=Lineage)
    def sessions(namespace: Named = None, limit: Limit = 50, after: After = None) -> Response:
        """Who worked when, and after whom; the newest first."""
        with site.work(namespace) as ws:
            version = ws.branch.read()
            shown, more = take_page(lineage(ws)[::-1], PageInput(limit=limit, after=after), lambda one: one.id)
        data = {"sessions": [one.as_data() for one in shown], "next": more}
        return answer({**full_position(version), **data}, commit=version.commit)

    return routes
