"""The verb `gc`: pack what baton has stored."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from baton_git.core.verb import SETTLES, NoInput, Result, verb
from baton_git.namespace.workspace import Workspace


class PackedStore(Result):
    """What baton's packs were, and are now."""

    packs_before: int = Field(description="How many packs there were.", examples=[7])
    packs_after: int = Field(description="How many there are.", examples=[1])
    objects: int = Field(description="How many objects they hold.", examples=[1200])
    bytes_before: int = Field(description="Their size before.", examples=[812_000])
    bytes_after: int = Field(description="Their size now.", examples=[240_000])


@verb("gc", effect=SETTLES, anywhere=True, tag="state", examples=("baton gc",))
def pack_store(ws: Workspace, now: datetime, asked: NoInput) -> PackedStore:
    """Pack what baton has stored into one pack. It happens by itself now and then; this does it all at once.

    Only objects that baton wrote are packed. Yours, the reflogs and stashes are left alone.

    Raises:
        Busy: another process is packing.
        WriteFailed: the disk is full or read-only; nothing was changed.
    """
    report = ws.branch.store.pack(everything=True, progress=ws.progress)
    return PackedStore(**{name: getattr(report, name) for name in PackedStore.model_fields})
