"""Two of session-baton's storage formats: its cache folder, and one baton in one JSON file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from baton_git.core.codecs import json
from baton_git.core.errors import BatonError, Fault, InvalidArgument, InvalidDocument, InvalidName, NotFound, shorten
from baton_git.core.names import Namespace
from baton_git.git.files.atomic_files import check_size, read_bytes, read_head, reading, show_path, write_all
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
from baton_git.systems.session_baton.storage_database import MAGIC, read_database

# --- the cache folder, `~/.claude/loop/batons/` by default: one JSON file per namespace
#     {namespace with "/" and ":" as "_"}.json      the keys of the baton, then "_sync_status"
# The file name is lossy: `a/b`, `a:b` and `a_b` all map to `a_b.json`. A reader therefore takes a table of namespaces
# by file name, and a writer rejects two namespaces with the same file name.


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


# --- one baton in a file: the document, an answer of `read`, or a request to `write`


_ENVELOPE = {"baton", "namespace", "updated_at", "revision", "ok", "expected_revision", "expected_updated_at"}
"""The keys of the envelope around a baton, of session-baton and of memory-hall. An object with the key `baton`
and no keys except these is not a baton."""


def read_any(
    path: Path, *, namespace: str | None = None, names: Mapping[str, str] | None = None
) -> list[ImportedBaton | UnusableEntry]:
    """Read the batons at `path`: a cache folder, an SQLite database, or a JSON file.

    Args:
        namespace: the namespace of a single JSON file; folders and databases name their own.
        names: for a cache folder, as in `read_cache`.

    Raises:
        BatonError: as `read_cache`, `read_database` and `read_file`.
    """
    if path.is_dir():
        return read_cache(path, names=names)
    if path.is_file() and read_head(path, len(MAGIC)) == MAGIC:
        return read_database(path)
    return [read_file(path, namespace)]


def read_file(path: Path, namespace: str | None = None) -> ImportedBaton:
    """Read the baton in one JSON file.

    Args:
        namespace: overrides the namespace in the file; None means the one in the file.

    Raises:
        NotFound: the file does not exist, or is the answer of a server that had no baton.
        InvalidArgument: the path is a folder, or the namespace is unknown.
        InvalidName: the namespace is not a valid name.
        InvalidDocument: the file is empty, or not a JSON object.
        LimitExceeded: the file is too large, or nested too deeply.
        StoreError: the file cannot be read.
    """
    return parse_text(read_bytes(path), show_path(path), namespace)


def parse_text(text: str | bytes, where: str, namespace: str | None = None) -> ImportedBaton:
    """Parse the baton in a JSON text; `where` names the text in messages. Raises as `read_file`."""
    data = parse_object(text, where=where)
    if not _is_envelope(data):
        baton, mark = remove_mark(data, cached=True)
        return ImportedBaton(
            _choose_name(namespace, None, where), baton, find_own_date(baton), pending=mark == PENDING, where=where
        )
    inner = data["baton"]
    if inner is None:
        raise NotFound("baton in", where, hint="the server had none when it gave this answer")
    if not isinstance(inner, dict):
        raise InvalidDocument([Fault("baton", "must be an object")], where=where)
    baton, mark = remove_mark(inner)
    name = _choose_name(namespace, data.get("namespace"), where)
    return ImportedBaton(name, baton, find_own_date(data) or find_own_date(baton), pending=mark == PENDING, where=where)


def _is_envelope(data: dict[str, Any]) -> bool:
    return "baton" in data and data.keys() <= _ENVELOPE


def _choose_name(wanted: str | None, stated: Any, where: str) -> str:
    if wanted is not None:
        return Namespace(wanted).text
    if stated is None:
        raise InvalidArgument(f"{where} does not name its namespace", hint="give the namespace", where=where)
    if not isinstance(stated, str):
        raise InvalidDocument([Fault("namespace", "must be a text")], where=where)
    return Namespace(stated).text


def write_file(path: Path, baton: ImportedBaton) -> None:
    """Write the baton as one JSON document that `read_file` can read.

    The document gets an envelope only if `read_file` would misread it without one.

    Raises:
        InvalidName, InvalidDocument, LimitExceeded: the baton could not be read back; nothing is written.
        InvalidArgument: `path` exists and is not a file; nothing is written.
        WriteFailed: the file cannot be written; the previous content is unchanged.
    """
    check_batons([baton])
    content = f"{json.dumps(_make_content(baton))}\n".encode()
    check_size(show_path(path), len(content))
    write_all({path: content})


def _make_content(baton: ImportedBaton) -> dict[str, Any]:
    if _is_envelope(baton.baton) or remove_mark(baton.baton, cached=True)[1] is not None:
        return {"baton": baton.baton, "namespace": baton.namespace, "updated_at": baton.updated_at}
    return baton.baton
