"""Save the findings of a transcript in a file, so that the next reading continues where this one stopped.

A damaged file counts as missing. The file belongs to one transcript, identified by its path, its first bytes, and the
bytes before the position that was reached. Secrets are redacted before the file is written.
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

VERSION = 7
_SAMPLE_SIZE = 4096
"""Number of bytes at the start and before the saved position that identify a transcript."""


_IDENTIFIER = re.compile(r"(?:result of )?(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|toolu_\w{1,40})\Z", re.ASCII)


class _Identifiers:
    """Ids of records and calls. They are not searched for secrets, as a long session has tens of thousands of them."""

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and _IDENTIFIER.match(text) is not None


class ResumeState(NamedTuple):
    """The position that an earlier reading reached, and its findings."""

    end: EndReached
    known: Findings


def load_resume_state(file: Path, transcript: Path, agent: str) -> ResumeState | None:
    """Return the saved state of a transcript; None when it is missing, damaged, or of another transcript or version."""
    try:
        text = read_bytes(file)
        check, _, body = text.partition(b"\n")
        if check != sha256(body).hexdigest().encode():
            return None
        data = json.loads(body)
        if data["program"] != [VERSION, __version__] or [data["path"], data["agent"]] != [str(transcript), agent]:
            return None
        position = Position(*data["place"])
        if data["digest"] != _compute_digest(transcript, position.offset):
            return None
        return ResumeState(
            EndReached(position, data["unread"], data["reader"], Tally(*data["tally"])),
            Findings(**{**data["known"], "at": tuple(data["known"]["at"])}),
        )
    except (BatonError, ValueError, KeyError, TypeError):
        return None


def save_resume_state(file: Path, transcript: Path, agent: str, end: EndReached, known: dict[str, Any]) -> None:
    """Save the state of a reading, with secrets redacted. Raises WriteFailed when the file cannot be written."""
    reader, _ = redact(dict(end.memory), known=_Identifiers())
    known, _ = redact(known)
    data = {
        "program": [VERSION, __version__],
        "path": str(transcript),
        "agent": agent,
        "place": list(end.position),
        "unread": end.unread,
        "tally": list(end.tally),
        "digest": _compute_digest(transcript, end.position.offset),
        "reader": reader,
        "known": known,
    }
    body = json.dumps(data).encode()
    write_all({file: sha256(body).hexdigest().encode() + b"\n" + body}, mode=0o600)


def _compute_digest(transcript: Path, offset: int) -> str:
    with open_transcript(transcript) as file:
        first = file.read(min(_SAMPLE_SIZE, offset))
        file.seek(max(0, offset - _SAMPLE_SIZE))
        return sha256(first + file.read(min(_SAMPLE_SIZE, offset))).hexdigest()
