"""The handover file in a work tree, as a KAIROS client reads and writes it; and what of it is in git already."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from baton_git.errors import BatonError, NotFound
from baton_git.foreign import landing, read_bytes, remove, write_all, writing
from baton_git.names import Namespace


@dataclass(frozen=True)
class Copy:
    """One file outside of git, and a mark below the git common dir: the text of it that git has already.

    The mark is the base when another client has changed the file. Without it nothing is lost: then there is no base.
    """

    path: Path
    mark: Path

    @classmethod
    def at(cls, path: Path, common_dir: Path, namespace: Namespace) -> Copy:
        name = sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]
        return cls(path, common_dir / "baton" / "handover" / namespace.component / name)

    def read(self) -> bytes | None:
        """What is in the file; None where there is none, or where it was emptied, as KAIROS' clients may end a run.

        Raises:
            InvalidArgument: a folder, a device or a pipe is there.
            StoreError: it cannot be read.
            LimitExceeded: it is too large.
        """
        landing(self.path)
        try:
            text = read_bytes(self.path)
        except NotFound:
            return None
        return text if text.strip() else None

    def known(self) -> bytes | None:
        """The text that git has; None where nobody knows."""
        try:
            return self.mark.read_bytes()
        except OSError:
            return None

    def remember(self, text: bytes | None) -> None:
        """Notes what git has. A disk that refuses is passed over: the next look at the file then has no base."""
        with suppress(BatonError):
            if text is None:
                remove(self.mark)
            else:
                write_all({self.mark: text})

    def write(self, text: bytes) -> bool:
        """Puts `text` into the file, wholly or not at all; False when the file holds what git does not have.

        Raises:
            InvalidArgument, WriteFailed: as `write_all` says.
        """
        now = self.read()
        if now is not None and now != self.known():
            return False
        if now != text:
            write_all({self.path: text})
        self.remember(text)
        return True

    def take_away(self) -> bool:
        """Removes the file if it is there, and as git has it.

        Raises:
            WriteFailed: the disk said no.
        """
        now = self.read()
        if now is None or now != self.known():
            return False
        with writing(self.path):
            self.path.unlink()
        self.remember(None)
        return True
