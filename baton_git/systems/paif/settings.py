"""PAIF's settings: `paif_config:` in `.claude/CLAUDE.md`, in a fenced block, in the front matter, or bare.

    paif_config:
      agent_id: "zero"
      session_protocol:
        checkpoint_on_exit: true
        restore_on_start: true
        checkpoint_interval_minutes: 30

A block ends before the first line that is not indented deeper than its first line. A line of text that only mentions
`paif_config:` is ignored. A block without any known setting is ignored too, if another block has one.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from baton_git.core.codecs import yaml
from baton_git.core.errors import BatonError, Fault, InvalidDocument, InvalidName
from baton_git.core.names import AgentId
from baton_git.core.records.base import Flag, Part, Text, Whole, parse

KEY = "paif_config"
MAX_BLOCKS = 50
"""Maximum number of blocks that are examined."""
_BEGIN = re.compile(rf"^(?P<indent>[ \t]*){KEY}[ \t]*:.*$", re.MULTILINE)


class SessionProtocol(Part):
    """What baton does automatically at the start, during and at the end of a session."""

    checkpoint_on_exit: Flag = Field(False, description="Save a checkpoint at the end of a session.")
    restore_on_start: Flag = Field(False, description="Restore the newest checkpoint at the start of a session.")
    checkpoint_interval_minutes: Annotated[Whole, Field(le=525_600)] = Field(
        30, description="Minimum interval of periodic checkpoints; at most a year."
    )


class PaifConfig(Part):
    """PAIF's settings of a work tree; the default values apply to a work tree without settings."""

    agent_id: Text | None = Field(None, description="The agent of this work tree.")
    session_protocol: SessionProtocol = Field(SessionProtocol(), description="Automatic checkpoints and restores.")

    @property
    def checkpoint_on_exit(self) -> bool:
        return self.session_protocol.checkpoint_on_exit

    @property
    def restore_on_start(self) -> bool:
        return self.session_protocol.restore_on_start

    @property
    def interval_minutes(self) -> int:
        return self.session_protocol.checkpoint_interval_minutes


_SETTING = re.compile(
    rf"(?:^[ \t]+|{{[ \t]*|{KEY}[ \t]*:[ \t]*)[\"']?(?:{'|'.join(PaifConfig.model_fields)})[\"']?[ \t]*:(?=\s|$)",
    re.MULTILINE,
)


class _Block(NamedTuple):
    """A block that may hold settings: the number of its first line, its text, and its value or why it is not valid."""

    line: int
    text: str
    value: Any = None
    error: BatonError | None = None

    @property
    def has_settings(self) -> bool:
        """Whether the block has a known setting or, if the block cannot be parsed, seems to have one."""
        if self.error is not None:
            return _SETTING.search(self.text) is not None
        return isinstance(self.value, dict) and not PaifConfig.model_fields.keys().isdisjoint(self.value)

    @property
    def is_prose(self) -> bool:
        """Whether the block is a sentence that happens to start with the key."""
        if self.error is not None:
            first, *others = self.text.strip().splitlines()
            return not others and not first.partition(":")[2].strip().startswith(("{", "["))
        return isinstance(self.value, str)


def parse_config(text: str, *, where: str = "") -> PaifConfig | None:
    """Return the settings in a Markdown text; None if it has none.

    Raises:
        InvalidDocument: the block is not valid YAML, a setting is not valid, or two blocks have settings.
    """
    blocks = [_parse_block(text, begin, where) for begin in islice(_BEGIN.finditer(text), MAX_BLOCKS)]
    chosen = _choose_block(blocks, where)
    if chosen is None:
        return None
    if chosen.error is not None:
        raise chosen.error
    if not isinstance(chosen.value, dict):
        raise InvalidDocument([Fault(KEY, "must be a table")], where=where)
    config = parse(PaifConfig, chosen.value, where=where, at=KEY)
    _check_agent(config.agent_id, where)
    return config


def _choose_block(blocks: list[_Block], where: str) -> _Block | None:
    """Return the only block with settings, else the first block that is not prose; None if there is neither.

    Raises:
        InvalidDocument: several blocks have settings.
    """
    own = [block for block in blocks if block.has_settings]
    if len(own) > 1:
        lines = " and ".join(str(block.line) for block in own[:2])
        hint = "keep one of them; an example can have another name"
        raise InvalidDocument([Fault(KEY, f"occurs twice, in lines {lines}")], where=where, hint=hint)
    return own[0] if own else next((block for block in blocks if not block.is_prose), None)


def _parse_block(text: str, begin: re.Match[str], where: str) -> _Block:
    block = _extract_block(text, begin)
    line = text.count("\n", 0, begin.start()) + 1
    try:
        data = yaml.loads(block, where=where)
    except BatonError as error:
        return _Block(line, block, error=error)
    return _Block(line, block, value=data.get(KEY) if isinstance(data, dict) else None)


def _extract_block(text: str, begin: re.Match[str]) -> str:
    """Return a block without the indentation of its first line, after as many empty lines as precede it in the text, so
    that an error of the YAML parser names the right line."""
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
