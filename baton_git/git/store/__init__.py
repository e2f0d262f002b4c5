"""Git storage: read branches, trees and blobs, and add commits to branches durably.

A write first stores the objects as one pack protected by a `.keep` file, and then moves the ref with compare-and-swap.
A failed write leaves no files behind. The user's HEAD, index, work tree and other refs are never touched, and packs
that baton did not write are never repacked or removed.
"""

from baton_git.git.objects.reader import Header
from baton_git.git.objects.values import CommitInfo, Edit, TreeEntry
from baton_git.git.refs.ref_files import ReflogEntry
from baton_git.git.store.config import Config
from baton_git.git.store.draft import ObjectDraft
from baton_git.git.store.folder import Folder
from baton_git.git.store.housekeeping import PackReport
from baton_git.git.store.repository import Repository
from baton_git.git.store.store import Publication, Store

__all__ = [
    "CommitInfo",
    "Config",
    "Edit",
    "Folder",
    "Header",
    "ObjectDraft",
    "PackReport",
    "Publication",
    "ReflogEntry",
    "Repository",
    "Store",
    "TreeEntry",
]
