"""The handover file in a work tree, as a KAIROS client reads and writes it; and what of it is in git already."""

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


def read_there(path: Path) -> bytes | None:
    """What is in the file; None where there is none, or where it was emptied, as KAIROS' clients may end a run.

    Raises:
        InvalidArgument: a folder, a device or a pipe is there.
        StoreError: it cannot be read.
        LimitExceeded: it is too large.
    """
    try:
        with reading(path):
            mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            what = "a folder" if stat.S_ISDIR(mode) else "no file"
            raise InvalidArgument(f"{show_path(path)} is {what}, where a handover file should be", path=show_path(path))
        text = read_bytes(path)
    except NotFound:
        return None
    return text if text.strip() else None


class Known(NamedTuple):
    """What of a file git has.

    Attributes:
        digest: SHA-256 of the file as it was then, in hex.
        text: what it said, without secrets.
    """

    digest: str
    text: bytes

    @classmethod
    def of(cls, raw: bytes, text: bytes) -> Known:
        return cls(sha256(raw).hexdigest(), text)

    def is_of(self, raw: bytes) -> bool:
        """Whether the file is still as it was then."""
        return sha256(raw).hexdigest() == self.digest


@dataclass(frozen=True)
class Copy:
    """One file outside of git, and a mark below the git common dir: a digest of the file as git has it already, and its
    text without secrets.

    The mark is the base when another client has changed the file. Without it nothing is lost: then there is no base.
    """

    path: Path
    mark: Path

    @classmethod
    def at(cls, path: Path, common_dir: Path, namespace: Namespace) -> Copy:
        name = sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]
        return cls(path, common_dir / "baton" / "handover" / namespace.component / name)

    def read(self) -> bytes | None:
        """What is in the file. Raises as `read_there`."""
        return read_there(self.path)

    def known(self) -> Known | None:
        """What of the file git has; None where nobody knows."""
        try:
            digest, newline, text = self.mark.read_bytes().partition(b"\n")
        except OSError:
            return None
        return Known(digest.decode("ascii", "replace"), text) if newline and len(digest) == 64 else None

    def is_known(self, raw: bytes) -> bool:
        """Whether git has all that `raw`, the content of the file, says."""
        known = self.known()
        return known is not None and known.is_of(raw)

    def remember(self, known: Known | None) -> None:
        """Notes what git has. A disk that refuses is passed over: the next look at the file then has no base."""
        with suppress(BatonError):
            if known is None:
                remove(self.mark)
            else:
                write_all({self.mark: known.digest.encode() + b"\n" + known.text})

    def write(self, text: bytes) -> bool:
        """Puts `text`, which git has, into the file, wholly or not at all; False when the file holds what git lacks.

        Raises:
            InvalidArgument, WriteFailed: as `write_all` says.
        """
        now = self.read()
        if now is not None and not self.is_known(now):
            return False
        if now != text and not self._replaced(text):
            return False
        self.remember(Known.of(text, text))
        return True

    def _replaced(self, text: bytes) -> bool:
        """Puts `text` in the place of what git has; False when another client wrote there meanwhile."""
        target = resolve_target(self.path)
        make_folder(target.parent)
        spare = spare_name(target.parent)
        try:
            write_all({spare: text})
            now = self.read()  # again, since syncing takes its time: what is left is the moment until the next line
            if now is not None and not self.is_known(now):
                return False
            with writing(self.path):
                if target.exists():
                    spare.chmod(stat.S_IMODE(target.stat().st_mode))
                spare.replace(target)
        finally:
            remove(spare)
        sync_folder(target.parent)
        return True

    def take_away(self) -> bool:
        """Removes the file if it is there, and as git has it.

        Raises:
            WriteFailed: the disk said no.
        """
        now = self.read()
        if now is None or not self.is_known(now):
            return False
        with writing(self.path):
            self.path.unlink()
        self.remember(None)
        return True
