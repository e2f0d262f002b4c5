"""Read PAIF's settings of a work tree: `paif_config` in `.claude/CLAUDE.md`."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from baton_git.core.errors import Fault, FieldHint, InvalidArgument, InvalidDocument, StoreError
from baton_git.core.names import AgentId
from baton_git.namespace.workspace import Workspace

if TYPE_CHECKING:
    from baton_git.systems.paif.settings import PaifConfig

FILE = ".claude/CLAUDE.md"
MAX_BYTES = 1024 * 1024
"""Maximum number of bytes of the file that are read."""


def read_settings(folder: Path | None) -> PaifConfig | None:
    """Return PAIF's settings of a work tree; None if it has none or there is no work tree.

    Raises:
        InvalidDocument: the block of settings is not valid, or the file is not UTF-8 text.
        StoreError: the file cannot be read.
    """
    text = _read_text(folder) if folder is not None else None
    if text is None:
        return None
    from baton_git.systems.paif.settings import parse_config  # loads YAML, and few work trees have settings

    return parse_config(text, where=FILE)


def find_agent(ws: Workspace, agent: str | None, config: PaifConfig | None = None) -> str | None:
    """Return the agent that a verb acts for: the one it names, that of the call, of PAIF's settings, or of BATON_AGENT.

    Args:
        config: PAIF's settings, if they are read already.

    Returns:
        None if none of them names an agent.

    Raises:
        InvalidDocument, StoreError: as `read_settings`.
        InvalidName: BATON_AGENT is not a valid name.
    """
    named = agent or ws.actor.named_agent
    if named or ws.machine is None:
        return named
    config = config or read_settings(ws.folder)
    if config is not None and config.agent_id:
        return config.agent_id
    variable = ws.machine.variables.get("BATON_AGENT")
    return AgentId(variable).text if variable else None


def require_agent(ws: Workspace, agent: str | None, config: PaifConfig | None = None) -> str:
    """Return the same as `find_agent`.

    Raises:
        InvalidArgument: no agent is named.
    """
    found = find_agent(ws, agent, config)
    if found is None:
        hint = FieldHint(f"give {{agent}}, or set BATON_AGENT or paif_config.agent_id in {FILE}")
        raise InvalidArgument("no agent is named", hint=hint)
    return found


def _read_text(folder: Path) -> str | None:
    """Return the beginning of the file, `MAX_BYTES` at most, as text; None without a file or PAIF's key in it."""
    try:
        raw = _read_beginning(folder / FILE)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(f"{FILE}: {error.strerror or error}") from error
    if b"paif_config" not in raw.replace(b"\0", b""):  # in UTF-16, each letter of the key has a NUL byte beside it
        return None
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(raw, final=len(raw) < MAX_BYTES)
    except UnicodeDecodeError as error:
        fault = Fault("", f"not UTF-8 text: {error.reason} at byte {error.start}")
        raise InvalidDocument([fault], where=FILE) from None


def _read_beginning(path: Path) -> bytes:
    """Return the first `MAX_BYTES` of a regular file. Other files are refused: reading a pipe could block forever."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise StoreError(f"{FILE}: is not a regular file")
        return file.read(MAX_BYTES)
