"""The environment and the standard streams of this process, as we found them and as we need them."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from baton_git.errors import InvalidArgument

TOKEN = "BATON_API_TOKEN"  # noqa: S105  the name of a variable
PAGE_TOKEN = "BATON_PAGE_TOKEN"  # noqa: S105  as above

FOUND = dict(os.environ)
"""What the programs that we start see: nothing that we set for ourselves."""


def skip_plugin_search() -> None:
    """Looking for plugins of pydantic reads the metadata of every installed package, at each start; we use none."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def mend_streams() -> None:
    """Standard streams that are there, also where they were closed, and that take any text, whatever the locale."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  it stays open
        elif mode == "w":
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def taken_token(name: str = TOKEN) -> str | None:
    """A server's token. It is taken out of the surroundings: no program that we start sees it."""
    token = taken(name)
    if token is not None and (token != token.strip() or not token.isprintable()):
        raise InvalidArgument(f"{name} holds characters that no header can bring", hint="no spaces at its ends")
    return token


def taken(name: str) -> str | None:
    """A variable, which from now on neither we nor the programs that we start have; an empty one says nothing."""
    FOUND.pop(name, None)
    return os.environ.pop(name, None) or None


def end_in_order() -> None:
    """SIGTERM ends us as Ctrl-C does, so that the programs we have started end with us."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
