"""Cache folders of session-baton: read every usable file, and write files with the same names and bytes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from baton_git.core.errors import InvalidArgument, InvalidDocument, InvalidName, NotFound, WriteFailed
from baton_git.git.files import atomic_files
from baton_git.systems.imported import ImportedBaton, UnusableEntry
from baton_git.systems.session_baton.storage_files import cache_stem, read_cache, write_cache

from .conftest import README_BATON, baton, tree


def test_each_file_is_a_baton_without_its_sync_status(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"n": 1, "updated_at": "2026-01-01", "_sync_status": "synced"}))
    (tmp_path / "b.json").write_text(json.dumps({"n": 2, "_sync_status": "pending_upload"}))
    (tmp_path / "c.json").write_text(json.dumps({"n": 3}))
    (tmp_path / "notes.txt").write_text("not ours")
    assert read_cache(tmp_path) == [
        ImportedBaton("a", {"n": 1, "updated_at": "2026-01-01"}, "2026-01-01", where=str(tmp_path / "a.json")),
        ImportedBaton("b", {"n": 2}, None, pending=True, where=str(tmp_path / "b.json")),
        ImportedBaton("c", {"n": 3}, None, where=str(tmp_path / "c.json")),
    ]


def test_the_sync_status_of_the_specification_counts_only_if_it_is_a_status(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"sync_status": "pending_upload"}')
    (tmp_path / "b.json").write_text('{"sync_status": {"what": "a field of the baton"}}')
    (tmp_path / "c.json").write_text('{"sync_status": "synced", "_sync_status": "pending_upload"}')
    assert [(one.baton, one.pending) for one in read_cache(tmp_path) if isinstance(one, ImportedBaton)] == [
        ({}, True),
        ({"sync_status": {"what": "a field of the baton"}}, False),
        ({"sync_status": "synced"}, True),
    ]


def test_the_namespace_comes_from_the_given_names_or_else_from_the_file_name(tmp_path: Path) -> None:
    write_cache(tmp_path, [baton("project:x"), baton("plain")])
    names = {cache_stem(name): name for name in ("project:x", "not/there")}
    assert [one.namespace for one in read_cache(tmp_path) if isinstance(one, ImportedBaton)] == ["plain", "project_x"]
    assert [one.namespace for one in read_cache(tmp_path, names=names) if isinstance(one, ImportedBaton)] == [
        "plain",
        "project:x",
    ]


def test_two_files_for_one_namespace_are_both_reported(tmp_path: Path) -> None:
    write_cache(tmp_path, [baton("a"), baton("b"), baton("c")])
    a, b, c = read_cache(tmp_path, names={"b": "a"})
    assert isinstance(a, UnusableEntry)
    assert "b.json" in a.why
    assert isinstance(b, UnusableEntry)
    assert "a.json" in b.why
    assert isinstance(c, ImportedBaton)


def test_unreadable_files_are_reported_and_the_others_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic_files, "MAX_BYTES", 1000)
    (tmp_path / "array.json").write_text("[]")
    (tmp_path / "big.json").write_text('{"x": "' + "y" * 2000 + '"}')
    (tmp_path / "empty.json").touch()
    (tmp_path / "dangling.json").symlink_to(tmp_path / "nowhere")
    (tmp_path / "circle.json").symlink_to(tmp_path / "circle.json")
    (tmp_path / "nan.json").write_text('{"x": NaN}')
    (tmp_path / "torn.json").write_text('{"x": "y')
    (tmp_path / ".json").write_text("{}")
    os.mkfifo(tmp_path / "pipe.json")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.json")).write_text("{}")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "good.json").write_text("{}")
    entries = read_cache(tmp_path)
    assert [one.namespace for one in entries if isinstance(one, ImportedBaton)] == ["good"]
    reasons = {Path(one.where).name: one.why for one in entries if isinstance(one, UnusableEntry)}
    assert set(reasons) == {
        ".json", "\\udcff.json", "array.json", "big.json", "circle.json",
        "dangling.json", "empty.json", "nan.json", "pipe.json", "torn.json",
    }  # fmt: skip
    assert reasons["empty.json"] == "is empty"
    assert "the limit is 1,000 bytes" in reasons["big.json"]
    assert all(one.where.isprintable() for one in entries)


def test_a_linked_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("{}")
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "a.json").symlink_to(tmp_path / "real")
    assert [type(one) for one in read_cache(folder)] == [ImportedBaton]


def test_a_missing_folder_and_a_file_are_reported(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no folder"):
        read_cache(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(InvalidArgument, match="not a cache folder"):
        read_cache(tmp_path / "file")


def test_an_empty_folder_has_no_batons(tmp_path: Path) -> None:
    assert read_cache(tmp_path) == []


def test_files_have_the_names_and_bytes_of_session_baton(tmp_path: Path) -> None:
    folder = tmp_path / "loop" / "batons"
    paths = write_cache(folder, [baton("project:a/b"), baton("c", {"n": [1]}, pending=True)])
    assert paths == [folder / "project_a_b.json", folder / "c.json"]
    assert tree(folder) == {
        "c.json": b'{\n  "n": [\n    1\n  ],\n  "_sync_status": "pending_upload"\n}',
        "project_a_b.json": json.dumps(
            {**README_BATON, "_sync_status": "synced"}, ensure_ascii=False, indent=2
        ).encode(),
    }


def test_two_namespaces_for_one_file_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"'a/b' and 'a:b' would share the cache file a_b\.json"):
        write_cache(tmp_path / "new", [baton("x"), baton("a/b"), baton("a:b")])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (baton(""), InvalidName),
        (baton("zero\0byte"), InvalidName),
        (baton("good"), InvalidArgument),
        (baton("b", {"x": float("inf")}), InvalidDocument),
    ],
)
def test_one_invalid_baton_prevents_the_whole_export(
    tmp_path: Path, bad: ImportedBaton, error: type[Exception]
) -> None:
    with pytest.raises(error):
        write_cache(tmp_path / "new", [baton("good"), bad])
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_every_file_unchanged(tmp_path: Path, full_disk: Any) -> None:
    write_cache(tmp_path, [baton("a"), baton("b")])
    before = tree(tmp_path)
    with full_disk(), pytest.raises(WriteFailed, match=r"b\.json: File too large"):
        write_cache(tmp_path, [baton("a", {}), baton("b", {"x": "y" * 10_000})])
    assert tree(tmp_path) == before


def test_a_folder_at_the_path_of_a_file_stops_the_export(tmp_path: Path) -> None:
    (tmp_path / "b.json").mkdir()
    with pytest.raises(InvalidArgument, match="not a file"):
        write_cache(tmp_path, [baton("a"), baton("b")])
    assert tree(tmp_path) == {}


def test_a_link_to_another_exported_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b.json").symlink_to(tmp_path / "a.json")
    with pytest.raises(InvalidArgument, match="link to another file"):
        write_cache(tmp_path, [baton("a"), baton("b")])
    assert [path.name for path in tmp_path.iterdir()] == ["b.json"]


def test_an_unwritable_folder_is_reported(read_only_folder: Path) -> None:
    with pytest.raises(WriteFailed, match="cannot write"):
        write_cache(read_only_folder, [baton("a")])


def test_a_sync_status_in_a_baton_is_overwritten_as_in_session_baton(tmp_path: Path) -> None:
    write_cache(tmp_path, [baton("a", {"_sync_status": "mine"})])
    assert json.loads((tmp_path / "a.json").read_text()) == {"_sync_status": "synced"}


def test_other_files_and_the_mode_of_a_file_are_kept(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "a.json").touch(mode=0o600)
    write_cache(tmp_path, [baton("a")])
    assert sorted(tree(tmp_path)) == ["a.json", "other.json"]
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o600
