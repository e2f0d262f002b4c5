"""Several files of other programs are replaced together, and an error says what was changed; reading has a limit."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from baton_git.core.errors import WriteFailed
from baton_git.git.files.atomic_files import read_at_most, write_all


class FolderAppears(Mapping[Path, bytes]):
    """Two files; the second target becomes a folder after both were written, before they are renamed."""

    def __init__(self, *paths: Path) -> None:
        self.paths = paths

    def __getitem__(self, path: Path) -> bytes:
        return b"new"

    def __iter__(self) -> Iterator[Path]:
        yield from self.paths
        self.paths[-1].mkdir()

    def __len__(self) -> int:
        return len(self.paths)


def test_a_failed_rename_names_the_files_that_were_replaced_before(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"old")
    with pytest.raises(WriteFailed, match="second: Is a directory") as failed:
        write_all(FolderAppears(first, second))
    assert failed.value.hint == f"check the path and its permissions; already replaced: {first}"
    assert first.read_bytes() == b"new"
    assert sorted(tmp_path.iterdir()) == [first, second]


def test_a_failed_write_changes_nothing(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "first" / "second"
    first.write_bytes(b"old")
    with pytest.raises(WriteFailed) as failed:
        write_all({first: b"new", second: b"new"})
    assert failed.value.hint == "a folder in the path is a file; nothing was changed"
    assert first.read_bytes() == b"old"
    assert sorted(tmp_path.iterdir()) == [first]


@pytest.mark.parametrize(("size", "most"), [(0, 5), (5, 5), (5, 6), (6, 5), (200_000, 300_000)])
def test_no_more_is_read_of_a_file_or_a_pipe_than_its_limit(tmp_path: Path, size: int, most: int) -> None:
    content = bytes(range(256)) * (size // 256 + 1)
    file = tmp_path / "file"
    file.write_bytes(content[:size])
    with file.open("rb") as opened:
        assert read_at_most(opened, most) == content[:size][:most]
        assert opened.read() == content[:size][most:]
    with subprocess.Popen(["cat", str(file)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert read_at_most(process.stdout, most) == content[:size][:most]
