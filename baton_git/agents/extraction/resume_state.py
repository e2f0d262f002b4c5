"""What was found out of a transcript so far, in a file of its own: so the next look reads only what is new.

The file may be lost or damaged at any time: it is then as if there were none. It stands for one transcript, by its
path, its beginning, and the bytes before the place that was reached. Secrets are taken out before it is written.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from baton_git import __version__
from baton_git.agents.events import EndReached, Position, Tally
from baton_git.agents.extraction.findings import Findings
from baton_git.agents.json_lines import open_transcript
from baton_git.core.errors import BatonError
from baton_git.core.redaction import redact
from baton_git.git.files.atomic_files import read_bytes, write_all

VERSION = 5
_LOOKED_AT = 4096
"""Bytes of the beginning, and before the place that was reached, by which a transcript is known again."""


_IDENTIFIER = re.compile(r"(?:result of )?(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|toolu_\w{1,40})\Z", re.ASCII)


class _Identifiers:
    """The ids of records and calls, in which nobody needs to look for secrets: a long session has tens of thousands."""

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and _IDENTIFIER.match(text) is not None


class ResumeState(NamedTuple):
    """How far an earlier reading came, and what it knew then."""

    end: EndReached
    known: Findings


def load_resume_state(file: Path, transcript: Path, agent: str) -> ResumeState | None:
    """What is remembered of a transcript; None when that is nothing, or not of this one."""
    try:
        text = read_bytes(file)
        check, _, body = text.partition(b"\n")
        if check != sha256(body).hexdigest().encode():
            return None
        data = json.loads(body)
        if data["program"] != [VERSION, __version__] or [data["path"], data["agent"]] != [str(transcript), agent]:
            return None
        place = Position(*data["place"])
        if data["digest"] != _digest(transcript, place.offset):
            return None
        return ResumeState(
            EndReached(place, data["unread"], data["reader"], Tally(*data["tally"])),
            Findings(**{**data["known"], "at": tuple(data["known"]["at"])}),
        )
    except (BatonError, ValueError, KeyError, TypeError):
        return None


def save_resume_state(file: Path, transcript: Path, agent: str, end: EndReached, known: dict[str, Any]) -> None:
    """Keeps how far a transcript was read, without secrets. Raises WriteFailed when the disk says no."""
    reader, _ = redact(dict(end.memory), known=_Identifiers())
    known, _ = redact(known)
    data = {
        "program": [VERSION, __version__],
        "path": str(transcript),
        "agent": agent,
        "place": list(end.place),
        "unread": end.unread,
        "tally": list(end.tally),
        "digest": _digest(transcript, end.place.offset),
        "reader": reader,
        "known": known,
    }
    body = json.dumps(data).encode()
    write_all({file: sha256(body).hexdigest().encode() + b"\n" + body}, mode=0o600)


def _digest(transcript: Path, offset: int) -> str:
    with open_transcript(transcript) as file:
        first = file.read(min(_LOOKED_AT, offset))
        file.seek(max(0, offset - _LOOKED_AT))
        return sha256(first + file.read(min(_LOOKED_AT, offset))).hexdigest()
