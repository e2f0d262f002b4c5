"""Where a session belongs: the folder that it began in, wherever it has gone since.

The `cwd` of an event moves with the session (`cd`, another work tree, a submodule). What it did must not be kept with
another project, nor that one's state be told.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from baton_git.agents.hook_events.payloads import Payload
from baton_git.agents.registry import AGENTS
from baton_git.core.codecs.nesting import check_nesting

PARENT = "BATON_HOOK_PARENT"
"""The variable in which an installed line tells the process of the CLI; the line's own shell is between them."""
_FIRST_LINE = 1 << 20
"""Bytes: the first record of Codex has the whole of its instructions."""


def home_of(payload: Payload, environment: Mapping[str, str]) -> str:
    """The folder that the session began in, as its agent says; else where it is now."""
    cli = AGENTS[payload.agent]
    for name in cli.folder_variables:
        if environment.get(name):
            return environment[name]
    return (_read_codex_cwd(payload.transcript) if cli.folder_in_transcript else "") or payload.cwd


def _read_codex_cwd(transcript: str) -> str:
    """The folder that a transcript of Codex begins with; empty when it says none."""
    try:
        with open(transcript, "rb") as file:
            line = file.readline(_FIRST_LINE).decode()
        check_nesting(line)
        first = json.loads(line)
    except (OSError, ValueError):
        return ""
    payload = first.get("payload") if isinstance(first, dict) else None
    cwd = payload.get("cwd") if isinstance(payload, dict) else None
    return cwd if isinstance(cwd, str) else ""
