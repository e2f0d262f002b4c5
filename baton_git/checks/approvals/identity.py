"""The identity of a repository on this machine: a random id in a file of the common directory, never in a branch.

Approvals are bound to this id. So a repository that is moved keeps its approvals, and a different one that is unpacked
at the same path has none.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from baton_git.git.files.durable_files import random_name, replace_file, writing

_FORM: Final = re.compile(r"[0-9a-f]{32}")


def identity_file(common_dir: Path) -> Path:
    return common_dir / "baton" / "repository-id"


def read_identity(common_dir: Path) -> str | None:
    """Return the id of the repository, or None if it has no valid id."""
    with suppress(OSError, UnicodeDecodeError):
        text = identity_file(common_dir).read_text(encoding="ascii").strip()
        return text if _FORM.fullmatch(text) else None
    return None


def make_identity(common_dir: Path) -> str:
    """Give the repository a new random id, replacing an existing one.

    Raises:
        WriteFailed: writing to disk failed.
    """
    path, made = identity_file(common_dir), random_name(32)
    with writing(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, f"{made}\n".encode(), mode=0o600)
    return made


def is_copy(common_dir: Path, recorded: str) -> bool:
    """Return whether the repository at `common_dir` is a copy of the one at `recorded`, which has the same id.

    A repository that was moved, or is accessed by another path, is not a copy.
    """
    id_ = read_identity(common_dir)
    if recorded == str(common_dir) or id_ is None or read_identity(Path(recorded)) != id_:
        return False
    return not Path(recorded).samefile(common_dir)
