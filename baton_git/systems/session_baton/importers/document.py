"""One baton in one JSON file: the bare document, an answer of `/v1/baton/read`, or a request to `/v1/baton/write`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from baton_git.core.codecs import json
from baton_git.core.errors import Fault, InvalidArgument, InvalidDocument, NotFound
from baton_git.core.names import Namespace
from baton_git.git.files.atomic_files import check_size, read_bytes, read_head, show_path, write_all
from baton_git.systems.imported import (
    PENDING,
    ImportedBaton,
    UnusableEntry,
    check_batons,
    find_own_date,
    parse_object,
    remove_mark,
)
from baton_git.systems.session_baton.importers.cache import read_cache
from baton_git.systems.session_baton.importers.database import MAGIC, read_database

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
