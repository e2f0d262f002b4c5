"""Decisions: add, monitor, supersede."""

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
from baton_git.verbs.decisions import add_decision, monitor_decision, supersede_decision

DecisionId = Annotated[str, Path(description="Its id, or a unique beginning of it.", examples=["DEC-042"])]


class NewDecision(Asked):
    """A choice and its reasons."""

    what: str = Field(description="What was decided.", examples=["Always use --update-env-vars"])
    why: str = Field(description="The reason.", examples=["--set-env-vars clears the others"])
    evidence: list[str] = Field([], description="What speaks for it.", examples=[["incident of 2026-06-12"]])
    rejected: list[str] = Field([], description="What was turned down.", examples=[["a wrapper script"]])
    tier: Literal["raw_source", "llm_derived", "human_confirmed"] | None = Field(
        None, description="Who vouches for it; `human_confirmed` takes a person, and is refused here."
    )
    id: str | None = Field(None, min_length=1, description="An id of your own, to go on with your numbering.")


class Successor(Asked):
    """Which decision takes its place."""

    by: str = Field(description="Its id.", examples=["DEC-051"])


def router(site: Site) -> APIRouter:
    """The verbs of decisions."""
    routes = Routes(tags=["records"], responses=refusals(*WRITES))

    @routes.post("/v1/decisions", response_model=Made, status_code=201)
    def add(asked: NewDecision, who: Who) -> Response:
        """Note a decision and its reasons."""
        with who.on(site) as ws:
            done = add_decision(
                ws, site.now(), what=asked.what, why=asked.why, evidence=asked.evidence, rejected=asked.rejected,
                tier=asked.tier, id_=asked.id,
            )  # fmt: skip
        return made(done, 201)

    @routes.post("/v1/decisions/{decision_id:path}/monitor", response_model=Made)
    def monitor(decision_id: DecisionId, who: Who) -> Response:
        """It holds, but is being watched."""
        with who.on(site) as ws:
            return made(monitor_decision(ws, site.now(), decision_id))

    @routes.post("/v1/decisions/{decision_id:path}/supersede", response_model=Made)
    def supersede(decision_id: DecisionId, asked: Successor, who: Who) -> Response:
        """Another decision takes its place. One that a model derived cannot supersede another of that kind."""
        with who.on(site) as ws:
            return made(supersede_decision(ws, site.now(), decision_id, asked.by))

    return routes
