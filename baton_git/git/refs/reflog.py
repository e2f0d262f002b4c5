"""Git's reflog, and baton's own note of the last good value of a ref.

line ::= old " " new " " name " <" mail "> " seconds " " zone TAB message NL
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from baton_git.git.files import durable_files
from baton_git.git.files.ref_locks import local_name
from baton_git.git.objects.values import encode_signature

_TAIL = 4096


class ReflogEntry(NamedTuple):
    """An entry of a reflog: who ("Name <mail>") moved the ref, when, and the message.

    Attributes:
        time: seconds since 1970.
        timezone: seconds east of UTC.
    """

    who: str
    time: int
    timezone: int
    message: str

    def encode(self) -> bytes:
        """Return the part of the line after the two ids."""
        text = " ".join(self.message.split())
        return encode_signature(self.who, self.time, self.timezone) + b"\t" + text.encode("utf-8", "replace")


def is_logged(log: str, ref: str, setting: str | None, *, bare: bool) -> bool:
    """Return whether git would log a change of `ref`, which is not HEAD; `setting` is `core.logAllRefUpdates`."""
    if durable_files.exists(log):
        return True
    wanted = (setting or ("false" if bare else "true")).lower()
    if wanted == "always":
        return True
    usual = ref.startswith(("refs/heads/", "refs/remotes/", "refs/notes/"))
    return usual and wanted in {"true", "yes", "on", "1", ""}


def append(log: str, line: bytes) -> int:
    """Append a line to the log, and return the previous length of the log in bytes.

    Raises:
        OSError: writing to disk failed; the log is unchanged.
    """
    folder = os.path.dirname(log)
    durable_files.make_folder(folder)
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        shared = durable_files.file_mode(folder, 0o644)
        before = os.fstat(fd).st_size
        if shared is not None and before == 0:
            os.fchmod(fd, shared)
        _write_or_cut(fd, line, before)
    finally:
        os.close(fd)
    return before


def _write_or_cut(fd: int, line: bytes, before: int) -> None:
    try:
        durable_files.write_all(fd, line)
    except OSError:
        os.ftruncate(fd, before)
        raise


def cut(log: str, length: int) -> None:
    """Truncate the log to `length` bytes."""
    os.truncate(log, length)


def last_value(log: str) -> str | None:
    """Return the newest value in the log, unchecked, or None if there is none or the log cannot be read."""
    try:
        with Path(log).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
            lines = [line for line in file.read().split(b"\n") if line.count(b" ") >= 2]
    except OSError:
        return None
    return lines[-1].split(b" ")[1].decode("ascii", "replace") if lines else None


class LastGood:
    """The value of each ref after baton's last write, for restoring a damaged ref. Best effort, never synced."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def note(self, ref: str, value: str) -> None:
        """Store the value of a ref. Errors are ignored, because the write of the ref itself has succeeded."""
        text = f"{value} {ref}\n".encode("utf-8", "surrogateescape")
        with suppress(OSError):
            durable_files.make_folder(self.folder)
            fd = os.open(f"{self.folder}{os.sep}{local_name(ref)}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                os.write(fd, text)  # atomic in practice: same length as the old text, within one block
            finally:
                os.close(fd)

    def clear(self, ref: str) -> None:
        """Remove the value of a ref that was deleted."""
        durable_files.remove(self.folder / local_name(ref))

    def all(self) -> dict[str, str]:
        """Return the last stored values, unchecked, by ref."""
        with suppress(OSError):
            texts = [path.read_text(encoding="utf-8", errors="replace") for path in self.folder.iterdir()]
            return {ref: value for value, _, ref in (text.rstrip("\n").partition(" ") for text in texts)}
        return {}

    def value(self, ref: str) -> str | None:
        """Return the last stored value, unchecked, or None."""
        try:
            return (self.folder / local_name(ref)).read_text(encoding="utf-8", errors="replace").split(" ")[0]
        except OSError:
            return None
