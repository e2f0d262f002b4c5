"""The cache of session-baton's clients, by default `~/.claude/loop/batons/`, with additional files of baton.

    a_b.json                     the baton of `a/b`, as the original clients read and write it
    .baton/a%2fb.json            the sidecar file: the namespace, its server, the server's document when last seen (the
                                 merge base), the pending document, and the conflict
    .baton/kept/                 replaced documents; baton never removes them
    .baton/a_b.lock              the lock of the file

The sidecar file is authoritative. The cache file is a copy that other clients may change; the digest of
the cache file in the sidecar shows whether they did.
"""

from baton_git.systems.session_baton.cache.folder import CacheEntry, CacheFolder
from baton_git.systems.session_baton.cache.sync_state import SyncState

__all__ = ["CacheEntry", "CacheFolder", "SyncState"]
