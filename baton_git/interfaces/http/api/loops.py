"""Open loops: add, verify, close; and the checks of all of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import Field
from starlette.responses import Response

from baton_git.core.errors import InvalidArgument
from baton_git.core.records.work_items import OpenLoop, VerifySpec
from baton_git.interfaces.http.api.acting import Who
from baton_git.interfaces.http.api.answering import made, written
from baton_git.interfaces.http.api.refusals import WRITES, refusals
from baton_git.interfaces.http.api.shapes import Asked, Made, Written
from baton_git.interfaces.http.body import Routes
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.results import checks
from baton_git.verbs.checks import BUDGET, Verified, verify
from baton_git.verbs.loops import add_loop, close_loop, settle_loop

LoopId = Annotated[str, Path(description="Its id, or a unique beginning of it.", examples=["OL-7k3f9q"])]


class NewLoop(Asked):
    """Something that was done, and what must be true if it worked."""

    action: str = Field(description="What was done.", examples=["Deployed X"])
    expect: str = Field(description="What must be true if it worked.", examples=["health is 200"])
    verify: VerifySpec | None = Field(
        None, description="How to check it; commands run only after `baton trust` on the server's machine.",
        examples=[{"method": "http", "url": "http://localhost:8080/health"}],
    )  # fmt: skip
    ttl_days: int | None = Field(None, ge=0, le=36_500, description="Days until it is escalated.", examples=[7])
    decision: str | None = Field(None, description="The decision that it follows from.", examples=["DEC-042"])
    id: str | None = Field(None, min_length=1, description="An id of your own instead of a fresh one.")


class LoopFinding(Asked):
    """What was found out; without a result its check runs."""

    result: Literal["passed", "failed"] | None = Field(None, description="You looked, and it is so.")
    note: str | None = Field(None, description="What you saw.", examples=["the page loads"])


class Closing(Asked):
    """Why a loop is closed."""

    reason: str = Field("closed", description="Kept with it.", examples=["the service is gone"])


class Checks(Asked):
    """Which loops are to be checked."""

    ids: list[str] = Field(
        [], max_length=1000, description="These, or all that have a check.", examples=[["OL-7k3f9q"]]
    )
    budget_seconds: float = Field(BUDGET, gt=0, le=60, description="For all together.", examples=[5])


class Verdict(Written):
    """What checks found."""

    checks: dict[str, dict[str, Any]] = Field(
        description="By id the evidence; `unknown` is not passed.",
        examples=[{"OL-7k3f9q": {"result": "passed", "at": "2026-06-17T12:30:00Z", "http_status": 200}}],
    )
    id: str | None = Field(None, description="The loop, where one was settled by hand.")


def router(site: Site) -> APIRouter:
    """The verbs of open loops."""
    routes = Routes(tags=["records"], responses=refusals(*WRITES))

    @routes.post("/v1/loops", response_model=Made, status_code=201)
    def add(asked: NewLoop, who: Who) -> Response:
        """Note something done whose outcome must be checked."""
        spec = asked.verify.given() if asked.verify is not None else None
        with who.on(site) as ws:
            done = add_loop(
                ws, site.now(), action=asked.action, expect=asked.expect, verify=spec, ttl_days=asked.ttl_days,
                decision=asked.decision, id_=asked.id,
            )  # fmt: skip
        return made(done, 201)

    @routes.post("/v1/loops/{loop_id:path}/verify", response_model=Verdict)
    def verify_one(loop_id: LoopId, who: Who, asked: LoopFinding | None = None) -> Response:
        """Run the check of a loop, or say what you found out."""
        result, note = (asked.result, asked.note) if asked is not None else (None, None)
        if result is None and note is not None:
            raise InvalidArgument("a note goes with a result", hint="say result passed or failed")
        with who.on(site) as ws:
            if result is None:
                return _verdict(verify(ws, site.now(), [loop_id]))
            done = settle_loop(ws, site.now(), loop_id, result, note=note)
            found = done.written.version.state.get(OpenLoop, done.id).given()["last_check"]
        return written({"id": done.id, "checks": {done.id: found}}, done.written)

    @routes.post("/v1/loops/{loop_id:path}/close", response_model=Made)
    def close(loop_id: LoopId, who: Who, asked: Closing | None = None) -> Response:
        """Put a loop into the archive, whatever its status."""
        with who.on(site) as ws:
            return made(close_loop(ws, site.now(), loop_id, reason=(asked or Closing()).reason))

    @routes.post("/v1/verify", response_model=Verdict)
    def verify_all(who: Who, asked: Checks | None = None) -> Response:
        """Run the checks of open loops side by side, and keep what they find as evidence."""
        asked = asked or Checks()
        with who.on(site) as ws:
            return _verdict(verify(ws, site.now(), asked.ids, budget_seconds=asked.budget_seconds))

    return routes


def _verdict(done: Verified) -> Response:
    return written(checks.verified(done), done.written)
