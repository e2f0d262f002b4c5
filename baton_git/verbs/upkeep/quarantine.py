"""The verbs of the import quarantine: list what imports could not take over, and discard it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

from pydantic import Field, model_validator

from baton_git.core.verb import READS, REPLACES, Input, Option, Result, verb
from baton_git.namespace.import_quarantine import ImportQuarantine, QuarantinedRow, list_quarantines
from baton_git.namespace.results import ResultPart
from baton_git.namespace.workspace import Workspace

TAG = "state"


class WhichQuarantine(Input):
    """Whose rows to list."""

    everything: bool = Field(False, description="Of all namespaces.")


class DiscardRows(Input):
    """Which rows to discard."""

    ids: list[str] = Field([], description="Their ids.", examples=[["Q-1a2b3c4d"]])
    everything: bool = Field(False, description="All of this namespace.")

    @model_validator(mode="after")
    def _check_choice(self) -> Self:
        if bool(self.ids) == self.everything:
            raise ValueError("give {ids} or {everything}")
        return self


class KeptRow(ResultPart):
    """A part of an imported document that did not fit."""

    id: str = Field(description="Its id.", examples=["Q-1a2b3c4d"])
    namespace: str = Field(description="Where it was to go.", examples=["project:x"])
    source: str = Field(description="What was imported.", examples=["data/baton.sqlite3, row 'project:x'"])
    path: str = Field(description="Where in the document; empty: all of it.", examples=["open_loops[3]"])
    why: str = Field(description="Why it does not fit.", examples=["status: input should be 'open', …"])
    at: str = Field(description="When it was imported first.", examples=["2026-06-17T12:30:00Z"])
    row: Any = Field(description="It, without secrets; null where it is too large or cannot be read.")


class QuarantineList(Result):
    """What imports could not take over; on this machine only."""

    rows: list[KeptRow] = Field(description="In the order in which they came.")


class DiscardedRows(Result):
    """What is kept no more."""

    discarded: list[str] = Field(description="Ids of the rows.", examples=[["Q-1a2b3c4d"]])


def list_quarantined(ws: Workspace, *, everything: bool = False) -> list[QuarantinedRow]:
    """List the rows of a namespace, or of all, that imports could not take over."""
    common_dir = ws.branch.store.repository.common_dir
    namespaces = list_quarantines(common_dir) if everything else [ws.branch.namespace]
    return [row for namespace in namespaces for row in ImportQuarantine(common_dir, namespace).rows()]


@verb(
    "import quarantine",
    "GET /v1/quarantine",
    effect=READS,
    tag=TAG,
    options={"everything": Option(names=("--all",))},
    examples=("baton import quarantine", "baton import quarantine --json | jq '.rows[].row'"),
)
def list_quarantine(ws: Workspace, now: datetime, asked: WhichQuarantine) -> QuarantineList:
    """List the rows of imports that did not fit, each with the reason.

    They are kept on this machine, without secrets, until an import of the same source has them no more or they fit.
    """
    rows = list_quarantined(ws, everything=asked.everything)
    return QuarantineList(rows=[KeptRow(**row._asdict()) for row in rows])


@verb(
    "import discard",
    "POST /v1/quarantine/discard",
    effect=REPLACES,
    on_existing=True,
    tag=TAG,
    positional=("ids",),
    options={"everything": Option(names=("--all",))},
    examples=("baton import discard Q-1a2b3c4d", "baton import discard --all"),
)
def discard_rows(ws: Workspace, now: datetime, asked: DiscardRows) -> DiscardedRows:
    """Discard rows of the quarantine; what was imported stays as it is.

    Raises:
        NotFound: there is no such row; nothing was discarded.
    """
    quarantine = ImportQuarantine(ws.branch.store.repository.common_dir, ws.branch.namespace)
    gone = quarantine.discard(None if asked.everything else asked.ids)
    return DiscardedRows(discarded=[row.id for row in gone])
