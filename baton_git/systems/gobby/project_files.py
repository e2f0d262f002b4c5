"""Read untrusted project files: follow no symbolic links, and open only regular files."""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG

from baton_git.core.errors import InvalidArgument
from baton_git.git.files.atomic_files import reading, show_path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_project_file(top: Path, name: str, length: int) -> bytes:
    """Return at most the first `length` bytes of a file in a work tree, without following links.

    Args:
        top: the top level of the work tree.
        name: the file's path relative to `top`, separated by `/`.

    Raises:
        NotFound: the file does not exist.
        InvalidArgument: the path contains a symbolic link, or is a folder, a pipe or a device.
        StoreError: the file cannot be read.
    """
    *folders, last = name.split("/")
    path = top / name
    with reading(path):
        fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for folder in folders:
                _check_part(path, folder, fd, is_last=False)
                inner = os.open(folder, _FOLDER, dir_fd=fd)
                os.close(fd)
                fd = inner
            _check_part(path, last, fd, is_last=True)
            with os.fdopen(os.open(last, _FILE, dir_fd=fd), "rb") as file:
                return file.read(length)
        finally:
            os.close(fd)


def _check_part(path: Path, part: str, folder: int, *, is_last: bool) -> None:
    mode = os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode
    if S_ISLNK(mode):
        raise InvalidArgument(
            f"{show_path(path)} contains the symbolic link {part}, which is not followed", path=show_path(path)
        )
    if is_last and not S_ISREG(mode):
        raise InvalidArgument(f"{show_path(path)} is a {'folder' if S_ISDIR(mode) else 'pipe or a device'}, not a file")
