"""Write files atomically and durably; `writing` reports failures as `WriteFailed`.

Functions that every write uses take paths as text and call `os`, because converting to and from `Path` took a tenth of
the time of a write.
"""

from __future__ import annotations

import errno
import os
import shlex
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Thread

from baton_git.core.errors import WriteFailed
from baton_git.core.output import one_line

NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)

_HINTS = {
    errno.ENOSPC: "free some space on that disk and try again; nothing was changed",
    errno.EDQUOT: "the disk quota is used up; free some space and try again; nothing was changed",
    errno.EROFS: "the file system is read-only; mount it writable or use another repository",
    errno.EACCES: "check the owner and the permissions of the repository",
    errno.EPERM: "check the owner and the permissions of the repository",
}


def find_hint(message: str) -> str:
    """Return the next step for a message of git that ends with the reason of the system; empty for other messages."""
    return next((hint for number, hint in _HINTS.items() if message.endswith(os.strerror(number))), "")


@contextmanager
def writing(what: str) -> Iterator[None]:
    """Turn an OSError inside the `with` block into the error WriteFailed "cannot write <what>: <reason>"."""
    try:
        yield
    except OSError as error:
        why, hint = explain_obstacle(error) or (error.strerror or str(error), _HINTS.get(error.errno or 0, ""))
        raise WriteFailed(f"cannot write {what}: {why}", hint=hint, errno=error.errno) from error


def explain_obstacle(error: OSError) -> tuple[str, str] | None:
    """Return the reason and the next step if a file, or a link that leads nowhere, is where a folder must be; None for
    other errors."""
    if error.errno not in (errno.ENOTDIR, errno.ENOENT) or not isinstance(error.filename, (str, os.PathLike)):
        return None
    path = Path(error.filename)
    for place in (*reversed(path.parents), path):
        is_link = os.path.islink(place) and not place.exists()
        if is_link or (error.errno == errno.ENOTDIR and os.path.lexists(place) and not place.is_dir()):
            shown = one_line(str(place), 1000)
            why = f"{shown} is {'a link that leads nowhere' if is_link else 'a file'}, not a folder"
            return why, f"move it away, and baton makes the folder again: mv {shlex.quote(shown)} ELSEWHERE"
    return None


def file_mode(folder: str | Path, wanted: int) -> int | None:
    """Return the mode for a new file in a folder that its group can write, or None for other folders."""
    bits = os.stat(folder).st_mode
    if not bits & 0o020:
        return None
    return (wanted & 0o700) | (wanted & bits & 0o077) | (wanted >> 3 & bits & 0o070)


