"""The cache of session-baton's clients, `~/.claude/loop/batons/` by default, with what its files cannot say.

    a_b.json                     the baton of `a/b`, as the original clients read and write it
    .baton/a%2fb.json            ours: which namespace and server it is of, what the server had when it was seen
                                 last (the base of a merge), what waits to be sent, what it is in conflict with
    .baton/kept/                 what had to make room: never removed by us
    .baton/a_b.lock              who works on the file now

The sidecar is the truth, the file beside it a copy that others may change: its digest tells whether they did.
"""

from baton_git.systems.session_baton.cache.folder import CacheEntry, CacheFolder
from baton_git.systems.session_baton.cache.sync_state import SyncState

__all__ = ["CacheEntry", "CacheFolder", "SyncState"]
