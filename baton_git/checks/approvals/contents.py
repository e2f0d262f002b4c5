"""List the files of the work tree that a command names, with digests of their contents.

The approval of a command covers its program and the files that its arguments name: it ends when one of these files
changes. It does not cover files that these load or run in turn (a Makefile, a module, a test), nor any files outside
the work tree.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from baton_git.core.errors import LimitExceeded, StoreError

MAX_FILES: Final = 64
MAX_BYTES: Final = 64 * 1024 * 1024
"""Maximum total size in bytes of the files that a command names."""
_CHUNK: Final = 1024 * 1024

Contents = Mapping[str, str]
"""For each path relative to the work tree, the SHA-256 of the file, or `link to PATH` if it leads out of the tree."""


def contents_of(argv: Sequence[str], folder: Path | None, search_path: str) -> Contents:
    """Return the digests of the files in `folder` that a command started there names.

    Args:
        folder: the work tree, or None.
        search_path: the value of PATH for the command.

    Raises:
        LimitExceeded: the command names too many files, or files that are too large.
        StoreError: one of the files cannot be read.
    """
    if folder is None or not argv:
        return {}
    top, room = Path(os.path.realpath(folder)), MAX_BYTES
    contents: dict[str, str] = {}
    for path in dict.fromkeys(_named_paths(argv, top, search_path)):
        if os.path.isfile(path):
            contents[path.relative_to(top).as_posix()], size = _content(path, top, room)
            room -= size
        if len(contents) > MAX_FILES:
            raise LimitExceeded("files of the work tree in one command", len(contents), MAX_FILES)
    return dict(sorted(contents.items()))


def _named_paths(argv: Sequence[str], top: Path, search_path: str) -> Iterator[Path]:
    """Yield the paths inside the work tree that the command names, whether or not they exist."""
    words = [argv[0] if "/" in argv[0] else _program(argv[0], top, search_path)]
    for word in argv[1:]:
        words += [word, word.partition("=")[2], word.partition("::")[0]]
    for word in words:
        path = _inside(word, top)
        if path is not None:
            yield path


def _inside(word: str, top: Path) -> Path | None:
    """Return the path in the work tree that a word names, or None if it is outside."""
    if not word or "\0" in word:
        return None
    plain = Path(os.path.normpath(top / word))
    real = Path(os.path.realpath(plain.parent), plain.name)  # `top` may also be reachable through a link
    return next((path for path in (plain, real) if path != top and path.is_relative_to(top)), None)


def _program(name: str, top: Path, search_path: str) -> str:
    """Return the path of a program in the folders of PATH, relative ones from the work tree; "" if it is not found."""
    candidates = (os.path.join(top, entry, name) for entry in search_path.split(os.pathsep))  # noqa: PTH118
    return next((path for path in candidates if os.path.isfile(path) and os.access(path, os.X_OK)), "")


def _content(path: Path, top: Path, room: int) -> tuple[str, int]:
    """Return the digest of a file (or `link to PATH`), and the number of bytes that were read."""
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(top):
        return f"link to {real}", 0
    try:
        size = real.stat().st_size
        if size > room:
            raise LimitExceeded(f"{path.name} and the other files that the command names", size, MAX_BYTES, "bytes")
        with real.open("rb") as file:
            digest = sha256()
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}", hint="check that file") from error
    return digest.hexdigest(), size
