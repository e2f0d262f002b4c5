"""Read the settings `autonomous_handoff` from `.baton/config.yaml` of the work tree and from the user's own file.

The work tree's file may come from somebody else, so it can only restrict the user's settings, or choose the format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from baton_git.agents.extraction import Options, parse_options
from baton_git.core.codecs import yaml
from baton_git.core.errors import BatonError, Fault, InvalidDocument, NotFound
from baton_git.git.files.atomic_files import read_head
from baton_git.systems.gobby.project_files import read_project_file

BLOCK = "autonomous_handoff"
FILE = ".baton/config.yaml"
MAX_BYTES = 256 * 1024


def read_handoff_options(
    top: Path | None,
    config: Path,
    file: Path | None = None,
    *,
    ignore: Callable[[BatonError], None] | None = None,
) -> Options:
    """Return the options for extracting facts.

    Args:
        top: the work tree, if there is one.
        config: the folder of the user's configuration files.
        file: the file to read instead of the work tree's and the user's.
        ignore: called with the error of an invalid file, which is then ignored; None to raise it.

    Raises:
        InvalidDocument, InvalidArgument, LimitExceeded: a file is invalid or too large.
        StoreError: a file cannot be read.
        NotFound: `file` does not exist.
    """
    if file is not None:
        return parse_options(read_block(file), where=str(file))
    own = _read_valid_block(config / "baton" / "config.yaml", None, ignore)
    return parse_options(_restrict(_read_valid_block(top / FILE, top, ignore), own) if top is not None else own)


def _read_valid_block(file: Path, top: Path | None, ignore: Callable[[BatonError], None] | None) -> Mapping[str, Any]:
    """Return the block of a file; empty if the file or the block is missing. Raises as `read_handoff_options` does."""
    try:
        block = read_block(file, top)
        parse_options(block, where=str(file))
    except NotFound:
        return {}
    except BatonError as error:
        if ignore is None:
            raise
        ignore(error)
        return {}
    return block or {}


def _restrict(project: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the project's block, restricted by the user's own: a setting that is off in `own` is off, and of two
    numbers the smaller is used."""
    restricted = {**own, **project}
    for name, own_value in own.items():
        value = project.get(name)
        if isinstance(own_value, Mapping):
            restricted[name] = _restrict(value if isinstance(value, Mapping) else {}, own_value)
        elif own_value is False:
            restricted[name] = False
        elif isinstance(own_value, int) and own_value is not True:
            restricted[name] = min(own_value, value) if isinstance(value, int) else own_value
    return restricted


def read_block(file: Path, top: Path | None = None) -> Any:
    """Return the block of a file, not validated; None if the file has none.

    Args:
        top: the top folder of the work tree, if `file` is the project's file; then no symbolic link is followed.

    Raises:
        InvalidDocument: the file is not a YAML table, or not UTF-8.
        LimitExceeded, StoreError, NotFound: the file is too large, cannot be read, or does not exist.
    """
    raw = read_head(file, MAX_BYTES + 1) if top is None else read_project_file(top, FILE, MAX_BYTES + 1)
    try:
        data = yaml.loads(raw.decode("utf-8-sig"), where=str(file))
    except UnicodeDecodeError as error:
        fault = Fault("", f"not UTF-8 text: {error.reason} at byte {error.start}")
        raise InvalidDocument([fault], where=str(file)) from None
    if data is not None and not isinstance(data, Mapping):
        raise InvalidDocument([Fault("", "must be a table")], where=str(file))
    return (data or {}).get(BLOCK)
