"""What the tests of git hooks share: hooks of other tools, and waiting for what happens in the background."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

CLIENT = ("post-commit", "post-merge", "post-checkout", "post-rewrite", "pre-push")


def hook(folder: Path, event: str, text: str, *, mode: int = 0o755) -> Path:
    """Writes a hook as somebody else would."""
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / event
    path.write_text(text)
    path.chmod(mode)
    return path


def everything(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """Mode and content of every file, and the target of every link, by name."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(folder.rglob("*")):
        mode = stat.S_IMODE(path.lstat().st_mode)
        if path.is_symlink():
            found[str(path.relative_to(folder))] = mode, str(path.readlink())
        elif path.is_file():
            found[str(path.relative_to(folder))] = mode, path.read_bytes()
    return found


def eventually(found: Callable[[], object], seconds: float = 40) -> None:
    """Waits until something is so."""
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)


def quiet(top: Path) -> None:
    """Waits until no hook is at work any more: none is asked for, and nobody has the lock."""
    asked = top / ".git/baton/asked"
    eventually(lambda: not asked.exists() or not _lives(asked))


def _lives(asked: Path) -> bool:
    try:
        os.kill(int(asked.read_text()), 0)
    except (OSError, ValueError):
        return False
    return True
