"""Find the project of a session: the folder in which the session started.

The `cwd` of an event is the session's current folder, which may be elsewhere (after `cd`, in another work tree or in a
submodule). If it were used, the session's facts could be saved in another project, and its context taken from there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from baton_git.agents.hook_events.payloads import Payload
from baton_git.agents.registry import AGENTS
from baton_git.core.codecs.nesting import check_nesting

PARENT = "BATON_HOOK_PARENT"
"""The environment variable in which an installed hook line passes the process id of the agent CLI (the parent of the
line's shell)."""
_FIRST_LINE = 1 << 20
"""Maximum number of bytes read; Codex's first record contains all of its instructions."""


def find_start_folder(payload: Payload, environment: Mapping[str, str]) -> str:
    """Return the folder in which the session started if the agent CLI reports it; else its current folder."""
    cli = AGENTS[payload.agent]
    for name in cli.folder_variables:
        if environment.get(name):
            return environment[name]
    return (_read_codex_cwd(payload.transcript) if cli.folder_in_transcript else "") or payload.cwd


def _read_codex_cwd(transcript: str) -> str:
    """Return the folder named in the first record of a Codex transcript; empty when there is none."""
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
