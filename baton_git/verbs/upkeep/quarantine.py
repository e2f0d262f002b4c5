"""The verbs of the import quarantine: list the rows that imports had to refuse, and discard them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

from pydantic import Field, model_validator

from baton_git.core.styles import Column, Role
from baton_git.core.verb import READS, REPLACES, Input, Option, Result, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.import_quarantine import ImportQuarantine, QuarantinedRow, list_quarantines
from baton_git.namespace.results import ResultPart
from baton_git.namespace.workspace import Workspace

TAG = "state"


class WhichQuarantine(Input):
    """The namespaces whose rows to list."""

    everything: bool = Field(False, description="List the rows of all namespaces.")


class DiscardRows(Input):
    """The rows to discard."""

    ids: list[str] = Field([], description="The ids of the rows.", examples=[["Q-1a2b3c4d"]])
    everything: bool = Field(False, description="Discard all rows of this namespace.")

    @model_validator(mode="after")
    def _check_choice(self) -> Self:
        if bool(self.ids) == self.everything:
            raise ValueError("give {ids} or {everything}")
        return self


class KeptRow(ResultPart):
    """An invalid part of an imported document."""

    id: str = Field(description="The id of the row.", examples=["Q-1a2b3c4d"])
    namespace: str = Field(description="The namespace of the import.", examples=["project:x"])
    source: str = Field(description="The imported source.", examples=["data/baton.sqlite3, row 'project:x'"])
    path: str = Field(description="The path in the document; empty for the whole document.", examples=["open_loops[3]"])
    why: str = Field(description="Why it is invalid.", examples=["status: input should be 'open', …"])
    at: str = Field(description="The time of the first import.", examples=["2026-06-17T12:30:00Z"])
    row: Any = Field(description="The redacted row; null if it is too large or cannot be read.")


class QuarantineList(Result):
    """The rows that imports had to refuse, on this machine only."""

    rows: list[KeptRow] = Field(description="The rows, oldest first.")

    def show(self, reader: Reader) -> ResultView:
        columns = [
            Column("id", lambda row: row.id, Role.ID),
            Column("namespace", lambda row: row.namespace),
            Column("source", lambda row: row.source),
            Column("why", lambda row: f"{row.path or '(all of it)'}: {row.why}", wraps=True),
        ]
        return ResultView(reader.table(self.rows, columns), () if self.rows else ["the quarantine is empty"])


class DiscardedRows(Result):
    """The discarded rows."""

    discarded: list[str] = Field(description="The ids of the rows.", examples=[["Q-1a2b3c4d"]])

    def show(self, reader: Reader) -> ResultView:
        return ResultView("\n".join(self.discarded))


def list_quarantined(ws: Workspace, *, everything: bool = False) -> list[QuarantinedRow]:
    """Return the quarantined rows of the namespace, or of all namespaces."""
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
def list_quarantine(ws: Workspace, now: datetime, verb_input: WhichQuarantine) -> QuarantineList:
    """List the rows that imports had to refuse, each with the reason.

    A row stays on this machine, with its secrets redacted, until an import of the same source finds it valid or no
    longer finds it, or until it is discarded.
    """
    rows = list_quarantined(ws, everything=verb_input.everything)
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
def discard_rows(ws: Workspace, now: datetime, verb_input: DiscardRows) -> DiscardedRows:
    """Delete rows that imports refused and kept in the quarantine. Imported records are not changed.

    Raises:
        NotFound: a row does not exist; nothing was discarded.
    """
    quarantine = ImportQuarantine(ws.branch.store.repository.common_dir, ws.branch.namespace)
    discarded = quarantine.discard(None if verb_input.everything else verb_input.ids)
    return DiscardedRows(discarded=[row.id for row in discarded])
