"""Read files of other programs with a size limit, and replace several of them together."""

from __future__ import annotations

import errno
import os
import shlex
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from baton_git.core.errors import InvalidArgument, LimitExceeded, NotFound, StoreError, WriteFailed, shorten
from baton_git.git.files import durable_files

MAX_BYTES = 16 * 1024 * 1024
"""Maximum size in bytes of a document, whether it is a file or a database row."""


def show_path(path: Path) -> str:
    """Return the path as text for a message; bytes that are not UTF-8 are escaped."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def advise_access(path: Path | str, error: OSError) -> str:
    """Return the next step after an error about a path.

    If a permission is missing, name the file or folder that lacks it, which may be far above: if `objects` cannot be
    entered, it would not help to look at the file in it that baton happened to read first.
    """
    path = Path(path)
    if error.errno in (errno.EACCES, errno.EPERM):
        for place in (*reversed(path.parents), path):
            if os.path.lexists(place) and not os.access(place, os.R_OK if place == path else os.X_OK):
                return f"see its owner and mode: ls -ld {shlex.quote(show_path(place))}"
    return f"check {show_path(path)}"


def check_size(what: str, size: int) -> None:
    """Raise LimitExceeded if a document of `size` bytes is too large."""
    if size > MAX_BYTES:
        raise LimitExceeded(what, size, MAX_BYTES, "bytes")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn an OSError inside the `with` block into an error that names the path.

    Raises:
        NotFound: `path` does not exist.
        InvalidArgument: `path` is a folder.
        StoreError: the file cannot be read for another reason.
    """
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        shown = show_path(path)  # whole in the hint if the message shortens it
        hint = "check the path" if repr(shown) == shorten(shown) else f"nothing is at {shown}"
        raise NotFound("file", shown, hint=hint) from error
    except IsADirectoryError as error:
        raise InvalidArgument(f"{show_path(path)} is a folder, not a file", path=show_path(path)) from error
    except OSError as error:
        raise StoreError(f"cannot read {show_path(path)}: {error.strerror}", path=show_path(path)) from error


@contextmanager
def writing(path: Path, *, replaced: Sequence[Path] = ()) -> Iterator[None]:
    """Turn an OSError inside the `with` block into WriteFailed with the path and the reason.

    The hint names the files that were `replaced` before, or says that nothing was changed.
    """
    try:
        yield
    except OSError as error:
        names = " and ".join(map(show_path, replaced))
        outcome = f"already replaced: {names}" if replaced else "nothing was changed"
        hint = f"{_HINTS.get(error.errno or 0, 'check the path and its permissions')}; {outcome}"
        why = (durable_files.explain_obstacle(error) or (error.strerror,))[0]
        message = f"cannot write {show_path(path)}: {why}"
        raise WriteFailed(message, hint=hint, path=show_path(path), errno=error.errno) from error


_FULL = "free some space"
_HINTS = {errno.ENOSPC: _FULL, errno.EDQUOT: _FULL, errno.ENOTDIR: "a folder in the path is a file"}
"""Hints for some values of errno; the others get a general one."""


def read_head(path: Path, length: int) -> bytes:
    """Read at most `length` bytes of a file. Raises as `reading` does."""
    with reading(path), path.open("rb") as file:
        return file.read(length)


def read_bytes(path: Path) -> bytes:
    """Read a whole file, or a pipe to its end.

    Raises:
        NotFound, InvalidArgument, StoreError: like `reading`.
        LimitExceeded: the file is larger than `MAX_BYTES`.
    """
    with reading(path), path.open("rb") as file:
        content = read_at_most(file, MAX_BYTES + 1)
        size = max(len(content), os.fstat(file.fileno()).st_size)
    check_size(show_path(path), size)
    return content


def read_at_most(file: IO[bytes], most: int) -> bytes:
    """Return the rest of a file or pipe, at most `most` bytes."""
    # read(most) takes a buffer of that size first: 235 µs instead of 47 for a file of 9 kB and a limit of 64 MiB
    expected = min(most, os.fstat(file.fileno()).st_size + 1)
    content = file.read(expected)
    return content if len(content) < expected else content + file.read(most - expected)


def resolve_target(path: Path) -> Path:
    """Return the file that a write to `path` changes: the path itself, or the target of its link.

    Raises:
        InvalidArgument: `path` is a folder, a device or a pipe, which must not be replaced.
        WriteFailed: the path cannot be examined.
    """
    target = Path(os.path.realpath(path))
    with writing(path):
        try:
            mode = target.lstat().st_mode
        except FileNotFoundError:
            return target
    if not stat.S_ISREG(mode):
        raise InvalidArgument(f"{show_path(path)} exists and is not a file", path=show_path(path))
    return target


def make_folder(folder: Path) -> None:
    """Make the folder and its missing parents. Raises WriteFailed if that fails."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)


def spare_name(folder: Path) -> Path:
    """Return an unused random path in `folder` that no `*.json` pattern matches."""
    return folder / f".baton-{os.urandom(8).hex()}.tmp"


def write_all(contents: Mapping[Path, bytes], *, mode: int | None = None) -> None:
    """Write all files: write and sync each next to its target, then rename them all.

    If writing a file fails, no target is changed. If a rename fails, the files before it have been replaced.

    Args:
        mode: permissions of the files; None keeps the permissions of a replaced file.

    Raises:
        InvalidArgument: a target is a folder, a device or a pipe, or two paths lead to the same file.
        WriteFailed: writing to disk failed; the hint names the files that were replaced.
    """
    staged: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            target = resolve_target(path)
            if target in staged:
                raise InvalidArgument(
                    f"{show_path(path)} is a link to another file of this export", path=show_path(path)
                )
            make_folder(target.parent)
            staged[target] = spare_name(target.parent)
            with writing(path):
                write_new(staged[target], content, like=target, mode=mode)
        replaced: list[Path] = []
        for target, spare in staged.items():
            with writing(target, replaced=replaced):
                spare.replace(target)
            replaced.append(target)
    finally:
        for spare in staged.values():
            durable_files.remove(spare)
    for folder in {target.parent for target in staged}:
        sync_folder(folder)


def write_new(path: Path, content: bytes, *, like: Path | None = None, mode: int | None = None) -> None:
    """Write and sync a new file. Its mode is `mode`; if that is None, the one of the file `like`, if it exists, or the
    usual one of new files. Unlike that of `durable_files.write_new`, it does not depend on the folder.

    Raises:
        OSError: the file exists, or writing to disk failed.
    """
    fd = os.open(path, durable_files.NEW_FILE, 0o666 if mode is None else mode)
    with os.fdopen(fd, "wb") as file:
        if mode is None and like is not None and like.exists():
            os.fchmod(fd, stat.S_IMODE(like.stat().st_mode))
        file.write(content)
        file.flush()
        os.fsync(fd)


def sync_folder(folder: Path) -> None:
    """Sync the directory entries of `folder`, if the file system supports it."""
    with suppress(OSError):  # the contents are synced already; only a power failure could lose the new names
        durable_files.sync_folder(folder)