def exists(path: str | Path) -> bool:
    """Return whether a file exists. Raises OSError if that is unknown; `os.path.exists` would return False."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def make_folder(folder: str | Path) -> None:
    """Create `folder` and its missing parents durably, with the group permissions of the nearest existing parent."""
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
    """Call `os.write` until everything is written; after a short write, the next call raises its cause."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_new(path: str | Path, data: bytes, *, mode: int, sync: bool) -> None:
    """Create `path` with `data`; remove it again if writing fails.

    Raises:
        FileExistsError: `path` already exists.
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


def replace_file(path: Path, data: bytes, *, mode: int, private: bool = False, sync: bool = True) -> None:
    """Create or replace the file at `path` atomically and, if `sync`, durably.

    Args:
        private: use `mode` even in a folder that is shared with a group.

    Raises:
        OSError: writing to disk failed. The file at `path` is unchanged; if only the sync of its folder failed, it has
            the new content.
    """
    fresh = path.with_name(f".{path.name}.{random_name(8)}.tmp")
    try:
        write_new(fresh, data, mode=mode, sync=sync)
        if private:
            fresh.chmod(mode)
        fresh.replace(path)
    finally:
        remove(fresh)
    if sync:
        sync_folder(path.parent)


def save_derived(path: Path, data: bytes, *, mode: int = 0o644) -> bool:
    """Create or replace a file that can be made again, and its folder: nothing is synced, and False is returned if
    writing to disk failed."""
    try:
        make_folder(path.parent)
        replace_file(path, data, mode=mode, sync=False)
    except OSError:
        return False
    return True


def open_new(path: str | Path, data: bytes, *, mode: int) -> int:
    """Create a file like `write_new`, without syncing it; return the descriptor, which the caller must close."""
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


_THREADS = 8
"""Number of threads that wait for a slow disk at the same time. While others used the disk, 18 new files took 5 ms so,
and 50 ms one after the other."""
_SLOW = 0.001
"""Seconds from which on a disk is slow. On a faster one, threads would cost more than they save."""


def sync_files(fds: Sequence[int]) -> None:
    """Sync several new files, faster than one after the other.

    The hint POSIX_FADV_DONTNEED makes the kernel start writing the pages of all files, so that the first fsync commits
    most of the data. Every file is synced afterwards, because the kernel may ignore the hint.
    """
    if len(fds) > 1 and hasattr(os, "posix_fadvise"):
        for fd in fds:
            with suppress(OSError):  # the file system does not support the hint
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    _call_with_each(os.fsync, fds)


@contextmanager
def holding_open(paths: Iterable[str]) -> Iterator[None]:
    """Hold those of the files that exist open inside the `with` block, in which they may be replaced or removed.

    The disk space of such a file is given back after the block. Without that, each rename waits for it, and others wait
    for the rename, as it locks the folder: 2 ms each where the file system tells the disk at once (`discard`).
    """
    held = list[int]()
    for path in paths:
        with suppress(OSError):
            held.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)))
    try:
        yield
    finally:
        _call_with_each(os.close, held)


def _call_with_each(work: Callable[[int], None], fds: Sequence[int]) -> None:
    """Call `work` with each descriptor, with the rest in several threads once a call takes long.

    Raises the first error after all calls.
    """
    errors = list[BaseException]()

    def work_on(part: Iterable[int]) -> Iterator[float]:
        for fd in part:
            started = time.monotonic()
            try:
                work(fd)
            except BaseException as error:  # noqa: BLE001  raised below, in the thread of the caller
                errors.append(error)
            yield time.monotonic() - started

    rest = iter(fds)
    for seconds in work_on(rest):
        if seconds > _SLOW:
            break
    waiting = [*rest]
    parts = [waiting[number::_THREADS] for number in range(min(_THREADS, len(waiting)))]
    threads = [_start_or_run(partial(deque, work_on(part), 0)) for part in parts[1:]]
    for part in parts[:1]:
        deque(work_on(part), 0)
    for thread in threads:
        if thread is not None:
            thread.join()
    if errors:
        raise errors[0]


def _start_or_run(work: Callable[[], object]) -> Thread | None:
    """Start a thread for `work`; do it at once, and return None, if the system allows no more threads."""
    thread = Thread(target=work)
    try:
        thread.start()
    except RuntimeError:
        work()
        return None
    return thread


def content(path: str | Path) -> bytes:
    """Return the bytes of a small file; takes half the time of `Path.read_bytes`."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = [os.read(fd, 4096)]
        while len(parts[-1]) == 4096:
            parts.append(os.read(fd, 4096))
    finally:
        os.close(fd)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def sync_folder(folder: str | Path) -> None:
    """Sync the directory entries of `folder`, if the file system supports it."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise
    finally:
        os.close(fd)


def remove(path: str | Path) -> None:
    """Remove a file and ignore errors. Use it only for leftover files, which do no harm if they remain."""
    with suppress(OSError):
        os.unlink(path)


def random_name(digits: int = 16) -> str:
    """Return random hex digits, different in every process and call."""
    return os.urandom(digits // 2).hex()


CLOCK = "clock-"
"""Prefix of the files that `now_of` creates; a killed process may leave one behind."""
LEFTOVER_AFTER = 3600.0
"""Age in seconds at which a temporary file is a leftover, because it is normally renamed immediately."""


def now_of(folder: str | Path) -> float:
    """Return the current time by the clock of the file system of `folder`: the mtime of a new file.

    The name of the file is the same for all processes of a user. They can share it, because each reads the time through
    its own descriptor.
    """
    path = f"{folder}{os.sep}{CLOCK}{getattr(os, 'getuid', os.getpid)()}"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        os.utime(fd)
        return os.fstat(fd).st_mtime
    finally:
        os.close(fd)
        remove(path)


def clear(folder: str | Path, is_leftover: Callable[[str, float], bool]) -> None:
    """Remove the files of a folder for which `is_leftover(name, age in seconds)` is True.

    `is_leftover` is first called with an infinite age, so that the time is determined only if there are candidates.
    """
    with suppress(OSError):
        candidates = [name for name in os.listdir(folder) if is_leftover(name, float("inf"))]
        now = now_of(folder) if candidates else 0.0
        for name in candidates:
            path = f"{folder}{os.sep}{name}"
            with suppress(OSError):
                if is_leftover(name, now - os.stat(path).st_mtime):
                    os.unlink(path)
