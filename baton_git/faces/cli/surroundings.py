"""The environment of this process, as we found it."""

from __future__ import annotations

import os

FOUND = dict(os.environ)
"""What the programs that we start see: nothing that we set for ourselves."""


def skip_plugin_search() -> None:
    """Looking for plugins of pydantic reads the metadata of every installed package, at each start; we use none."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
