"""Patterns: record, propose a rule, dismiss. To make a rule of one takes a person, and a request is none."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import Field
from starlette.responses import Response

from baton_git.core.errors import NeedsHuman
from baton_git.core.records.work_items import Pattern
from baton_git.interfaces.http.api.acting import Who
from baton_git.interfaces.http.api.answering import made
from baton_git.interfaces.http.api.refusals import WRITES, refusals
from baton_git.interfaces.http.api.shapes import Asked, Made
from baton_git.interfaces.http.body import Routes
from baton_git.interfaces.http.site import Site
from baton_git.verbs.patterns import dismiss_pattern, propose_rule, record_pattern

PatternId = Annotated[str, Path(description="Its id, or a unique beginning of it.", examples=["PAT-9d2k1m"])]


class Seen(Asked):
    """Something that went wrong."""

    what: str = Field(description="What went wrong, or the id of a pattern.",
                      examples=["Assumed Docker without reading compose"])  # fmt: skip
    context: str = Field("", description="What was going on.", examples=["deploying X"])
    rule: str | None = Field(None, description="The rule that would prevent it.")
    id: str | None = Field(None, min_length=1, description="An id of your own; a known one counts that pattern.")


class Proposal(Asked):
    """The rule that a pattern would become."""

    rule: str = Field(description="The rule.", examples=["Read compose.yaml before touching a container"])


def router(site: Site) -> APIRouter:
    """The verbs of patterns."""
    routes = Routes(tags=["records"], responses=refusals(*WRITES))

    @routes.post("/v1/patterns", response_model=Made)
    def record(asked: Seen, who: Who) -> Response:
        """Something went wrong: count it, or note it for the first time."""
        with who.on(site) as ws:
            done = record_pattern(ws, site.now(), what=asked.what, context=asked.context, rule=asked.rule, id_=asked.id)
        return made(done)

    @routes.post("/v1/patterns/{pattern_id:path}/propose", response_model=Made)
    def propose(pattern_id: PatternId, asked: Proposal, who: Who) -> Response:
        """Propose the rule that a pattern would become, whatever its count."""
        with who.on(site) as ws:
            return made(propose_rule(ws, site.now(), pattern_id, asked.rule))

    @routes.post("/v1/patterns/{pattern_id:path}/dismiss", response_model=Made)
    def dismiss(pattern_id: PatternId, who: Who) -> Response:
        """It is no pattern after all: it stays, counts, and never becomes a rule."""
        with who.on(site) as ws:
            return made(dismiss_pattern(ws, site.now(), pattern_id))

    @routes.post("/v1/patterns/{pattern_id:path}/graduate", response_model=Made)
    def graduate(pattern_id: PatternId, who: Who) -> Response:
        """Refused, always: only a person makes a rule of a pattern."""
        with who.on(site) as ws:
            one = ws.branch.read().state.find(Pattern, pattern_id)
        raise NeedsHuman(
            f"only a person makes a rule of pattern {one.id}",
            hint=f"in a terminal: baton pattern graduate {one.id}; or on this server's page",
        )

    return routes
