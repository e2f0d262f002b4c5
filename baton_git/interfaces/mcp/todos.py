"""The session's own list: `todo_list`, `todo_add`, `todo_done`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from mcp.types import ToolAnnotations
from pydantic import Field

from baton_git.interfaces.mcp.annotations import ADDS, READS, SETTLES
from baton_git.interfaces.mcp.answers import Answer
from baton_git.interfaces.mcp.arguments import Session
from baton_git.interfaces.mcp.tool_context import Ctx, Desk
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.todos import add_todo, list_todos, mark_todo


@dataclass(frozen=True)
class Todos:
    """The tools, as methods."""

    desk: Desk

    def todo_list(self, ctx: Ctx, session: Session = None) -> Answer:
        """The session's own list of what to do."""
        with self.desk.at_work(ctx, session) as ws:
            return _listed(ws)

    def todo_add(
        self,
        ctx: Ctx,
        text: str,
        started: bool = False,
        session: Session = None,
    ) -> Answer:
        """Put an item at the end of the list."""
        with self.desk.at_work(ctx, session) as ws:
            add_todo(ws, self.desk.now, text, is_begun=started)
            return _listed(ws)

    def todo_done(
        self,
        ctx: Ctx,
        which: Annotated[str, Field(description="Text or number")],
        session: Session = None,
    ) -> Answer:
        """An item is done."""
        with self.desk.at_work(ctx, session) as ws:
            mark_todo(ws, self.desk.now, which, "completed")
            return _listed(ws)


def _listed(ws: Workspace) -> Answer:
    return {"todos": [{"content": one.content, "status": one.status} for one in list_todos(ws)]}


def tools(desk: Desk) -> dict[Callable[..., Any], ToolAnnotations]:
    here = Todos(desk)
    return {here.todo_list: READS, here.todo_add: ADDS, here.todo_done: SETTLES}
