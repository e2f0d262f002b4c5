"""PAIF's settings of the work tree: `paif_config` in `.claude/CLAUDE.md`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from baton_git.errors import BatonError, InvalidArgument, StoreError
from baton_git.faces.cli.app import App

if TYPE_CHECKING:
    from baton_git.exchange.paif_config import PaifConfig

FILE = ".claude/CLAUDE.md"
MAX_BYTES = 1024 * 1024
"""How much of the file is looked at."""


def paif_config(app: App) -> PaifConfig | None:
    """The settings; None where the file has none. A call that is lenient names a broken block among the problems.

    Raises:
        InvalidDocument, StoreError: the block cannot be understood, or the file not read.
    """
    try:
        text = _text(app)
        if text is None:
            return None
        from baton_git.exchange.paif_config import parse_config  # few have one, and every start would pay for it

        return parse_config(text, where=FILE)
    except BatonError as error:
        if app.settings.problems is None:
            raise
        said = f"{error}; it is passed over"
        if said not in app.settings.problems:
            app.settings.problems.append(said)
        return None


def _text(app: App) -> str | None:
    """The text of the file, if it says something about this."""
    folder = app.settings.folder
    if folder is None:
        return None
    try:
        with (folder / FILE).open("rb") as file:
            raw = file.read(MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(f"{FILE}: {error.strerror or error}") from error
    if b"paif_config" not in raw:
        return None
    return raw.decode("utf-8-sig", "replace")


def agent_of(app: App, config: PaifConfig | None = None) -> str:
    """The agent that is meant: --agent, BATON_AGENT, or that of the settings.

    Raises:
        InvalidArgument: none of them names one.
    """
    agent = asked_agent(app, config)
    if agent is None:
        raise InvalidArgument("no agent is named", hint=f"--agent NAME, BATON_AGENT, or paif_config.agent_id in {FILE}")
    return agent


def asked_agent(app: App, config: PaifConfig | None = None) -> str | None:
    agent = app.settings.agent
    if agent is None:
        found = config or paif_config(app)
        agent = found.agent_id if found is not None else None
    return agent
