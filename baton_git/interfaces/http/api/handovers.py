"""KAIROS' protocol runs. What is in a workspace copy of the server's machine is nothing that a request can reach."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.responses import Response

from baton_git.core.errors import InvalidArgument
from baton_git.interfaces.http.api.acting import After, At, Limit, Named, Who
from baton_git.interfaces.http.api.answering import answer, page, where, written
from baton_git.interfaces.http.api.refusals import WRITES, refusals
from baton_git.interfaces.http.api.shapes import Asked, Page, Place, Written
from baton_git.interfaces.http.api.shapes import At as Version
from baton_git.interfaces.http.body import Routes
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.results import handovers as answers
from baton_git.systems.kairos.handovers import clear, resume, show, step
from baton_git.systems.kairos.record import Handover
from baton_git.systems.kairos.rules import Going, as_data

HOURS = 24.0
RunId = Annotated[str, Path(description="Its `SESSION_ID`.", examples=["run-1"])]
Stale = Annotated[float, Query(ge=0, le=87_600, description="The age in hours at which it is called stale.")]


class NextStep(Asked):
    """The next step of a run."""

    challenge: str | None = Field(None, description="What the step is called.", examples=["find_slot"])
    uri: str | None = Field(None, description="Its URI.", examples=["kairos://mem/step2"])
    index: int | None = Field(None, ge=1, le=2**53, description="Its number; else one more than now, if there is one.")
    came_from: str | None = Field(None, description="Only if the run stands at this challenge.")
    stay: bool = Field(False, description="Still the same step: only keep this partial state.")
    state: dict[str, Any] = Field({}, description="Partial state, by key.", examples=[{"duration_minutes": 30}])
    unset: list[str] = Field([], max_length=1000, description="Keys that are taken out of the partial state.")

    def going(self) -> Going:
        return Going(
            self.challenge, self.uri, self.index, self.came_from, self.stay, self.state, tuple(self.unset)
        )  # fmt: skip


class Clearing(Asked):
    """How a run ended."""

    outcome: Literal["completed", "abandoned"]


class RunState(Version):
    """Where a run stands; its partial state is below `state`."""

    SESSION_ID: str = Field(examples=["run-1"])
    current_challenge: str | None = Field(None, examples=["find_slot"])
    chain_uri: str | None = Field(None, examples=["kairos://mem/step2"])
    step_index: int | None = Field(None, examples=[2])
    state: dict[str, Any] = Field({}, description="The partial state.", examples=[{"duration_minutes": 30}])
    updated_at: str | None = None


class Run(RunState, Place):
    ended: dict[str, Any] | None = Field(None, description="How and when it ended.")
    contested: list[dict[str, str]] = Field([], description="Values that two clients changed differently.")


class Resumed(Run):
    stale: bool | None = Field(description="Whether it was not touched for long; null: nobody can say.")
    age_seconds: int | None
    stale_after_hours: float


class Stepped(RunState, Written):
    """Where a run stands after its step."""


class Cleared(Written):
    SESSION_ID: str = Field(examples=["run-1"])
    outcome: Literal["completed", "abandoned"]


class Runs(Page, Place):
    handovers: list[dict[str, Any]] = Field(description="Those that are live.")


def router(site: Site) -> APIRouter:
    """Steps, and where runs stand."""
    routes = Routes(tags=["handovers"], responses=refusals(410))

    @routes.get("/v1/handovers", response_model=Runs)
    def live(namespace: Named = None, limit: Limit = 50, after: After = None) -> Response:
        """The live runs; those that have ended are among the archived records."""
        with site.work(namespace) as ws:
            version = ws.branch.read()
        shown, more = page(version.state.records(Handover), limit, after, lambda one: one.id)
        return answer({**where(version), "handovers": [as_data(one) for one in shown], "next": more})

    @routes.post("/v1/handovers", response_model=Stepped, responses=refusals(410, *WRITES))
    def begin(asked: NextStep, who: Who) -> Response:
        """Begin a run under a fresh SESSION_ID; or go on with the only live one, where there is one."""
        return _step(site, who, None, asked)

    @routes.get("/v1/resume", response_model=Resumed)
    def resume_any(
        namespace: Named = None,
        session: Annotated[str | None, Query(description="Its `SESSION_ID`.", examples=["run-1"])] = None,
        uri: Annotated[
            str | None, Query(description="The run that is at this step.", examples=["kairos://mem/step2"])
        ] = None,
        stale_after: Stale = HOURS,
    ) -> Response:
        """Where the run stands that is named, or is at the URI, or is the only one; it changes nothing."""
        if session is not None and uri is not None:
            raise InvalidArgument("give session or uri, not both")
        return _resumed(site, namespace, session, uri, stale_after)

    @routes.get("/v1/handovers/{session:path}/resume", response_model=Resumed)
    def resume_one(session: RunId, namespace: Named = None, stale_after: Stale = HOURS) -> Response:
        """Where a run stands, to go on from there; one that has ended is told apart (410) from one that never was."""
        return _resumed(site, namespace, session, None, stale_after)

    @routes.post("/v1/handovers/{session:path}/step", response_model=Stepped, responses=refusals(410, *WRITES))
    def go_on(session: RunId, asked: NextStep, who: Who) -> Response:
        """Go on to the next step, or begin; 409 with where it stands, where somebody was faster."""
        return _step(site, who, session, asked)

    @routes.post("/v1/handovers/{session:path}/clear", response_model=Cleared, responses=refusals(410, *WRITES))
    def end(session: RunId, asked: Clearing, who: Who) -> Response:
        """The run has ended: it goes to the archive."""
        with who.on(site) as ws:
            done = clear(ws, site.now(), session, asked.outcome)
        return written(answers.cleared(done, asked.outcome), done.written)

    @routes.get("/v1/handovers/{session:path}", response_model=Run)
    def one(session: RunId, namespace: Named = None, at: At = None) -> Response:
        """A run as it is, or was; one that has ended, as it was last."""
        with site.work(namespace) as ws:
            found = show(ws, session, at)
        return answer(answers.run(found), commit=found.version.commit)

    return routes


def _step(site: Site, who: Who, session: str | None, asked: NextStep) -> Response:
    with who.on(site) as ws:
        done = step(ws, site.now(), session, asked.going())
    return written(answers.stepped(done), done.written)


def _resumed(site: Site, namespace: str | None, session: str | None, uri: str | None, hours: float) -> Response:
    with site.work(namespace) as ws:
        found = resume(ws, site.now(), session, uri, timedelta(hours=hours))
    return answer(answers.resumed(found, hours), commit=found.run.version.commit)
