"""Find the files of the top-level folder `hooks/`, in an installed wheel or in a checkout."""

from __future__ import annotations

from pathlib import Path

from baton_git.core.errors import BatonError

_PACKAGE = Path(__file__).parents[2]


def find_shipped(name: str) -> Path:
    """Return the path of the file or folder `name` in `hooks/`.

    Raises:
        BatonError: it is missing from the installation.
    """
    for folder in (_PACKAGE / "_hooks", _PACKAGE.parent / "hooks"):
        if (folder / name).exists():
            return folder / name
    raise BatonError(f"hooks/{name} is missing from this installation", hint="reinstall baton-git")
