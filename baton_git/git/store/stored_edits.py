"""Translate edits of the paths of layout 1 into edits of a tree of layout 2.

The stored form of a record does not depend on who writes it: in a folder that is fanned out, a record is stored at its
place there, and a new or changed archived record is always a file of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Protocol

from dulwich.object_format import ObjectFormat

from baton_git.core import layout, stored_form
from baton_git.core.kinds import CLOSED, KINDS
from baton_git.core.names import Oid
from baton_git.core.state import Key
from baton_git.git.objects.values import BLOB, FILE_MODE, Edit, TreeEntry, object_id
from baton_git.git.store.folder import Folder
from baton_git.git.store.stored_views import ArchiveView, View, ViewFolder, find_stored

HANDOVERS = b"handover/=*/=*/*.txt text eol=lf merge=baton\n"
"""The attributes of fanned out handovers; the other patterns of `.gitattributes` apply to every folder."""


class Draft(Protocol):
    """What translating edits needs of a draft."""

    form: ObjectFormat

    def folder(self, tree: Oid | None) -> Folder: ...
    def blob(self, data: bytes) -> Oid: ...
    def read(self, oid: Oid, kind: int) -> bytes: ...


def view_of(root: Folder, key: Key) -> View | None:
    """Return the view of the folder of a record; None if the folder is stored as in layout 1."""
    folder = root
    for name in (CLOSED if key.archived else KINDS)[key.kind].folder.split("/"):
        folder = folder.folder(name)
    return folder.view if isinstance(folder, ViewFolder) else None


def convert_edits(draft: Draft, tree: Oid, edits: Mapping[str, Edit]) -> dict[str, Edit]:
    """Return the stored edits of a tree of layout 2 for edits of the paths of layout 1."""
    root = draft.folder(tree)
    stored: dict[str, Edit] = {}
    gone: dict[str, set[str]] = defaultdict(set)
    for path, edit in edits.items():
        key = layout.key_at(path)
        view = view_of(root, key) if key is not None and key.kind in KINDS else None
        if path == layout.FORMAT_FILE:
            stored[path] = _keep_version(draft, edit)
        elif path == layout.ATTRIBUTES_FILE:
            stored[path] = _keep_attributes(draft, edit)
        elif view is None or key is None:
            stored[path] = edit
        elif isinstance(view, ArchiveView):
            stored |= _edit_archived(view, key, path, edit, gone, draft.form)
        else:
            stored |= _edit_fanned(draft, view, key, path, edit)
    for path, names in gone.items():
        stored[path] = remove_from_bundle(root, path, names)
    return stored


def _keep_version(draft: Draft, edit: Edit) -> Edit:
    """Return the edit of `format.toml` with version 2, also if it restores version 1, as an undo can do."""
    if edit is None:
        return None
    text = _text_of(draft, edit)
    return edit if stored_form.read_version(text) == 2 else stored_form.raise_version(text)


def _keep_attributes(draft: Draft, edit: Edit) -> Edit:
    """Return the edit of `.gitattributes` with the attributes of fanned out handovers."""
    if edit is None or (isinstance(edit, TreeEntry) and edit.mode != FILE_MODE):
        return edit
    text = _text_of(draft, edit)
    return edit if HANDOVERS in text else add_attributes(text)


def add_attributes(text: bytes) -> bytes:
    """Return the text of `.gitattributes` with the attributes of fanned out handovers."""
    return text.removesuffix(b"\n") + b"\n" + HANDOVERS


def _text_of(draft: Draft, edit: bytes | Oid | TreeEntry) -> bytes:
    oid = edit.oid if isinstance(edit, TreeEntry) else edit
    return oid if isinstance(oid, bytes) else draft.read(oid, BLOB)


def _edit_fanned(draft: Draft, view: View, key: Key, path: str, edit: Edit) -> dict[str, Edit]:
    folder = KINDS[key.kind].folder
    relative = path[len(folder) + 1 :]
    place = stored_form.find_fanned_path(key.kind, relative)
    if place is None:
        return {path: edit}
    single = find_stored(view.stored, relative)
    if single is None:
        return {f"{folder}/{place}": edit}
    if edit is not None and not isinstance(edit, TreeEntry):  # the file keeps its mode in its new place
        edit = TreeEntry(draft.blob(edit) if isinstance(edit, bytes) else edit, False, single.mode)
    return {path: None, f"{folder}/{place}": edit}


def _edit_archived(
    view: ArchiveView, key: Key, path: str, edit: Edit, gone: dict[str, set[str]], form: ObjectFormat
) -> dict[str, Edit]:
    folder = CLOSED[key.kind].folder
    relative = path[len(folder) + 1 :]
    name = relative.rpartition("/")[2]
    bundles = list(view.find_bundles(name, key.id))
    if bundles and find_stored(view.stored, relative) is None and _is_same(view.find(relative), edit, form):
        return {}
    for bundle in bundles:
        gone[f"{folder}/{bundle}"].add(name)
    return {path: edit}


def _is_same(now: TreeEntry | None, edit: Edit, form: ObjectFormat) -> bool:
    if now is None or edit is None:
        return False
    if isinstance(edit, TreeEntry):
        return (edit.oid, edit.mode) == (now.oid, now.mode)
    return now.oid == (object_id(BLOB, edit, form) if isinstance(edit, bytes) else edit)


def remove_from_bundle(root: Folder, path: str, names: Collection[str]) -> bytes | None:
    """Return the text of a bundle without some files; None if nothing is left."""
    place = stored_form.find_place(path)
    assert place is not None
    view = view_of(root, Key(place.kind, "", archived=True))
    assert isinstance(view, ArchiveView)
    return stored_form.remove_sections(view.read_text(place.path), view.split(place.path), names) or None
