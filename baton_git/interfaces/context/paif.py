"""Read PAIF's settings of the work tree: `paif_config` in `.claude/CLAUDE.md`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from baton_git.core.errors import BatonError, InvalidArgument
from baton_git.interfaces.context.invocation import Call
from baton_git.systems.paif.settings_file import FILE, read_settings

if TYPE_CHECKING:
    from baton_git.systems.paif.settings import PaifConfig


def paif_config(call: Call) -> PaifConfig | None:
    """Return PAIF's settings; None if there are none, or a lenient call found invalid ones and added a problem.

    Raises:
        InvalidDocument: the settings are invalid.
        StoreError: the file cannot be read.
    """
    try:
        return read_settings(call.settings.folder)
    except BatonError as error:
        if not call.settings.is_lenient:
            raise
        call.settings.add_problem(error, "it is ignored")
        return None


def require_agent(call: Call, config: PaifConfig | None = None) -> str:
    """Return the agent: that of --agent, of PAIF's settings, or of BATON_AGENT.

    Raises:
        InvalidArgument: none of them names an agent.
    """
    agent = find_named_agent(call, config)
    if agent is None:
        raise InvalidArgument(
            "no agent is named", hint=f"give --agent, or set BATON_AGENT or paif_config.agent_id in {FILE}"
        )
    return agent


def find_named_agent(call: Call, config: PaifConfig | None = None) -> str | None:
    """Return the same as `require_agent`; None if no agent is named."""
    if call.settings.options.agent is not None:
        return call.settings.agent
    config = config or paif_config(call)
    return (config.agent_id if config is not None else None) or call.settings.agent


def fill_agent(call: Call, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an input, with the agent of `require_agent` if they name none."""
    return fields if fields.get("agent") else {**fields, "agent": require_agent(call)}


def fill_checkpoint(call: Call, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a checkpoint, with the agent, and for a periodic one the interval of PAIF's settings."""
    named = fields.get("agent") or call.settings.options.agent
    config = paif_config(call) if fields.get("periodic") or named is None else None
    minutes = {"interval_minutes": config.interval_minutes} if config is not None else {}
    return {**fields, **minutes, "agent": fields.get("agent") or require_agent(call, config)}


FILLS: Mapping[str, Callable[[Call, dict[str, Any]], dict[str, Any]]] = {
    "checkpoint": fill_checkpoint,
    "restore": fill_agent,
    "sessions": fill_agent,
    "identity init": fill_agent,
    "identity show": fill_agent,
    "identity check": fill_agent,
}
"""The functions that complete the fields of verbs from PAIF's settings."""
