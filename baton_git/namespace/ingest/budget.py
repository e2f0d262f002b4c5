"""Limits for one ingest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """Limits of one ingest; whatever exceeds one of them is rejected as a whole.

    Attributes:
        total_bytes: of what is fetched, as it is packed.
        object_bytes: of one object, once it is expanded.
        entries: files in the tree of one commit, each path counted.
        depth: folders below each other.
        commits: that are new.
        changed: files that differ from ours.
        live: records outside of the archive: each start of a session reads all of them.
        seconds: for the checks.
    """

    total_bytes: int = 256 << 20
    object_bytes: int = 16 << 20
    entries: int = 200_000
    depth: int = 64
    commits: int = 100_000
    changed: int = 50_000
    live: int = 20_000
    seconds: float = 30.0


SYNC = Budget()
"""For a sync that somebody asked for."""
BOOT = Budget(total_bytes=32 << 20, entries=50_000, commits=5_000, changed=5_000, seconds=3.0)
"""For what a session's start fetches."""
PUSHED = Budget(seconds=20.0)
"""For what is pushed to a server."""
