"""What stands where a hook may stand."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from baton_git.core.errors import StoreError


def read_hook(path: Path) -> bytes | None:
    """The bytes of a hook; None when there is none.

    Raises:
        StoreError: it is there and cannot be read.
    """
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}", hint="check that file") from error


def exists(path: Path) -> bool:
    """Whether there is such a name, be it a link that leads nowhere."""
    return path.exists() or path.is_symlink()


def is_program(path: Path) -> bool:
    """Whether git would run this file."""
    try:
        status = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and os.access(path, os.X_OK)
