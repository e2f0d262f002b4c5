"""The facts of a session, from its transcript: `handoff_extract`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from mcp.types import ToolAnnotations
from pydantic import Field

from baton_git.interfaces.context.handoff import handoff_options
from baton_git.interfaces.context.transcripts import newest_transcript
from baton_git.interfaces.mcp.annotations import SETTLES
from baton_git.interfaces.mcp.arguments import Session
from baton_git.interfaces.mcp.tool_context import Ctx, ToolContext
from baton_git.interfaces.mcp.written_answers import Answer, done
from baton_git.systems.gobby.handoffs import gather, id_of, keep
from baton_git.systems.gobby.previous_sessions import resolve_handoff


@dataclass(frozen=True)
class Handoffs:
    """The tools, as methods."""

    tool_context: ToolContext

    def handoff_extract(
        self,
        ctx: Ctx,
        transcript: Annotated[str | None, Field(description="Else the newest")] = None,
        session: Session = None,
    ) -> Answer:
        """Keep these facts of a transcript."""
        with self.tool_context.at_work(ctx, session) as ws:
            agent = ws.actor.agent
            path, whose, told = newest_transcript(agent) if transcript is None else (Path(transcript), None, None)
            folder = Path(told).absolute() if told else None
            found = gather(
                ws, self.tool_context.now, path, whose, options=handoff_options(self.tool_context.app), folder=folder,
                session=self.tool_context.acting(session).settings.session,
            )  # fmt: skip
            written = keep(ws, self.tool_context.now, found, trigger="command")
            handoff = resolve_handoff(ws.branch.read().state, id_of(found))
        return {"id": handoff.id, "handoff": handoff.as_data(), **(done(written) if written is not None else {})}


def tools(tool_context: ToolContext) -> dict[Callable[..., Any], ToolAnnotations]:
    here = Handoffs(tool_context)
    return {here.handoff_extract: SETTLES}
