"""A single JSON file or text with a baton: the accepted forms, errors, and writing."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from looped_cases import for_each

from baton_git.core.errors import (
    BatonError,
    InvalidArgument,
    InvalidDocument,
    InvalidName,
    LimitExceeded,
    NotFound,
    WriteFailed,
)
from baton_git.git.files import atomic_files
from baton_git.systems.imported import ImportedBaton
from baton_git.systems.session_baton.storage_database import write_database
from baton_git.systems.session_baton.storage_files import parse_text, read_any, read_file, write_cache, write_file

from .conftest import README_BATON, baton, tree


def test_a_bare_document_is_the_baton(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text(json.dumps({**README_BATON, "updated_at": "2026-01-01"}))
    assert read_file(path, "x") == ImportedBaton(
        "x", {**README_BATON, "updated_at": "2026-01-01"}, "2026-01-01", where=str(path)
    )


def test_a_file_of_the_cache_is_read_without_its_sync_status() -> None:
    found = parse_text('{"n": 1, "_sync_status": "pending_upload"}', "-", "x")
    assert (found.baton, found.pending) == ({"n": 1}, True)


def test_a_read_response_has_the_namespace_and_the_time() -> None:
    answer = {"baton": README_BATON, "namespace": "project:x", "updated_at": "2026-06-17T12:00:00+00:00", "revision": 3}
    assert parse_text(json.dumps(answer), "-") == ImportedBaton(
        "project:x", README_BATON, str(answer["updated_at"]), where="-"
    )


def test_a_request_to_the_server_has_the_namespace() -> None:
    request = {"namespace": "x", "baton": {"n": 1}, "expected_revision": 2}
    assert parse_text(json.dumps(request), "-") == ImportedBaton("x", {"n": 1}, None, where="-")


def test_a_given_namespace_overrides_that_of_the_document() -> None:
    assert parse_text('{"namespace": "x", "baton": {}}', "-", "y").namespace == "y"


def test_a_baton_with_a_field_called_baton_is_not_an_envelope() -> None:
    assert parse_text('{"session_id": "s", "baton": 1, "namespace": 2}', "-", "x").baton["baton"] == 1


def test_text_with_a_byte_order_mark_is_read() -> None:
    assert parse_text("\ufeff{}", "-", "x").baton == {}
    assert parse_text("{}".encode("utf-16"), "-", "x").baton == {}


@for_each(
    ("text", "error", "message"),
    [
        ("", InvalidDocument, "^here: is empty$"),
        (" \n", InvalidDocument, "^here: is empty$"),
        ("{]", InvalidDocument, "^here: not JSON.*line 1, column 2"),
        ("[1]", InvalidDocument, "^here: a baton is an object"),
        ('{"a": Infinity}', InvalidDocument, "^here: .*Infinity"),
        ('{"a": "\ud800"}', InvalidDocument, "surrogate"),
        ("[" * 200 + "]" * 200, LimitExceeded, "nesting"),
        ("{}", InvalidArgument, "^here does not name its namespace"),
        ('{"baton": {}}', InvalidArgument, "^here does not name its namespace"),
        ('{"baton": {}, "namespace": ""}', InvalidName, "is empty"),
        ('{"baton": {}, "namespace": 5}', InvalidDocument, "^here: namespace: must be a text"),
        ('{"baton": [], "namespace": "x"}', InvalidDocument, "^here: baton: must be an object"),
        ('{"baton": null, "namespace": "x", "updated_at": null}', NotFound, "no baton in 'here'"),
    ],
)
def test_each_bad_text_has_one_clear_error(text: str, error: type[BatonError], message: str) -> None:
    with pytest.raises(error, match=message):
        parse_text(text, "here")


def test_a_missing_file_and_a_folder_are_reported(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no file"):
        read_file(tmp_path / "none.json", "x")
    with pytest.raises(InvalidArgument, match="is a folder"):
        read_file(tmp_path, "x")


def test_a_file_that_is_too_large_is_refused_without_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.touch()
    os.truncate(path, 10**12)
    with pytest.raises(LimitExceeded, match="1,000,000,000,000 bytes, the limit is 16,777,216 bytes"):
        read_file(path, "x")


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=('{"n": 1}',))
    writer.start()
    assert [one.baton for one in read_any(path, namespace="x") if isinstance(one, ImportedBaton)] == [{"n": 1}]
    writer.join()


def test_the_type_of_a_path_is_detected(tmp_path: Path) -> None:
    write_cache(tmp_path / "cache", [baton("a:b")])
    write_database(tmp_path / "not-said.json", [baton("c")])
    write_file(tmp_path / "file.sqlite3", baton("d"))
    read = [
        read_any(tmp_path / "cache", names={"a_b": "a:b"}),
        read_any(tmp_path / "not-said.json"),
        read_any(tmp_path / "file.sqlite3", namespace="d"),
    ]
    assert [[one.namespace for one in entries if isinstance(one, ImportedBaton)] for entries in read] == [
        ["a:b"],
        ["c"],
        ["d"],
    ]
    with pytest.raises(NotFound):
        read_any(tmp_path / "none")


def test_a_document_is_written_bare_and_readable(tmp_path: Path) -> None:
    path = tmp_path / "new" / "b.json"
    write_file(path, baton("x", {"k": "名"}))
    assert path.read_text() == '{\n  "k": "名"\n}\n'


@pytest.mark.parametrize("document", [{"baton": {}}, {"sync_status": "synced"}, {"baton": 1, "namespace": 2}])
def test_an_ambiguous_document_is_written_as_a_read_response(tmp_path: Path, document: dict[str, Any]) -> None:
    path = tmp_path / "b.json"
    write_file(path, baton("x", document))
    assert read_file(path) == ImportedBaton("x", document, "2026-06-17", where=str(path))


def test_an_invalid_baton_or_path_leaves_the_file_unchanged(tmp_path: Path, full_disk: Any) -> None:
    path = tmp_path / "b.json"
    write_file(path, baton("x"))
    before = tree(tmp_path)
    with pytest.raises(InvalidDocument):
        write_file(path, baton("x", {"n": float("nan")}))
    with full_disk(), pytest.raises(WriteFailed, match="File too large"):
        write_file(path, baton("x", {"n": "y" * 10_000}))
    with pytest.raises(InvalidArgument, match="not a file"):
        write_file(tmp_path, baton("x"))
    with pytest.raises(WriteFailed, match="cannot write"):
        write_file(path / "below", baton("x"))
    with pytest.raises(InvalidArgument, match="not a file"):
        write_file(Path("/dev/null"), baton("x"))
    assert tree(tmp_path) == before


def test_a_document_too_large_to_be_read_again_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic_files, "MAX_BYTES", 100)
    with pytest.raises(LimitExceeded):
        write_file(tmp_path / "b.json", baton("x"))
    assert not tree(tmp_path)


def test_an_unwritable_folder_is_reported(read_only_folder: Path) -> None:
    with pytest.raises(WriteFailed, match="cannot write"):
        write_file(read_only_folder / "there.json", baton("x"))


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    write_file(tmp_path / "link.json", baton("x"))
    assert (tmp_path / "link.json").is_symlink()
    assert read_file(tmp_path / "real.json", "x").baton == README_BATON
