"""Other machines, and what two sides changed differently: `sync`, `conflicts`, `resolve`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from mcp.types import ToolAnnotations
from pydantic import Field

from baton_git.core.errors import InvalidArgument
from baton_git.interfaces.mcp.annotations import READS, REPLACES, SETTLES
from baton_git.interfaces.mcp.answers import Answer, done
from baton_git.interfaces.mcp.arguments import Session
from baton_git.interfaces.mcp.tool_context import Ctx, Desk
from baton_git.interfaces.results.conflicts import listed
from baton_git.verbs.conflict_blame import writers
from baton_git.verbs.conflicts import Side, conflicts, resolve
from baton_git.verbs.sync import in_words, sync


@dataclass(frozen=True)
class Syncing:
    """The tools, as methods."""

    desk: Desk

    def sync(self, ctx: Ctx, remote: str | None = None, dry_run: bool = False, session: Session = None) -> Answer:
        """Bring this machine and a remote together."""
        with self.desk.at_work(ctx, session) as ws:
            made = sync(ws, self.desk.now, remote=remote, named_only=True, dry_run=dry_run)
        return {**made.as_data(), "said": in_words(made), "errors": [str(error) for error in made.errors]}

    def conflicts(self) -> Answer:
        """Values that two sides changed differently."""
        with self.desk.reading() as ws:
            found = conflicts(ws)
            told = writers(ws, found)
            return {"conflicts": [listed(one, told.get(one.id, {})) for one in found]}

    def resolve(
        self,
        ctx: Ctx,
        id: str,  # noqa: A002  the tool's argument is called so
        side: Side | None = None,
        value: Annotated[Any, Field(description="Instead")] = None,
        session: Session = None,
    ) -> Answer:
        """Settle a conflict."""
        if (side is None) == (value is None):
            raise InvalidArgument("say what stands from now on", hint="give side or value, and not both")
        with self.desk.at_work(ctx, session) as ws:
            conflict, written = resolve(ws, self.desk.now, id, side, value)
            return {"id": conflict.id, "record": conflict.record_id, "field": conflict.field, **done(written)}


def tools(desk: Desk) -> dict[Callable[..., Any], ToolAnnotations]:
    here = Syncing(desk)
    return {here.sync: SETTLES, here.conflicts: READS, here.resolve: REPLACES}
