"""Where the user's data of all repositories is; a module of its own, since a hook with each prompt may need it."""

from __future__ import annotations

import os
from pathlib import Path


def data_home() -> Path:
    named = os.environ.get("XDG_DATA_HOME", "")
    return Path(named) if named.startswith("/") else Path.home() / ".local" / "share"
