"""Explain why no adapter opens a path: it does not exist, is a folder, or is another kind of file."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

from baton_git.agents.extraction.extracting import detect_agent
from baton_git.agents.json_lines import parse_object
from baton_git.core.errors import BatonError, Fault, InvalidArgument, InvalidDocument, NotFound, StoreError
from baton_git.git.files.atomic_files import show_path
from baton_git.systems.ecc.adapters.adapter import Surroundings
from baton_git.systems.ecc.adapters.building import read_text

_SUFFIXES = (".json", ".jsonl", ".tmp")
_OTHER_COMMANDS = {
    "ecc.session.v1": ("a snapshot", "to record it: baton session record --file FILE"),
    "ecc.session.recording.v1": ("a recording of ECC", "to import it: baton import ecc FILE"),
}
"""By `schemaVersion`, files that another command opens: the kind of file, and a hint with that command."""


def explain_refusal(value: str, around: Surroundings) -> BatonError | None:
    """Return the error that explains why no adapter opens a target that is a path; None if the target is a name."""
    path = around.cwd / value
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        is_path = "/" in value or path.suffix in _SUFFIXES
        return NotFound("file", show_path(Path(value)), hint=f"no file at {show_path(path)}") if is_path else None
    except OSError as error:
        is_name = error.errno == errno.ENAMETOOLONG
        return None if is_name else StoreError(f"cannot read {show_path(path)}: {error.strerror}", path=show_path(path))
    except ValueError:  # a path cannot contain a zero byte
        return None
    if stat.S_ISREG(mode):
        return _explain_file(path)
    kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
    return InvalidArgument(f"{show_path(path)} is {kind}, not a file", path=show_path(path))


def _explain_file(path: Path) -> BatonError:
    try:
        version = (parse_object(read_text(path)) or {}).get("schemaVersion")
        if isinstance(version, str) and version in _OTHER_COMMANDS:
            kind, hint = _OTHER_COMMANDS[version]
            return InvalidArgument(f"{show_path(path)} is {kind} ({version})", hint=hint, path=show_path(path))
        agent = detect_agent(path)
    except BatonError as error:
        return error
    why = f"is a transcript of {agent}, but its name does not end in .json or .jsonl"
    return InvalidDocument([Fault("", why)], where=show_path(path))
