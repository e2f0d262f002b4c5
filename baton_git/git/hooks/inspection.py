"""Inspect the files of hooks."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from baton_git.core.errors import StoreError


def read_hook(path: Path) -> bytes | None:
    """Return the bytes of a hook, or None if it does not exist.

    Raises:
        StoreError: the hook exists but cannot be read.
    """
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}", hint="check that file") from error


def exists(path: Path) -> bool:
    """Return whether a file with this name exists, including a dangling symbolic link."""
    return path.exists() or path.is_symlink()


def is_program(path: Path) -> bool:
    """Return whether git would run this file: a regular, executable file."""
    try:
        status = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and os.access(path, os.X_OK)
