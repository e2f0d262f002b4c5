"""The merge driver for `git merge`: merge a single file by the same rules as a sync."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from baton_git.core import kinds, layout, stored_form
from baton_git.core.codecs import toml
from baton_git.core.errors import InvalidDocument, Unsettled
from baton_git.core.names import RecordId
from baton_git.core.records.conflict import Conflict
from baton_git.core.state import Key, Unreadable
from baton_git.git.store import Store
from baton_git.namespace.file_merge import iterate_files, text_at
from baton_git.namespace.merge_commit import merge_trees


class DriverResult(NamedTuple):
    """The result of merging one file.

    Attributes:
        text: the content of the merged file.
        other_files: by path, the other files that the merge creates: conflicts and renamed records.
    """

    text: bytes
    other_files: dict[str, bytes]


def merge_file(store: Store, path: str, base: bytes, ours: bytes, theirs: bytes) -> DriverResult:
    """Merge three versions of the file at `path`. An empty `base` means that the file did not exist.

    A bundle stays one, whatever its size. Files that the merge creates beside it are stored as in layout 1.

    Raises:
        Corrupt: an object of the repository cannot be read.
    """
    digits = stored_form.find_bundle_digits(path)
    if digits is not None:
        return _merge_bundles(store, path, digits, (base, ours, theirs))
    if path == layout.FORMAT_FILE:
        versions = [stored_form.read_version(text) for text in (ours, theirs)]
        if versions in ([1, 2], [2, 1]):
            return DriverResult(ours if versions[0] == 2 else theirs, {})
    plain = stored_form.restore_path(path)
    files = _merge_files(store, [{_find_path(plain, text): text} for text in (base, ours, theirs)], is_new=not base)
    merged_path = plain if plain in files else next(name for name in files if not _is_conflict(name))
    text = files.pop(merged_path)
    return DriverResult(text, files)


def _merge_files(store: Store, sides: Sequence[Mapping[str, bytes]], *, is_new: bool) -> dict[str, bytes]:
    """Return the merged files by path. If `is_new`, the first of the three sides does not exist."""
    draft = store.draft()
    trees = [draft.tree(None, side) for side in sides]
    root = draft.folder(merge_trees(draft, None if is_new else trees[0], trees[1], trees[2]).tree)
    return {name: text_at(root, name) for name, _ in iterate_files(root)}


def _merge_bundles(store: Store, path: str, digits: str, texts: Sequence[bytes]) -> DriverResult:
    """Merge three versions of a bundle record by record.

    Raises:
        Unsettled: a version has other content than archived records.
    """
    place = stored_form.find_place(path)
    assert place is not None
    versions = [_split_version(path, text, digits) for text in texts]
    known = {name: text for version in versions for name, text in version.items() if name}
    sides = [{_find_path_in_bundle(place.kind, name, text, known): text for name, text in v.items()} for v in versions]
    files = _merge_files(store, sides, is_new=not texts[0])
    bundled = {name: text for name, text in files.items() if _belongs(place.kind, name, text, digits)}
    others = {name: text for name, text in files.items() if name not in bundled}
    return DriverResult(stored_form.join_bundle({_file_name(name): text for name, text in bundled.items()}), others)


def _split_version(path: str, text: bytes, digits: str) -> dict[str, bytes]:
    """Return the files in a version of a bundle by name; the name is empty if the version is a file of one record.

    Git passes such a version if it takes the bundling of a record for a rename of its file.
    """
    bundle = stored_form.split_bundle(text, digits)
    if not bundle.faults:
        return {name: text[part.start : part.end] for name, part in bundle.sections.items()}
    if bundle.sections or not _read_record_id(text):
        hint = "keep one record below each separator line (=== NAME), and commit"
        raise Unsettled(f"{path}: a version {bundle.faults[0]}, so it cannot be merged record by record", hint=hint)
    return {"": text}


def _find_path_in_bundle(kind: str, name: str, text: bytes, known: Mapping[str, bytes]) -> str:
    """Return the path in layout 1 of a file in a bundle; if it has no name, that of the same record in `known`."""
    if not name:
        names = {_read_record_id(other): other_name for other_name, other in known.items()}
        id_ = _read_record_id(text)
        name = names.get(id_) or f"{RecordId(id_).component}.toml"
    return layout.path_of(Key(kind, stored_form.find_archived_id(name) or "", archived=True))


def _read_record_id(text: bytes) -> str:
    """Return the id in the file of an archived record; empty if it cannot be read."""
    try:
        record = toml.loads(text).get("record")
    except InvalidDocument:
        return ""
    return str(record.get("id", "")) if isinstance(record, dict) else ""


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]


def _belongs(kind: str, path: str, text: bytes, digits: str) -> bool:
    """Whether a merged file can be in the bundle with these digits."""
    key = layout.key_at(path)
    if key is None or not key.archived or key.kind != kind:
        return False
    return stored_form.digits_of(key.id).startswith(digits) and stored_form.can_bundle(text)


def _is_conflict(path: str) -> bool:
    key = layout.key_at(path)
    return key is not None and key.kind == Conflict.kind


def _find_path(path: str, text: bytes) -> str:
    """Return the path to which a version of the file belongs.

    It may differ from `path`: git treats the archiving of a record as a rename, and passes one path for all versions.
    """
    key = layout.key_at(path)
    if key is None or not isinstance(layout.decode(key, path, text), Unreadable):
        return path
    fitting = (twin for twin in _twins(key) if not isinstance(layout.decode(twin, path, text), Unreadable))
    return next((layout.path_of(twin) for twin in fitting), path)


def _twins(key: Key) -> Iterator[Key]:
    """Yield the other possible keys of a record: archived, or live."""
    if key.kind not in kinds.KINDS:
        return
    yield key._replace(archived=not key.archived)
    if key.archived and "." in key.id:
        yield Key(key.kind, key.id.rpartition(".")[0])
