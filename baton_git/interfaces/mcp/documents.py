"""The whole state as session-baton's document: `read`, `write`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from mcp.types import ToolAnnotations
from pydantic import Field

from baton_git.interfaces.mcp.annotations import READS, REPLACES
from baton_git.interfaces.mcp.arguments import Json, RevisionName, Session
from baton_git.interfaces.mcp.tool_context import Ctx, ToolContext
from baton_git.interfaces.mcp.written_answers import Answer, taken_out
from baton_git.interfaces.results.documents import with_provenance, written
from baton_git.systems.session_baton.document_writing import write_document
from baton_git.systems.session_baton.documents import read_document


@dataclass(frozen=True)
class Documents:
    """The tools, as methods."""

    tool_context: ToolContext

    def read(self, at: RevisionName = None) -> Answer:
        """The whole state as one document."""
        with self.tool_context.reading() as ws:
            return with_provenance(ws, read_document(ws, at))

    def write(
        self,
        ctx: Ctx,
        baton: Annotated[Json, Field(description="As read gives it; what it lacks is archived")],
        expected_revision: int | None = None,
        session: Session = None,
    ) -> Answer:
        """Write the whole document, merged with what others wrote."""
        with self.tool_context.at_work(ctx, session) as ws:
            made = write_document(ws, self.tool_context.now, baton, expected_revision=expected_revision)
        return {**written(made), "notes": taken_out(made.written)}


def tools(tool_context: ToolContext) -> dict[Callable[..., Any], ToolAnnotations]:
    here = Documents(tool_context)
    return {here.read: READS, here.write: REPLACES}
