"""The verb `gc`: fold the archive, and combine the objects that baton stored into one pack."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from baton_git.core.verb import SETTLES, NoInput, Result, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.folding import fold
from baton_git.namespace.workspace import Workspace


class PackedStore(Result):
    """The number and size of baton's packs before and after."""

    packs_before: int = Field(description="Number of packs before.", examples=[7])
    packs_after: int = Field(description="Number of packs after.", examples=[1])
    objects: int = Field(description="Number of objects in the packs.", examples=[1200])
    bytes_before: int = Field(description="Size of the packs before, in bytes.", examples=[812_000])
    bytes_after: int = Field(description="Size of the packs after, in bytes.", examples=[240_000])
    folded: bool = Field(False, description="Whether archived records of the namespace were moved into bundles.")

    def show(self, reader: Reader) -> ResultView:
        folded = ["archived records were moved into bundles (baton log shows the fold)"] if self.folded else []
        packed = (
            f"{self.packs_before} packs → {self.packs_after}, {self.objects} objects, "
            f"{self.bytes_before:,} → {self.bytes_after:,} bytes"
        )
        return ResultView(notes=[*folded, packed])


@verb("gc", progress="packing", effect=SETTLES, anywhere=True, tag="state", examples=("baton gc",))
def pack_store(ws: Workspace, now: datetime, verb_input: NoInput) -> PackedStore:
    """Combine the objects that baton stored into one pack, and many archived records into bundles.

    Both also happen in the background: after sessions, and step by step when something is written. So this command is
    rarely needed. Your own objects, reflogs and stashes are not touched.

    Raises:
        Busy: another process is packing.
        WriteFailed: the disk is full or read-only; nothing was changed.
    """
    folded = ws.folds_archive and fold(ws, now) is not None
    report = ws.branch.store.pack(everything=True, progress=ws.progress)
    return PackedStore(**{name: getattr(report, name) for name in _COUNTS}, **({"folded": True} if folded else {}))


_COUNTS = ("packs_before", "packs_after", "objects", "bytes_before", "bytes_after")
