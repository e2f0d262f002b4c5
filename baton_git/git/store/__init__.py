"""Git in bytes: a branch whose tip is read, whose tree is read lazily, and which a new commit is put on durably.

Objects first, as one kept pack; then the ref, by comparing and swapping; on failure nothing is left. The user's HEAD,
index, work tree and other refs are never touched, and nothing that baton did not write is ever packed or removed.
"""

from baton_git.git.objects.headers import Header
from baton_git.git.objects.values import CommitInfo, TreeEntry
from baton_git.git.refs.reflog import ReflogEntry
from baton_git.git.store.config import Config
from baton_git.git.store.draft import Edit, ObjectDraft
from baton_git.git.store.folder import Folder
from baton_git.git.store.housekeeping import PackReport
from baton_git.git.store.repository import Repository
from baton_git.git.store.store import Store

__all__ = [
    "CommitInfo",
    "Config",
    "Edit",
    "Folder",
    "Header",
    "ObjectDraft",
    "PackReport",
    "ReflogEntry",
    "Repository",
    "Store",
    "TreeEntry",
]
