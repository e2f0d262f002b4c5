"""PAIF's settings of the work tree: `paif_config` in `.claude/CLAUDE.md`."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from baton_git.core.errors import BatonError, Fault, InvalidArgument, InvalidDocument, StoreError
from baton_git.interfaces.context.invocation import Call

if TYPE_CHECKING:
    from baton_git.systems.paif.settings import PaifConfig

FILE = ".claude/CLAUDE.md"
MAX_BYTES = 1024 * 1024
"""How much of the file is looked at."""


def paif_config(call: Call) -> PaifConfig | None:
    """Return the settings; None if the file has none. A lenient call names a broken block among the problems.

    Raises:
        InvalidDocument, StoreError: the block cannot be understood, or the file not read.
    """
    try:
        text = _read_text(call)
        if text is None:
            return None
        from baton_git.systems.paif.settings import parse_config  # few have one, and every start would pay for it

        return parse_config(text, where=FILE)
    except BatonError as error:
        if call.settings.problems is None:
            raise
        problem = f"{error}; it is passed over"
        if problem not in call.settings.problems:
            call.settings.problems.append(problem)
        return None


def _read_text(call: Call) -> str | None:
    """Return the text of the file, if it mentions the key."""
    folder = call.settings.folder
    try:
        raw = _read_head(folder / FILE) if folder is not None else b""
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(f"{FILE}: {error.strerror or error}") from error
    if b"paif_config" not in raw.replace(b"\0", b""):  # in UTF-16 each of its letters has a NUL beside it
        return None
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(raw, final=len(raw) < MAX_BYTES)
    except UnicodeDecodeError as error:
        fault = Fault("", f"not UTF-8 text: {error.reason} at byte {error.start}")
        raise InvalidDocument([fault], where=FILE) from None


def _read_head(path: Path) -> bytes:
    """Return the beginning of a regular file; opening anything else might wait for ever."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise StoreError(f"{FILE}: is not a regular file")
        return file.read(MAX_BYTES)


def agent_of(call: Call, config: PaifConfig | None = None) -> str:
    """Return the agent that is meant: --agent, that of the settings, or BATON_AGENT.

    Raises:
        InvalidArgument: none of them names one.
    """
    agent = asked_agent(call, config)
    if agent is None:
        raise InvalidArgument("no agent is named", hint=f"--agent NAME, paif_config.agent_id in {FILE}, or BATON_AGENT")
    return agent


def asked_agent(call: Call, config: PaifConfig | None = None) -> str | None:
    """As `agent_of`; None where none of them names one."""
    if call.settings.asked.agent is not None:
        return call.settings.agent
    config = config or paif_config(call)
    return (config.agent_id if config is not None else None) or call.settings.agent
