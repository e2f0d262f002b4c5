"""PAIF's settings, `paif_config:` in `.claude/CLAUDE.md`: in a fence, in the front matter, or bare.

    paif_config:
      agent_id: "zero"
      session_protocol:
        checkpoint_on_exit: true
        restore_on_start: true
        checkpoint_interval_minutes: 30

The block goes from that line to the first one that is not indented deeper.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

from baton_git.codecs import yaml
from baton_git.errors import Fault, InvalidDocument, InvalidName
from baton_git.names import AgentId
from baton_git.records.base import Flag, Part, Text, Whole, parse

KEY = "paif_config"
_BEGIN = re.compile(rf"^(?P<indent>[ \t]*){KEY}[ \t]*:.*$", re.MULTILINE)


class SessionProtocol(Part):
    """What happens by itself."""

    checkpoint_on_exit: Flag = Field(False, description="Whether the end of a session writes a checkpoint.")
    restore_on_start: Flag = Field(False, description="Whether the start of a session restores the newest one.")
    checkpoint_interval_minutes: Annotated[Whole, Field(le=525_600)] = Field(
        30, description="How far apart periodic checkpoints are, at least; at most a year."
    )


class PaifConfig(Part):
    """PAIF's settings of a work tree; the defaults are those of a work tree without any."""

    agent_id: Text | None = Field(None, description="The agent that works here.")
    session_protocol: SessionProtocol = Field(SessionProtocol(), description="What happens by itself.")

    @property
    def checkpoint_on_exit(self) -> bool:
        return self.session_protocol.checkpoint_on_exit

    @property
    def restore_on_start(self) -> bool:
        return self.session_protocol.restore_on_start

    @property
    def interval_minutes(self) -> int:
        return self.session_protocol.checkpoint_interval_minutes


def parse_config(text: str, *, where: str = "") -> PaifConfig | None:
    """The settings that a Markdown text holds; None where it holds none.

    Raises:
        InvalidDocument: the block is not YAML, a setting does not fit, or there are two blocks.
    """
    found = list(_BEGIN.finditer(text))
    if not found:
        return None
    if len(found) > 1:
        lines = " and ".join(str(text.count("\n", 0, one.start()) + 1) for one in found[:2])
        raise InvalidDocument([Fault(KEY, f"is there twice, in lines {lines}")], where=where)
    data = yaml.loads(_block(text, found[0]), where=where)
    value = data.get(KEY) if isinstance(data, dict) else None
    if not isinstance(value, dict):
        raise InvalidDocument([Fault(KEY, "must be a table")], where=where)
    config = parse(PaifConfig, value, where=where, at=KEY)
    _check_agent(config.agent_id, where)
    return config


def _block(text: str, begin: re.Match[str]) -> str:
    """The lines of the block, less the indentation of the first, each with the number that it has in the text."""
    indent = begin["indent"]
    before = [""] * text.count("\n", 0, begin.start())
    lines = [*before, begin[0].removeprefix(indent).rstrip()]
    for line in text[begin.end() :].split("\n")[1:]:
        if line.strip() and not (line.startswith(indent) and line[len(indent) : len(indent) + 1] in (" ", "\t", "#")):
            break
        lines.append(line.removeprefix(indent).rstrip("\r"))
    return "\n".join(lines)


def _check_agent(agent: str | None, where: str) -> None:
    try:
        if agent is not None:
            AgentId(agent)
    except InvalidName as error:
        raise InvalidDocument([Fault(f"{KEY}.agent_id", str(error))], where=where) from None
