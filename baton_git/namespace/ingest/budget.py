"""Limits for fetched and pushed data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """Limits for one fetch or push. A branch that exceeds a limit is rejected as a whole.

    Attributes:
        total_bytes: total size of the packs.
        object_bytes: uncompressed size of one object.
        entries: files in the tree of one commit; a blob counts once per path.
        depth: levels of nested folders.
        commits: new commits.
        changed: files that differ from ours.
        live: records outside the archive, all of which are read at each start of a session.
        seconds: time for the checks.
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
"""The limits for a sync that the user requested."""
BOOT = Budget(total_bytes=32 << 20, entries=50_000, commits=5_000, changed=5_000, seconds=3.0)
"""The limits for the automatic sync at the start and the end of a session."""
ON_DEMAND = Budget(total_bytes=64 << 20, seconds=20.0)
"""The limits for objects of a partial clone that a command needs; the seconds are those of the whole command."""
PUSHED = Budget(seconds=20.0)
"""The limits for a push to a server."""
