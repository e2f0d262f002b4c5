"""The beginning and the end of a session, and how things stand: `boot`, `wrap`, `status`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from mcp.types import ToolAnnotations
from pydantic import Field

from baton_git.core.brief import BUDGET, MIN_BUDGET
from baton_git.interfaces.context.lifespan import checkpoint_session, restore_agent
from baton_git.interfaces.mcp.annotations import READS, REPLACES, SETTLES
from baton_git.interfaces.mcp.answers import Answer, done
from baton_git.interfaces.mcp.arguments import Session
from baton_git.interfaces.mcp.tool_context import Ctx, Desk
from baton_git.verbs import sessions
from baton_git.verbs.auto_sync import at_end


@dataclass(frozen=True)
class Sessions:
    """The tools, as methods."""

    desk: Desk

    def boot(
        self,
        ctx: Ctx,
        session: Session = None,
        budget: Annotated[int, Field(ge=MIN_BUDGET)] = BUDGET,
    ) -> Answer:
        """Begin a session: get the brief of where the work stands."""
        app = self.desk.app.lenient
        with self.desk.at_work(ctx, session, current=False) as found:
            ws, more = restore_agent(app, found)
            begun = sessions.boot(ws, app.now, budget=budget, **more, problems=app.settings.problems or ())
        self.desk.remember(ctx, begun.session)
        return {
            "session": begun.session, "parent": begun.parent, "revision": begun.version.number,
            "brief": begun.brief.text, "problems": list(begun.problems), "news": list(begun.news),
        }  # fmt: skip

    def wrap(
        self,
        ctx: Ctx,
        context: Annotated[str, Field(description="Where it stands, and the next step")],
        summary: str | None = None,
        expected_revision: int | None = None,
        session: Session = None,
    ) -> Answer:
        """End a session: save where the work stands."""
        app = self.desk.app.lenient
        with self.desk.at_work(ctx, session) as ws:
            written = sessions.wrap(ws, app.now, context=context, summary=summary, expected_revision=expected_revision)
            saved = checkpoint_session(app, ws, summary, context)
            news = [*saved[1:], *at_end(ws, app.now)]
        self.desk.forget(ctx, ws.actor.session)
        return {"session": ws.actor.session, **done(written), "news": news}

    def status(self) -> Answer:
        """Counts by kind and status, who is at work, what is wrong."""
        with self.desk.reading() as ws:
            found = sessions.status(ws)
        return {
            "namespace": str(found.version.namespace), "exists": found.version.commit is not None,
            "revision": found.version.number, "counts": found.counts,
            "active_sessions": [one.id for one in found.sessions],
            "damaged": [f"{one.path}: {one.why}" for one in found.damaged], "pending": dict(found.pending),
        }  # fmt: skip


def tools(desk: Desk) -> dict[Callable[..., Any], ToolAnnotations]:
    here = Sessions(desk)
    return {here.boot: SETTLES, here.wrap: REPLACES, here.status: READS}
