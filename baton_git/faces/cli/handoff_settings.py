"""The block `autonomous_handoff` of the settings: in the work tree's own file, else in the user's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from baton_git.codecs import yaml
from baton_git.errors import BatonError, Fault, InvalidDocument, NotFound
from baton_git.extraction import Options, parse_options
from baton_git.faces.cli.app import App
from baton_git.foreign import read_head
from baton_git.store import Repository

BLOCK = "autonomous_handoff"
FILE = Path(".baton") / "config.yaml"
MAX_BYTES = 256 * 1024


def handoff_options(app: App, file: Path | None = None) -> Options:
    """The options that the settings say, the work tree's over the user's; a call that is lenient names a broken file
    among the problems and passes it over.

    Args:
        file: is read instead of those that are looked for.

    Raises:
        InvalidDocument, LimitExceeded, StoreError, NotFound: the file cannot be understood, or not read.
    """
    if file is not None:
        return parse_options(block_in(file), where=str(file))
    block: dict[str, Any] = {}
    for one in _places(app):
        try:
            found = block_in(one)
            parse_options(found, where=str(one))
        except NotFound:
            continue
        except BatonError as error:
            if app.settings.problems is None:
                raise
            app.settings.problems.append(f"{error}; it is passed over")
        else:
            block = _over(found or {}, block)
    return parse_options(block)


def _over(upper: Mapping[str, Any], lower: Mapping[str, Any]) -> dict[str, Any]:
    """One block over another; tables in them field by field."""
    both = {
        name: _over(value, lower[name])
        if isinstance(value, Mapping) and isinstance(lower.get(name), Mapping)
        else value
        for name, value in upper.items()
    }
    return {**lower, **both}


def _places(app: App) -> list[Path]:
    """The files, the one that counts most last."""
    named = os.environ.get("XDG_CONFIG_HOME", "")
    user = Path(named) if named.startswith("/") else Path.home() / ".config"
    top = work_tree(app)
    return [user / "baton" / "config.yaml", *([top / FILE] if top is not None else [])]


def work_tree(app: App) -> Path | None:
    """The work tree that is meant; none is made, where there is no repository."""
    named = app.settings.asked.repo or os.environ.get("BATON_REPO")
    found = Repository.open(Path(named)) if named else Repository.discover(Path.cwd())
    return found.work_tree if found is not None else None


def block_in(file: Path) -> Any:
    """The block as a file has it; None where it has none. Raises as `handoff_options` does."""
    raw = read_head(file, MAX_BYTES + 1)
    try:
        data = yaml.loads(raw.decode("utf-8-sig"), where=str(file))
    except UnicodeDecodeError as error:
        fault = Fault("", f"not UTF-8 text: {error.reason} at byte {error.start}")
        raise InvalidDocument([fault], where=str(file)) from None
    if data is not None and not isinstance(data, Mapping):
        raise InvalidDocument([Fault("", "must be a table")], where=str(file))
    return (data or {}).get(BLOCK)
