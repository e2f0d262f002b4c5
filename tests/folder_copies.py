"""Keep a folder in memory and write it repeatedly, which is much faster than copying it on the disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class FolderCopy(NamedTuple):
    """The content of a folder: its folders, the contents and modes of its files, and the targets of its links."""

    folders: tuple[str, ...]
    files: tuple[tuple[str, bytes, int], ...]
    links: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, folder: Path) -> FolderCopy:
        folders, files, links = [], [], []
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            if path.is_symlink():
                links.append((name, str(path.readlink())))
            elif path.is_dir():
                folders.append(name)
            else:
                files.append((name, path.read_bytes(), path.stat().st_mode & 0o777))
        return cls(tuple(folders), tuple(files), tuple(links))

    def write(self, folder: Path) -> Path:
        """Write the content into a new folder."""
        folder.mkdir(parents=True)
        for name in self.folders:
            (folder / name).mkdir()
        for name, content, mode in self.files:
            descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            os.write(descriptor, content)
            os.fchmod(descriptor, mode)
            os.close(descriptor)
        for name, target in self.links:
            (folder / name).symlink_to(target)
        return folder
