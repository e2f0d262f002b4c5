"""How the packages of an extra are installed beside the running baton."""

from __future__ import annotations

import importlib.metadata
import sys
from importlib.util import find_spec
from pathlib import PurePath

from baton_git.core.output import shell_line

_PACKAGE = "baton-git"


def describe_install(*extras: str) -> str:
    """Return the command that installs the packages of these extras where this baton is installed.

    It names the packages and not the extra: `pip install 'baton-git[http]'` would look for baton itself in an index,
    although it may have been installed from a folder, and would install it for whichever Python `pip` belongs to.
    """
    return shell_line([*_choose_installer(), *_list_packages(extras)])


def _choose_installer() -> list[str]:
    parts = PurePath(sys.prefix).parts
    if parts[-3:-1] == ("pipx", "venvs"):
        return ["pipx", "inject", parts[-1]]
    if find_spec("pip") is None:  # as in the environments of uv
        return ["uv", "pip", "install", "--python", sys.executable]
    return [sys.executable, "-m", "pip", "install"]


def _list_packages(extras: tuple[str, ...]) -> list[str]:
    """Return the requirements of the extras; the extras themselves if baton's metadata is missing, as in a copied
    folder."""
    try:
        required = importlib.metadata.requires(_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        required = []
    marked = [requirement.partition(";") for requirement in required]
    packages = [
        package.strip() for package, _, marker in marked
        if marker.replace("'", '"').strip() in {f'extra == "{extra}"' for extra in extras}
    ]  # fmt: skip
    return packages or [f"{_PACKAGE}[{','.join(extras)}]"]
