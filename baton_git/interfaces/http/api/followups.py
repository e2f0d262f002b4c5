"""Follow-ups: add, put off, done."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import Field
from starlette.responses import Response

from baton_git.interfaces.http.api.acting import Who
from baton_git.interfaces.http.api.answering import made
from baton_git.interfaces.http.api.refusals import WRITES, refusals
from baton_git.interfaces.http.api.shapes import Asked, Made
from baton_git.interfaces.http.body import Routes
from baton_git.interfaces.http.site import Site
from baton_git.verbs.followups import add_follow_up, defer_follow_up, finish_follow_up

FollowUpId = Annotated[str, Path(description="Its id, or a unique beginning of it.", examples=["FU-2x8m4c"])]


class NewFollowUp(Asked):
    """Something to do later."""

    item: str = Field(description="What is to be done.", examples=["Refactor the scoring formula"])
    reason: str | None = Field(None, description="Why it is put off.", examples=["release first"])
    pattern: str | None = Field(None, description="The pattern it belongs to.", examples=["PAT-9d2k1m"])
    priority: Literal["normal", "elevated", "escalated"] | None = Field(None, description="How pressing it is.")
    id: str | None = Field(None, min_length=1, description="An id of your own instead of a fresh one.")


class Deferral(Asked):
    """Why it is put off once more."""

    reason: str | None = Field(None, description="In place of the reason before.", examples=["waiting for review"])


class Finish(Asked):
    """What was done."""

    note: str | None = Field(None, description="Kept with it.", examples=["in commit 4f2a91c"])


def router(site: Site) -> APIRouter:
    """The verbs of follow-ups."""
    routes = Routes(tags=["records"], responses=refusals(*WRITES))

    @routes.post("/v1/follow-ups", response_model=Made, status_code=201)
    def add(asked: NewFollowUp, who: Who) -> Response:
        """Note something to do later."""
        with who.on(site) as ws:
            done = add_follow_up(
                ws, site.now(), item=asked.item, reason=asked.reason, pattern=asked.pattern,
                priority=asked.priority, id_=asked.id,
            )  # fmt: skip
        return made(done, 201)

    @routes.post("/v1/follow-ups/{follow_up_id:path}/defer", response_model=Made)
    def defer(follow_up_id: FollowUpId, who: Who, asked: Deferral | None = None) -> Response:
        """Put it off once more: elevated at the third time, escalated at the fifth."""
        with who.on(site) as ws:
            return made(defer_follow_up(ws, site.now(), follow_up_id, reason=(asked or Deferral()).reason))

    @routes.post("/v1/follow-ups/{follow_up_id:path}/done", response_model=Made)
    def finish(follow_up_id: FollowUpId, who: Who, asked: Finish | None = None) -> Response:
        """It is done: put it into the archive."""
        with who.on(site) as ws:
            return made(finish_follow_up(ws, site.now(), follow_up_id, note=(asked or Finish()).note))

    return routes
