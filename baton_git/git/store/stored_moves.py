"""Change the stored form of records: fan out folders, and move archived records into bundles and out of them.

Everything here is a function of trees, so that two machines that do the same create the same tree. The stored form of a
record never depends on who wrote it: a new or changed record is a file of its own, and `bundle` moves it, unchanged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from baton_git.core import layout, stored_form
from baton_git.core.kinds import ARCHIVE, CLOSED, KINDS
from baton_git.core.names import Oid
from baton_git.core.state import Key
from baton_git.git.objects.values import BLOB, FILE_MODE, Edit, TreeEntry
from baton_git.git.store.draft import ObjectDraft
from baton_git.git.store.folder import Folder
from baton_git.git.store.stored_edits import HANDOVERS, add_attributes, remove_from_bundle, view_of
from baton_git.git.store.stored_views import ArchiveView, View, ViewFolder, find_stored

# --- fanning out


def fan_out_grown(draft: ObjectDraft, tree: Oid, paths: Iterable[str]) -> Oid:
    """Return a tree in which the folders of written paths with more than `FAN_FROM` records are fanned out."""
    root = draft.folder(tree)
    keys = {key.kind: path for path in paths if (key := layout.key_at(path)) and not key.archived and key.kind in KINDS}
    grown = [kind for kind, path in keys.items() if _is_grown(root, kind, path)]
    for kind in grown:
        tree = fan_out(draft, tree, kind)
    return tree


def _is_grown(root: Folder, kind: str, path: str) -> bool:
    folder = root.folder(KINDS[kind].folder)
    if isinstance(folder, ViewFolder):
        return False
    count = len(folder.entries())
    if KINDS[kind].parts == 1:
        return count > stored_form.FAN_FROM
    # The folders of all agents are opened only if there can be that many records, so that most writes open one.
    own = folder.folder(path.split("/")[1])
    if count * len(own.entries()) <= stored_form.FAN_FROM:
        return False
    return sum(len(folder.folder(name).entries()) for name in folder.entries()) > stored_form.FAN_FROM


def fan_out(draft: ObjectDraft, tree: Oid, kind: str) -> Oid:
    """Return a tree of layout 2 in which the folder of a kind is fanned out, with every record in its place."""
    root = draft.folder(tree)
    folder = KINDS[kind].folder
    stored = root.folder(folder).stored()
    edits: dict[str, Edit] = {}
    has_single = stored.oid is not None and any(not name.startswith("=") for name in stored.entries())
    for path in layout.paths_below(stored) if has_single else ():
        place = None if path.startswith("=") else stored_form.find_fanned_path(kind, path)
        entry = find_stored(stored, path)
        if place is not None and entry is not None:
            edits |= {f"{folder}/{path}": None, f"{folder}/{place}": entry}
    return draft.move_files(tree, {**edits, **_second_version(root)}) if edits else tree


def _second_version(root: Folder) -> dict[str, Edit]:
    """Return the edits that give the tree of a namespace the version 2."""
    if root.version == 2:
        return {}
    edits: dict[str, Edit] = {layout.FORMAT_FILE: stored_form.raise_version(root.read(layout.FORMAT_FILE) or b"")}
    attributes = root.read(layout.ATTRIBUTES_FILE)
    if attributes is not None and HANDOVERS not in attributes:
        edits[layout.ATTRIBUTES_FILE] = add_attributes(attributes)
    return edits


# --- bundles


class _File(NamedTuple):
    """An archived record to be bundled: the name of its file, its digits, and its content."""

    name: str
    digits: str
    text: bytes


def _make_file(key: Key, text: bytes) -> _File:
    return _File(layout.path_of(key).rpartition("/")[2], stored_form.digits_of(key.id), text)


def bundle(draft: ObjectDraft, tree: Oid, keys: Iterable[Key]) -> Oid:
    """Return a tree of layout 2 in which these archived records are in bundles, by the month in which they were closed.

    A record stays as it is if it is in a bundle already, does not exist, has no month, or is not an ordinary file. The
    result does not depend on the order of the keys, nor on whether they are bundled at once or in several steps.

    Raises:
        Corrupt: a file cannot be read.
    """
    root = draft.folder(tree)
    months: dict[tuple[str, str], list[_File]] = defaultdict(list)
    for key in sorted(set(keys)):
        entry = _find_single(root, key)
        text = b"" if entry is None else draft.read(entry.oid, BLOB)
        month = stored_form.find_month(text) if stored_form.can_bundle(text) else None
        if month is not None:
            months[key.kind, month].append(_make_file(key, text))
    return _add_to_bundles(draft, tree, months, {})


def _find_single(root: Folder, key: Key) -> TreeEntry | None:
    """Return the file of an archived record, if it is an ordinary one and no bundle has a copy of the record."""
    path, view = layout.path_of(key), view_of(root, key)
    entry = find_stored(root.stored(), path)
    if not key.archived or entry is None or entry.mode != FILE_MODE:
        return None
    has_copy = isinstance(view, ArchiveView) and any(view.find_bundles(path.rpartition("/")[2], key.id))
    return None if has_copy else entry


def _add_to_bundles(
    draft: ObjectDraft,
    tree: Oid,
    months: Mapping[tuple[str, str], list[_File]],
    split: Mapping[tuple[str, str], set[str]],
) -> Oid:
    """Move files into the bundles of their months.

    Args:
        split: for months by kind, the digits of bundles that are split although the tree does not show it.
    """
    root = draft.folder(tree)
    edits: dict[str, Edit] = {}
    for kind, month in sorted({*months, *split}):
        files = months.get((kind, month), [])
        folder = CLOSED[kind].folder
        edits |= {f"{folder}/{file.digits[:2]}/{file.name}": None for file in files}
        stored = root.folder(ARCHIVE).folder(KINDS[kind].folder).stored()
        view = ArchiveView(draft, stored) if stored.oid is not None else None
        texts = _Month(view, month, split.get((kind, month), set())).add(files)
        edits |= {f"{folder}/{month}/{stored_form.name_bundle(digits)}": text for digits, text in texts.items()}
    return draft.stored_tree(tree, {**edits, **_second_version(root)}) if edits else tree


class _Month:
    """The bundles of one month, to which files are added.

    The digits of all bundles are a tree: a bundle that grew beyond `BUNDLE_BYTES` is split by the next digit. `split`
    are the digits that are split, so a file belongs to the bundle with the fewest digits that are not.
    """

    def __init__(self, view: ArchiveView | None, month: str, split: Iterable[str]) -> None:
        self.view = view
        self.month = month
        self.names = list_bundle_digits(view, month)
        self.split = {digits[:count] for digits in self.names for count in range(len(digits))} | set(split)
        self.texts: dict[str, bytes | None] = {}

    def add(self, files: Iterable[_File]) -> Mapping[str, bytes | None]:
        """Return the new texts of the changed bundles by digits; None for one that is removed."""
        waiting = list(files)
        for digits in sorted(self.names & self.split):
            moved = self._read(digits)
            if moved is None:
                continue  # a file with other content in it is not touched
            self.texts[digits] = None
            waiting += moved
        while waiting:
            waiting = self._place(waiting)
        return self.texts

    def _place(self, files: Iterable[_File]) -> list[_File]:
        """Add files to their bundles, and return those of bundles that became too large."""
        groups: dict[str, list[_File]] = defaultdict(list)
        for file in files:
            count = next(count for count in range(len(file.digits)) if file.digits[:count] not in self.split)
            groups[file.digits[:count]].append(file)
        left: list[_File] = []
        for digits, added in groups.items():
            present = self._read(digits)
            everything = {file.name: file for file in (*(present or ()), *added)}
            text = stored_form.join_bundle({name: file.text for name, file in everything.items()})
            if present is None and len(digits) == stored_form.MAX_DIGITS:  # nothing in such a file is lost
                text = self._read_text(digits).removesuffix(b"\n") + b"\n" + text
            is_large = len(text) > stored_form.BUNDLE_BYTES and len(everything) > 1
            if len(digits) < stored_form.MAX_DIGITS and (present is None or is_large):
                self.split.add(digits)
                left += added if present is None else everything.values()
                if present is not None and digits in self.names:
                    self.texts[digits] = None
            else:
                self.texts[digits] = text
        return left

    def _read(self, digits: str) -> list[_File] | None:
        """Return the files of a bundle; None if there is more in it than files, or it is no bundle."""
        text = self._read_text(digits)
        parts = stored_form.split_bundle(text, digits)
        if parts.faults:
            return None
        return [
            _File(name, stored_form.digits_of(stored_form.find_archived_id(name) or ""), text[part.start : part.end])
            for name, part in parts.sections.items()
        ]

    def _read_text(self, digits: str) -> bytes:
        if digits in self.texts or digits not in self.names or self.view is None:
            return self.texts.get(digits) or b""
        return self.view.read_text(f"{self.month}/{stored_form.name_bundle(digits)}")


def list_bundle_digits(view: ArchiveView | None, month: str) -> set[str]:
    """Return the digits of all bundles of a month."""
    names = view.stored.folder(month).entries() if view is not None else ()
    digits = (stored_form.read_bundle_digits(f"{month}/{name}") for name in names)
    return {text for text in digits if text is not None}


def unbundle(draft: ObjectDraft, tree: Oid, keys: Iterable[Key]) -> Oid:
    """Return a tree in which these archived records are files of their own again. The version stays 2.

    Raises:
        Corrupt: a bundle cannot be read.
    """
    root = draft.folder(tree)
    edits: dict[str, Edit] = {}
    gone: dict[str, set[str]] = defaultdict(set)
    for key in set(keys):
        view, path = view_of(root, key), layout.path_of(key)
        if not isinstance(view, ArchiveView):
            continue
        relative = path[len(CLOSED[key.kind].folder) + 1 :]
        name = relative.rpartition("/")[2]
        entry = view.find(relative)
        for place in view.find_bundles(name, key.id):
            gone[f"{CLOSED[key.kind].folder}/{place}"].add(name)
            edits[path] = entry
    texts = {path: remove_from_bundle(root, path, names) for path, names in gone.items()}
    return draft.stored_tree(tree, {**edits, **texts}) if edits else tree


def list_bundled(before: Folder, after: Folder) -> Iterator[Key]:
    """Yield the archived records that are files of their own in a tree and in a bundle in a later one.

    Bundles that both trees have are not opened.
    """
    singles = before.stored()
    for kind in KINDS:
        any_key = Key(kind, "", archived=True)
        view = view_of(after, any_key)
        for path in _list_new_bundles(view, view_of(before, any_key)) if isinstance(view, ArchiveView) else ():
            for name in view.read_bundle(path) if isinstance(view, ArchiveView) else ():
                key = any_key._replace(id=stored_form.find_archived_id(name) or "")
                if find_stored(singles, layout.path_of(key)) is not None:
                    yield key


def _list_new_bundles(view: ArchiveView, before: View | None) -> Iterator[str]:
    for month in view.list_months():
        for name, entry in view.stored.folder(month).entries().items():
            path = f"{month}/{name}"
            old = None if before is None else find_stored(before.stored, path)
            if stored_form.read_bundle_digits(path) is not None and (old is None or old.oid != entry.oid):
                yield path


# --- merges


def adopt_form(draft: ObjectDraft, tree: Oid, ours: Oid, theirs: Oid) -> Oid:
    """Return the merged tree in the stored form of both sides. Before, it has that of `ours`.

    What either side fanned out is fanned out, and a record that either side has in a bundle, with the merged content,
    is in a bundle. If both sides have layout 1, so has the result.
    """
    roots = [draft.folder(side) for side in (ours, theirs)]
    if max(root.version for root in roots) == 1:
        return tree
    for kind in KINDS:
        if any(isinstance(root.folder(KINDS[kind].folder), ViewFolder) for root in roots):
            tree = fan_out(draft, tree, kind)
    return _adopt_bundles(draft, tree, *roots)


def _adopt_bundles(draft: ObjectDraft, tree: Oid, ours: Folder, theirs: Folder) -> Oid:
    root = draft.folder(tree)
    months: dict[tuple[str, str], list[_File]] = defaultdict(list)
    split: dict[tuple[str, str], set[str]] = {}
    for kind in KINDS:
        any_key = Key(kind, "", archived=True)
        views = [view_of(side, any_key) for side in (ours, theirs)]
        theirs_view = views[1]
        if not isinstance(theirs_view, ArchiveView):
            continue
        paths = list(_list_new_bundles(theirs_view, views[0]))
        for month in {path.split("/")[0] for path in paths}:
            names = set().union(*(list_bundle_digits(view, month) for view in views if isinstance(view, ArchiveView)))
            split[kind, month] = {digits[:count] for digits in names for count in range(len(digits))}
        for path in paths:
            for name, entry in theirs_view.read_bundle(path).items():
                key = Key(kind, stored_form.find_archived_id(name) or "", archived=True)
                single = _find_single(root, key)
                text = draft.read(entry.oid, BLOB) if single == entry else b""
                if stored_form.can_bundle(text):
                    months[kind, path.split("/")[0]].append(_make_file(key, text))
    return _add_to_bundles(draft, tree, months, split)
