"""Files that are wholly there or not at all, and the disk's refusals as `WriteFailed`.

What each write needs takes paths as text, and asks `os` for them: making `Path`s of them and text again took a tenth
of a write.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from baton_git.core.errors import WriteFailed

NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)

_HINTS = {
    errno.ENOSPC: "free some space on that disk and try again; nothing was changed",
    errno.EDQUOT: "the disk quota is used up; free some space and try again; nothing was changed",
    errno.EROFS: "the file system is read-only; mount it writable or use another repository",
    errno.EACCES: "check the owner and the permissions of the repository",
    errno.EPERM: "check the owner and the permissions of the repository",
}


@contextmanager
def writing(what: str) -> Iterator[None]:
    """An OSError inside becomes WriteFailed: one line with what was being written and why it failed."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        hint = _HINTS.get(error.errno or 0, "")
        raise WriteFailed(f"cannot write {what}: {why}", hint=hint, errno=error.errno) from error


def file_mode(folder: str | Path, wanted: int) -> int | None:
    """The mode a file in a shared folder needs so that the group can use it; None: the umask decides."""
    bits = os.stat(folder).st_mode
    if not bits & 0o020:
        return None
    return (wanted & 0o700) | (wanted & bits & 0o077) | (wanted >> 3 & bits & 0o070)


def exists(path: str | Path) -> bool:
    """Whether there is such a file. Raises OSError where that cannot be told, in which `os.path.exists` says no."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def make_folder(folder: str | Path) -> None:
    """Makes `folder` and what is missing above it, durably, with the group's bits of the nearest one that existed."""
    if os.path.isdir(folder):
        return
    folder = Path(folder)
    make_folder(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir()
        bits = folder.parent.stat().st_mode
        if bits & 0o020:
            folder.chmod((folder.stat().st_mode & 0o7777) | (bits & 0o2070))
    sync_folder(folder.parent)


def write_all(fd: int, data: bytes) -> None:
    """`os.write` until everything is written; a short write is followed by the error that caused it."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_new(path: str | Path, data: bytes, *, mode: int, sync: bool) -> None:
    """Creates `path` with `data`; leaves no half of it behind.

    Raises:
        FileExistsError: it is there already.
        OSError: writing to disk failed; the file was removed again.
    """
    fd = open_new(path, data, mode=mode)
    try:
        if sync:
            os.fsync(fd)
    except BaseException:
        os.close(fd)
        remove(path)
        raise
    os.close(fd)


def replace_file(path: Path, data: bytes, *, mode: int, private: bool = False) -> None:
    """Puts a new file in place of whatever is at `path`, durably and at once.

    Args:
        private: the mode holds in a shared folder too.

    Raises:
        OSError: writing to disk failed; what was at `path` is still there.
    """
    fresh = path.with_name(f".{path.name}.{random_name(8)}.tmp")
    try:
        write_new(fresh, data, mode=mode, sync=True)
        if private:
            fresh.chmod(mode)
        fresh.replace(path)
    finally:
        remove(fresh)
    sync_folder(path.parent)


def open_new(path: str | Path, data: bytes, *, mode: int) -> int:
    """As `write_new`, not synced yet: the descriptor, for `sync_files` and to be closed by the caller."""
    fd = os.open(path, NEW_FILE, mode)
    try:
        shared = file_mode(os.path.dirname(path) or ".", mode)
        if shared is not None:
            os.fchmod(fd, shared)
        if data:
            write_all(fd, data)
    except BaseException:
        os.close(fd)
        remove(path)
        raise
    return fd


def sync_files(fds: Sequence[int]) -> None:
    """Makes the content of new files durable, cheaper than one after the other.

    Told that their pages are not wanted any more, the kernel begins to write them all; then most of what has to be
    committed goes with the first, and the others find it done. That is a hint and no more: each is synced by itself.
    """
    if len(fds) > 1 and hasattr(os, "posix_fadvise"):
        for fd in fds:
            with suppress(OSError):  # a file system that knows no such hint
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    for fd in fds:
        os.fsync(fd)


def content(path: str | Path) -> bytes:
    """The bytes of a small file, in half the time that `Path.read_bytes` takes."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = [os.read(fd, 4096)]
        while len(parts[-1]) == 4096:
            parts.append(os.read(fd, 4096))
    finally:
        os.close(fd)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def sync_folder(folder: str | Path) -> None:
    """Makes the names in `folder` durable, where the file system can do so."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise
    finally:
        os.close(fd)


def remove(path: str | Path) -> None:
    """Removes a file if it can be removed; for leftovers only, which harm nobody when they stay."""
    with suppress(OSError):
        os.unlink(path)


def random_name(digits: int = 16) -> str:
    """Hex digits that no other process will draw."""
    return os.urandom(digits // 2).hex()


CLOCK = "clock-"
"""How the names of files begin that only tell the time; a killed process may leave one."""
LEFT_AFTER = 3600.0
"""Seconds after which a file that is written and renamed at once belongs to nobody living."""


def now_of(folder: str | Path) -> float:
    """The time by the clock of the file system of `folder`, taken from a file made just now.

    The file has one name for each user, and is recognised by its descriptor, so processes may share it.
    """
    path = f"{folder}{os.sep}{CLOCK}{getattr(os, 'getuid', os.getpid)()}"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        os.utime(fd)
        return os.fstat(fd).st_mtime
    finally:
        os.close(fd)
        remove(path)


def clear(folder: str | Path, is_left: Callable[[str, float], bool]) -> None:
    """Removes the files of a folder that `is_left` says yes to, from their name and their age in seconds.

    It asks for the time of day only when there is a file to ask about.
    """
    with suppress(OSError):
        left = [name for name in os.listdir(folder) if is_left(name, float("inf"))]
        now = now_of(folder) if left else 0.0
        for name in left:
            path = f"{folder}{os.sep}{name}"
            with suppress(OSError):
                if is_left(name, now - os.stat(path).st_mtime):
                    os.unlink(path)
