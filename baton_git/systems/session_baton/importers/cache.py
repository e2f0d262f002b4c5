"""The cache folder, `~/.claude/loop/batons/` by default: one JSON file per namespace.

    {namespace with "/" and ":" as "_"}.json      the keys of the baton, then "_sync_status"

The file name is lossy: `a/b`, `a:b` and `a_b` all map to `a_b.json`. A reader therefore takes a table of namespaces by
file name, and a writer rejects two namespaces with the same file name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from baton_git.core.codecs import json
from baton_git.core.errors import BatonError, InvalidArgument, InvalidName, NotFound, shorten
from baton_git.core.names import Namespace
from baton_git.git.files.atomic_files import check_size, read_bytes, reading, show_path, write_all
from baton_git.systems.imported import (
    MARK,
    PENDING,
    SYNCED,
    ImportedBaton,
    UnusableEntry,
    check_batons,
    find_own_date,
    parse_object,
    refuse_duplicates,
    remove_mark,
)

SUFFIX = ".json"


def cache_stem(namespace: str) -> str:
    """Return session-baton's file name, without `.json`, for the namespace; several namespaces may share it."""
    return namespace.replace("/", "_").replace(":", "_")


def read_cache(folder: Path, *, names: Mapping[str, str] | None = None) -> list[ImportedBaton | UnusableEntry]:
    """Read every `*.json` file of the folder, sorted by name; subfolders are ignored.

    Args:
        folder: the cache folder; links in it are followed, but only to read a file.
        names: stem → namespace, as in `{cache_stem(ns): ns for ns in known}`; a stem that is missing here is itself
            the namespace.

    Raises:
        NotFound: the folder does not exist.
        InvalidArgument: the path is a file.
        StoreError: the folder cannot be listed.
    """
    if not folder.is_dir() and folder.exists():
        raise InvalidArgument(f"{show_path(folder)} is a file, not a cache folder", path=show_path(folder))
    try:
        with reading(folder):
            paths = sorted(folder.iterdir())
    except NotFound:
        raise NotFound("folder", show_path(folder), hint=f"nothing is at {show_path(folder)}") from None
    files = [path for path in paths if path.name.endswith(SUFFIX) and not path.is_dir()]
    return refuse_duplicates([_read_cache_file(path, names or {}) for path in files])


def _read_cache_file(path: Path, names: Mapping[str, str]) -> ImportedBaton | UnusableEntry:
    stem = path.name.removesuffix(SUFFIX)
    try:
        namespace = Namespace(names.get(stem, stem)).text
        document = parse_object(read_regular_file(path))
    except BatonError as error:
        return UnusableEntry(show_path(path), str(error))
    baton, mark = remove_mark(document, cached=True)
    return ImportedBaton(namespace, baton, find_own_date(baton), pending=mark == PENDING, where=show_path(path))


def read_regular_file(path: Path) -> bytes:
    """Return the content of a cache file.

    Raises:
        NotFound: the file does not exist.
        InvalidArgument: the path is not a regular file.
        StoreError, LimitExceeded: the file cannot be read, or is too large.
    """
    with reading(path):
        path.stat()
    if not path.is_file():  # opening a pipe would wait for a writer
        raise InvalidArgument("is not a regular file")
    return read_bytes(path)


def write_cache(folder: Path, batons: Iterable[ImportedBaton]) -> list[Path]:
    """Write the batons as session-baton's cache files, and return the paths; other files of the folder are unchanged.

    Raises:
        InvalidName: a namespace is not a valid name, or cannot be a file name.
        InvalidArgument: two namespaces would share a file, or a path exists and is not a file.
        InvalidDocument, LimitExceeded: a document could not be read back.
        WriteFailed: a file cannot be written. In each case nothing is written.
    """
    owners: dict[str, str] = {}
    contents: dict[Path, bytes] = {}
    for baton in check_batons(batons):
        stem = check_stem(baton.namespace)
        if stem in owners:
            raise _make_shared_error(owners[stem], baton.namespace, stem)
        owners[stem] = baton.namespace
        contents[folder / f"{stem}{SUFFIX}"] = encode_cached(baton)
    write_all(contents)
    return list(contents)


def check_stem(namespace: str) -> str:
    """Return the `cache_stem` of the namespace. Raises InvalidName if it is not a possible file name."""
    stem = cache_stem(namespace)
    if "\0" in stem:
        raise InvalidName("namespace", namespace, "contains a zero byte, which a file name must not have")
    if len(os.fsencode(stem)) > 255 - len(SUFFIX):
        raise InvalidName("namespace", namespace, "is too long for a file name")
    return stem


def _make_shared_error(first: str, second: str, stem: str) -> InvalidArgument:
    return InvalidArgument(
        f"the namespaces {shorten(first)} and {shorten(second)} would share the cache file {stem}{SUFFIX}",
        hint="export them into different folders, or into a database", namespaces=[first, second],
    )  # fmt: skip


def encode_cached(baton: ImportedBaton) -> bytes:
    """Return the file's bytes as session-baton writes them. Raises LimitExceeded if they could not be read back."""
    content = json.dumps({**baton.baton, MARK: PENDING if baton.pending else SYNCED}).encode()
    check_size(f"the baton of {baton.namespace}", len(content))
    return content
