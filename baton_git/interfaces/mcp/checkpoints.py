"""PAIF's session protocol: `checkpoint`, `restore`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from mcp.types import ToolAnnotations
from pydantic import Field

from baton_git.core.brief import BUDGET
from baton_git.core.errors import Corrupt
from baton_git.interfaces.context.paif import agent_of, paif_config
from baton_git.interfaces.mcp.annotations import ADDS
from baton_git.interfaces.mcp.answers import Answer, done
from baton_git.interfaces.mcp.arguments import Json, Session
from baton_git.interfaces.mcp.tool_context import Ctx, Desk
from baton_git.namespace.workspace import fresh_mark
from baton_git.systems.paif import restore_text
from baton_git.systems.paif.checkpoints import INTERVAL_MINUTES, restore, save_checkpoint
from baton_git.systems.paif.documents import whole

Agent = str | None
"""The agent that is meant; else that of the settings."""


@dataclass(frozen=True)
class Checkpoints:
    """The tools, as methods."""

    desk: Desk

    def checkpoint(
        self,
        ctx: Ctx,
        agent: Agent = None,
        summary: str | None = None,
        pending: list[str] | None = None,
        more: Annotated[Json | None, Field(description="Other fields")] = None,
        periodic: bool = False,
        session: Session = None,
    ) -> Answer:
        """Save where an agent stands (PAIF)."""
        config = paif_config(self.desk.app)
        minutes = config.interval_minutes if config is not None else INTERVAL_MINUTES
        said = {"conversation_summary": summary, "pending_items": pending}
        options = {name: value for name, value in said.items() if value}
        name = agent or agent_of(self.desk.app, config)
        with self.desk.at_work(ctx, session) as ws:
            saved = save_checkpoint(
                ws, self.desk.now, name, more or {}, options=options, periodic=periodic, interval_minutes=minutes
            )
        return {"id": saved.id, **done(saved.written), "saved": saved.id is not None and not saved.known}

    def restore(self, ctx: Ctx, agent: Agent = None, session: Session = None) -> Answer:
        """Begin as an agent: its identity and newest checkpoint (PAIF)."""
        name = agent or agent_of(self.desk.app)
        with self.desk.at_work(ctx, session) as ws:
            found = restore(ws, self.desk.now, name)
        newest = found.checkpoint
        unrecorded = [f"this restore was not recorded: {found.unrecorded}"] if found.unrecorded is not None else []
        return {
            "agent": name, "session": found.identity.mutable.state.session_id, "revision": found.version.number,
            "brief": restore_text.brief(found.identity, newest, self.desk.now, fresh_mark(), BUDGET).text,
            "checkpoint": whole(newest) if newest is not None else None,
            "problems": [*unrecorded, *(str(Corrupt(one.path, one.why)) for one in found.damaged)],
        }  # fmt: skip


def tools(desk: Desk) -> dict[Callable[..., Any], ToolAnnotations]:
    here = Checkpoints(desk)
    return {here.checkpoint: ADDS, here.restore: ADDS}
