"""What was: `log`, `diff`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from mcp.types import ToolAnnotations
from pydantic import Field

from baton_git.interfaces.mcp.annotations import READS
from baton_git.interfaces.mcp.answers import Answer
from baton_git.interfaces.mcp.arguments import RevisionName
from baton_git.interfaces.mcp.tool_context import Desk
from baton_git.interfaces.results.history import shown
from baton_git.namespace.revision import Revision
from baton_git.verbs.history import Filter, compare, full_id, read_log


@dataclass(frozen=True)
class History:
    """The tools, as methods."""

    desk: Desk

    def log(
        self,
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
        record: str | None = None,
        by_session: str | None = None,
    ) -> Answer:
        """What was changed, by whom, newest first."""
        with self.desk.reading() as ws:
            wanted = Filter(record=full_id(ws, record) if record else None, session=by_session)
            return {"commits": [shown(one) for one in read_log(ws, wanted, limit)]}

    def diff(self, a: str, b: RevisionName = None) -> Answer:
        """What changed from revision a to b, or to the newest."""
        with self.desk.reading() as ws:
            found = compare(ws, a, b)
        sides = {"before": _place(found.before), "after": _place(found.after)}
        return {**sides, "changes": [one.as_data() for one in found.changes]}


def _place(version: Revision) -> Answer:
    return {"revision": version.number, "commit": version.commit}


def tools(desk: Desk) -> dict[Callable[..., Any], ToolAnnotations]:
    here = History(desk)
    return {here.log: READS, here.diff: READS}
