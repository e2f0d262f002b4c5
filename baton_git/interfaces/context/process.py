"""The environment and the standard streams of this process, as we found them and as we need them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from baton_git.core.child_environment import is_secret_variable, without_secrets
from baton_git.core.errors import InvalidArgument

TOKEN = "BATON_API_TOKEN"  # noqa: S105  the name of a variable
PAGE_TOKEN = "BATON_PAGE_TOKEN"  # noqa: S105  as above

FOUND = dict(os.environ)
"""The environment as we found it: nothing that we set for ourselves."""

_taken: dict[str, str] = {}


def skip_plugin_search() -> None:
    """Keep pydantic from looking for plugins, of which this program uses none.

    The search imports `importlib.metadata` and with it `email`, `socket` and `zipfile`, a tenth of a command's time,
    even where the variable forbids the search itself. So its module is replaced; the variable is for a pydantic that
    keeps the search elsewhere.
    """
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    search = ModuleType("pydantic.plugin._loader")
    search.__dict__["get_plugins"] = tuple
    sys.modules.setdefault(search.__name__, search)


def mend_streams() -> None:
    """Reopen closed standard streams, and let them take any text, whatever the locale."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  it stays open
        elif mode == "w":
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def hide_tokens() -> None:
    """Take the tokens out of our environment, which every program that we start inherits; `read_token` keeps them."""
    for name in filter(is_secret_variable, list(os.environ)):
        token = take_variable(name)
        if token is not None:
            _taken[name] = token


def child_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a program that we start: what we found (or `environment`), without tokens."""
    return without_secrets(FOUND if environment is None else environment)


def read_token(name: str = TOKEN) -> str | None:
    """Return a token from the environment; None if it is missing or empty."""
    return take_variable(name) or _taken.get(name)


def taken_token(name: str = TOKEN) -> str | None:
    """Return a server's own token.

    Raises:
        InvalidArgument: no header could bring it.
    """
    token = read_token(name)
    if token is not None and (token != token.strip() or not token.isprintable()):
        raise InvalidArgument(f"{name} holds characters that no header can bring", hint="no spaces at its ends")
    return token


def take_variable(name: str) -> str | None:
    """Take a variable out of our environment and that of programs that we start; None if it is missing or empty."""
    FOUND.pop(name, None)
    return os.environ.pop(name, None) or None


def end_in_order() -> None:
    """Let SIGTERM end us as Ctrl-C does, so that the programs we have started end with us."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def is_in_repository() -> bool:
    """Return whether BATON_REPO names a repository, or we stand in one; without reading it."""
    from baton_git.git.store import Repository  # most commands find it later on their own

    return bool(os.environ.get("BATON_REPO")) or Repository.discover(Path.cwd()) is not None


def own_command() -> list[str]:
    """Return the words that start this very baton. `-P`: a folder of the user's project must not be taken for one of
    its modules.
    """
    return [sys.executable, "-P", "-m", "baton_git"]
