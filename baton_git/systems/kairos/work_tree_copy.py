"""Read and write a work tree's handover file, which KAIROS clients share, and record which content git has stored."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from baton_git.core.errors import BatonError, InvalidArgument, NotFound
from baton_git.core.names import Namespace
from baton_git.git.files.atomic_files import (
    make_folder,
    read_bytes,
    reading,
    resolve_target,
    show_path,
    spare_name,
    sync_folder,
    write_all,
    writing,
)
from baton_git.git.files.durable_files import remove


def read_copy(path: Path) -> bytes | None:
    """Return the file's content; None if the file is missing or blank. KAIROS clients may empty it to end a run.

    Raises:
        InvalidArgument: the path is a folder, a device or a pipe.
        StoreError: the file cannot be read.
        LimitExceeded: the file is too large.
    """
    try:
        with reading(path):
            mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            type_ = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
            raise InvalidArgument(f"{show_path(path)} is {type_}, not a handover file", path=show_path(path))
        text = read_bytes(path)
    except NotFound:
        return None
    return text if text.strip() else None


class StoredContent(NamedTuple):
    """The content of a handover file that was last stored in git.

    Attributes:
        digest: SHA-256 of that content, in hex.
        text: that content, redacted.
    """

    digest: str
    text: bytes

    @classmethod
    def of(cls, raw: bytes, text: bytes) -> StoredContent:
        """Return the stored content of a file; `raw` is the file's content, `text` is the same content redacted."""
        return cls(sha256(raw).hexdigest(), text)

    def matches(self, raw: bytes) -> bool:
        """Return whether `raw` is that content."""
        return sha256(raw).hexdigest() == self.digest


@dataclass(frozen=True)
class Copy:
    """A handover file outside of git, and its mark.

    The mark is a file in git's common directory. It holds the digest and the redacted text of the content that was last
    stored in git. If another client changes the handover file, that text is the merge base. Without a mark, the merge
    has no base.
    """

    path: Path
    mark: Path

    @classmethod
    def at(cls, path: Path, common_dir: Path, namespace: Namespace) -> Copy:
        """Return the copy at `path`, with the mark that this namespace has for it in git's common directory."""
        name = sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]
        return cls(path, common_dir / "baton" / "handover" / namespace.component / name)

    def read(self) -> bytes | None:
        """Return the file's content; None if it is missing or blank. Raises as `read_copy` does."""
        return read_copy(self.path)

    def read_mark(self) -> StoredContent | None:
        """Return the content that was last stored in git; None if there is no valid mark."""
        try:
            digest, newline, text = self.mark.read_bytes().partition(b"\n")
        except OSError:
            return None
        return StoredContent(digest.decode("ascii", "replace"), text) if newline and len(digest) == 64 else None

    def is_stored(self, raw: bytes) -> bool:
        """Return whether the file content `raw` is what was last stored in git (without its secrets)."""
        stored = self.read_mark()
        return stored is not None and stored.matches(raw)

    def write_mark(self, stored: StoredContent | None) -> None:
        """Write the mark, or remove it if `stored` is None.

        A failure is ignored. The next merge with the file then uses the previous mark, if there is one.
        """
        with suppress(BatonError):
            if stored is None:
                remove(self.mark)
            else:
                write_all({self.mark: stored.digest.encode() + b"\n" + stored.text})

    def write(self, text: bytes) -> bool:
        """Write `text`, which git already has, to the file atomically.

        Return False, and write nothing, if the file has content that git lacks.

        Raises:
            StoreError, LimitExceeded: as in `read_copy`.
            InvalidArgument, WriteFailed: as in `read_copy` and `write_all`.
        """
        current = self.read()
        if current is not None and not self.is_stored(current):
            return False
        if current != text and not self._replace(text):
            return False
        self.write_mark(StoredContent.of(text, text))
        return True

    def _replace(self, text: bytes) -> bool:
        """Replace the file's content, which git has, with `text`; return False if another client wrote the file
        meanwhile."""
        target = resolve_target(self.path)
        make_folder(target.parent)
        spare = spare_name(target.parent)
        try:
            write_all({spare: text})
            current = self.read()  # Read again: another client may have written the file while `write_all` synced.
            if current is not None and not self.is_stored(current):
                return False
            with writing(self.path):
                if target.exists():
                    spare.chmod(stat.S_IMODE(target.stat().st_mode))
                spare.replace(target)
        finally:
            remove(spare)
        sync_folder(target.parent)
        return True

    def remove_file(self) -> bool:
        """Remove the file if it exists and git has its content; return whether it was removed.

        Raises:
            InvalidArgument, StoreError, LimitExceeded: as in `read_copy`.
            WriteFailed: the file cannot be removed.
        """
        current = self.read()
        if current is None or not self.is_stored(current):
            return False
        with writing(self.path):
            self.path.unlink()
        self.write_mark(None)
        return True
