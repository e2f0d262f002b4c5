"""The environment, folders of the user's files, standard streams and signals of this process."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from baton_git.core.child_environment import is_secret_variable, without_secrets
from baton_git.core.errors import InvalidArgument

TOKEN = "BATON_API_TOKEN"  # noqa: S105  the name of a variable
PAGE_TOKEN = "BATON_PAGE_TOKEN"  # noqa: S105  the name of a variable

_SANDBOX = ("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_SESSION_ID")
"""Environment variables of commands that Codex runs; it sets the first two only in some of its sandboxes."""
_SANDBOX_HINT = (
    "Codex's sandbox makes .git read-only. Use baton's MCP tools, which run outside of it (baton agents install codex"
    " --with mcp), or add the .git folder to sandbox_workspace_write.writable_roots in ~/.codex/config.toml"
)

CLOSED = f"{PAGE_TOKEN} is set and {TOKEN} is not, so every request without the page's login is refused"
"""The message of a server that has a token for its page only."""

STARTING_ENVIRONMENT = dict(os.environ)
"""The environment at the start of this process, without the variables that `take_variable` removed."""

_LOCAL_GIT = re.compile(r"GIT_(?!CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)$)")
"""Variables by which a git hook or command binds child processes to its own repository."""

_hidden_tokens: dict[str, str] = {}


def skip_plugin_search() -> None:
    """Prevent pydantic from searching for plugins; baton uses none.

    The search imports `importlib.metadata` and with it `email`, `socket` and `zipfile`, which is a tenth of a command's
    time. PYDANTIC_DISABLE_PLUGINS does not prevent these imports, so the module with the search is replaced. The
    variable is set for versions of pydantic that have the search in another module.
    """
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    search = ModuleType("pydantic.plugin._loader")
    search.__dict__["get_plugins"] = tuple
    sys.modules.setdefault(search.__name__, search)


def mend_streams() -> None:
    """Reopen closed standard streams, and let stdout and stderr accept any text, whatever the locale."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  it stays open
        elif mode == "w":
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def hide_tokens() -> None:
    """Remove tokens from the environment, which child processes inherit; `read_token` still returns them."""
    for name in filter(is_secret_variable, list(os.environ)):
        token = take_variable(name)
        if token is not None:
            _hidden_tokens[name] = token


def child_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a child process: `STARTING_ENVIRONMENT`, or `environment`, without tokens."""
    return without_secrets(STARTING_ENVIRONMENT if environment is None else environment)


def outside_git() -> dict[str, str]:
    """Return the environment for a child process, without the variables that bind git to the repository of a hook."""
    return {name: value for name, value in child_environment(os.environ).items() if not _LOCAL_GIT.match(name)}


def read_token(name: str = TOKEN) -> str | None:
    """Return a token, and remove it from the environment; None if it is missing or empty."""
    return take_variable(name) or _hidden_tokens.get(name)


def read_server_token(name: str = TOKEN) -> str | None:
    """Return the token that a server requires; None if it is not set.

    Raises:
        InvalidArgument: the token contains characters that an HTTP header cannot transport.
    """
    token = read_token(name)
    if token is not None and (token != token.strip() or not token.isprintable()):
        raise InvalidArgument(
            f"{name} contains characters that an HTTP header cannot transport",
            hint="use printable characters, without spaces at the beginning or end",
        )
    return token


def take_variable(name: str) -> str | None:
    """Remove a variable from the environment of this process and of child processes, and return its value; None if it
    is missing or empty."""
    STARTING_ENVIRONMENT.pop(name, None)
    return os.environ.pop(name, None) or None


def interrupt_on_sigterm() -> None:
    """Make SIGTERM raise KeyboardInterrupt, like Ctrl-C, so that child processes are ended too."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def find_sandbox_hint() -> str:
    """Return what works if the sandbox of Codex makes `.git` read-only; empty if Codex does not run this process."""
    return _SANDBOX_HINT if any(os.environ.get(name) for name in _SANDBOX) else ""


def is_in_repository() -> bool:
    """Return whether BATON_REPO is set, or the current folder is in a repository; the repository is not read."""
    from baton_git.git.store import Repository  # slow to import

    return bool(os.environ.get("BATON_REPO")) or Repository.discover(Path.cwd()) is not None


def own_command() -> list[str]:
    """Return the command that starts the running baton. `-P` prevents imports from the current folder."""
    return [sys.executable, "-P", "-m", "baton_git"]


def data_home() -> Path:
    """Return the folder of the user's data of all repositories."""
    named = os.environ.get("XDG_DATA_HOME", "")
    return Path(named) if named.startswith("/") else Path.home() / ".local" / "share"
