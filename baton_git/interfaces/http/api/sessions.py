"""Sessions: begin, end, who worked when, and what was left of them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from baton_git.core.brief import BUDGET, MIN_BUDGET
from baton_git.interfaces.http.api.acting import After, At, Limit, Named, Who
from baton_git.interfaces.http.api.answering import answer, page, where, written
from baton_git.interfaces.http.api.refusals import WRITES, refusals
from baton_git.interfaces.http.api.shapes import TIME, Asked, Page, Place, Written
from baton_git.interfaces.http.body import Routes
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.results import checkpoints as checkpoint_answers
from baton_git.interfaces.results import lifespan
from baton_git.systems.gobby.previous_sessions import extraction_time, resolve_handoff
from baton_git.systems.gobby.record import Handoff
from baton_git.systems.paif.checkpoints import agent_sessions
from baton_git.verbs.auto_sync import AT_START, at_end
from baton_git.verbs.history import lineage
from baton_git.verbs.sessions import CHECK_BUDGET, boot, wrap


class Beginning(Asked):
    """How a session begins; its name is in the header Baton-Session, else one is made."""

    budget: int = Field(BUDGET, ge=MIN_BUDGET, le=1_000_000, description="Bytes of the brief.")
    check_seconds: float = Field(CHECK_BUDGET, ge=0, le=60, description="For all checks together; 0 makes none.")
    sync_seconds: float = Field(AT_START, ge=0, le=60, description="For asking the remote; 0 does not.")


class Begun(Place):
    """What a session starts with."""

    session: str = Field(description="Its name, for the header Baton-Session.", examples=["2026-06-17-003"])
    parent: str | None = Field(description="The session it follows.")
    checks: dict[str, dict[str, Any]] = Field(description="By loop, what its check found.")
    archived: list[str] = Field(description="Loops that earlier sessions verified, archived now.")
    problems: list[str] = Field(description="What is missing or broken; it stops nothing.")
    news: list[str] = Field(description="What came from other machines, or waits.")
    left_out: Any = Field(description="What the brief had no room for.")
    brief: str = Field(description="What the session must know, as Markdown.")


class Ending(Asked):
    """Where the work stands at the end of a session."""

    context: str | None = Field(
        None, description="For the next session.", examples=["Deployed X; the cache expires at 9"]
    )
    summary: str | None = Field(
        None, description="What this one did, in a sentence.", examples=["fixed the deploy script"]
    )
    expected_revision: int | None = Field(None, ge=0, description="Refuse with 409 unless this is the newest revision.")
    sync: bool = Field(True, description="Whether it is sent to the remote that this namespace is synced with.")


class Ended(Written):
    session: str | None = Field(description="The session that ended; null where none acted.")
    news: list[str] = Field(description="What became of sending it.")


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


class Checkpoints(Page, Place):
    agent: str
    sessions: list[dict[str, Any]] = Field(
        description="The newest first: PAIF's metadata of its newest checkpoint, its summary, and the ids of all.",
        examples=[[{"session_id": "s1", "ended_at": TIME, "conversation_summary": "…", "checkpoints": ["zero/2026…"]}]],
    )


def router(site: Site) -> APIRouter:
    """Beginning and ending sessions, their lineage, checkpoints and handoffs."""
    routes = Routes(tags=["sessions"], responses=refusals())

    @routes.post("/v1/boot", response_model=Begun, responses=refusals(*WRITES))
    def begin(who: Who, asked: Beginning | None = None) -> Response:
        """Begin a session: take over what other machines sent, run the checks, archive what was verified, and get the
        brief."""
        asked = asked or Beginning()
        with who.on(site) as ws:
            begun = boot(
                ws, site.now(), budget=asked.budget, check_seconds=asked.check_seconds, sync_seconds=asked.sync_seconds
            )
        return answer(lifespan.begun(begun), commit=begun.version.commit)

    @routes.post("/v1/wrap", response_model=Ended, responses=refusals(*WRITES))
    def end(who: Who, asked: Ending | None = None) -> Response:
        """End the session of the header Baton-Session: say where the work stands."""
        asked = asked or Ending()
        with who.on(site) as ws:
            done = wrap(
                ws, site.now(), context=asked.context, summary=asked.summary, expected_revision=asked.expected_revision
            )
            news = list(at_end(ws, site.now())) if asked.sync else []
            session = ws.actor.session
        return written({"session": session, "news": news}, done)

    @routes.get("/v1/sessions", response_model=Lineage)
    def sessions(namespace: Named = None, limit: Limit = 50, after: After = None) -> Response:
        """Who worked when, and after whom; the newest first."""
        with site.work(namespace) as ws:
            version = ws.branch.read()
            shown, more = page(lineage(ws)[::-1], limit, after, lambda one: one.id)
        data = {"sessions": [one.as_data() for one in shown], "next": more}
        return answer({**where(version), **data}, commit=version.commit)

    @routes.get("/v1/checkpoints", response_model=Checkpoints)
    def checkpoints(
        agent: Annotated[str, Query(description="Whose.", examples=["zero"])],
        namespace: Named = None,
        limit: Limit = 50,
        after: After = None,
    ) -> Response:
        """The sessions of which an agent has a checkpoint (PAIF); the newest first."""
        with site.work(namespace) as ws:
            version = ws.branch.read()
            shown, more = page(agent_sessions(ws, agent), limit, after, lambda one: one.newest.metadata.session_id)
        data = {"agent": agent, "sessions": [checkpoint_answers.session_of(one) for one in shown], "next": more}
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
