"""The cache folder, `~/.claude/loop/batons/` by default: one JSON file per namespace.

    {namespace with "/" and ":" as "_"}.json      the keys of the baton, then "_sync_status"

The file name is lossy: `a/b`, `a:b` and `a_b` meet in `a_b.json`. A reader therefore needs to be told which namespace
a name stands for, and a writer refuses to let two namespaces meet.
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
    """The file name, less `.json`, that session-baton gives the namespace; several namespaces may share it."""
    return namespace.replace("/", "_").replace(":", "_")


def read_cache(folder: Path, *, names: Mapping[str, str] | None = None) -> list[ImportedBaton | UnusableEntry]:
    """Every `*.json` of the folder, by name; sub-folders are left alone.

    Args:
        folder: links in it are followed, but only to read a file.
        names: stem → namespace, as in `{cache_stem(ns): ns for ns in known}`; a stem that is not in it is
            taken for the namespace.

    Raises:
        NotFound: there is no such folder.
        InvalidArgument: it is a file.
        StoreError: it cannot be listed.
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
    """What a file of the cache holds.

    Raises:
        NotFound: there is none.
        InvalidArgument: something else than a file is there.
        StoreError, LimitExceeded: it cannot be read, or is too large.
    """
    with reading(path):
        path.stat()
    if not path.is_file():  # opening a pipe would wait for a writer
        raise InvalidArgument("is not a regular file")
    return read_bytes(path)


def write_cache(folder: Path, batons: Iterable[ImportedBaton]) -> list[Path]:
    """Writes the batons as session-baton's cache has them; other files of the folder stay. Gives the paths.

    Raises:
        InvalidName: a namespace that cannot be one, or that cannot be a file name.
        InvalidArgument: two namespaces would share a file, or something else than a file stands in the way.
        InvalidDocument, LimitExceeded: a document that could not be read again.
        WriteFailed: the disk said no. In each case nothing was written.
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
    """As `cache_stem`. Raises InvalidName when no file can be called so."""
    stem = cache_stem(namespace)
    if "\0" in stem:
        raise InvalidName("namespace", namespace, "holds a zero byte, which no file name may")
    if len(os.fsencode(stem)) > 255 - len(SUFFIX):
        raise InvalidName("namespace", namespace, "is too long for a file name")
    return stem


def _make_shared_error(first: str, second: str, stem: str) -> InvalidArgument:
    return InvalidArgument(
        f"the namespaces {shorten(first)} and {shorten(second)} would share the cache file {stem}{SUFFIX}",
        hint="export them into different folders, or into a database", namespaces=[first, second],
    )  # fmt: skip


def encode_cached(baton: ImportedBaton) -> bytes:
    """The file, byte for byte as session-baton writes it. Raises LimitExceeded when it could not be read again."""
    content = json.dumps({**baton.baton, MARK: PENDING if baton.pending else SYNCED}).encode()
    check_size(f"the baton of {baton.namespace}", len(content))
    return content
