"""ECC's recording files, `ecc.session.recording.v1`: the latest snapshot of a session, and all earlier ones.

    <folder>/<adapter>/<session>.json

In a path, each run of characters other than `A-Za-z0-9._-` in an id becomes one `_`. Different ids can have the same
path, so a reader takes the id from the file's content, and a writer must not overwrite the file of another session.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from baton_git.core.codecs import json
from baton_git.core.errors import BatonError, Fault, InvalidArgument, InvalidDocument, NotFound, shorten
from baton_git.core.records.base import Id, Part, Text, parse
from baton_git.core.times import parse_time
from baton_git.git.files.atomic_files import check_size, read_bytes, reading, show_path
from baton_git.systems.ecc.record import CanonicalSession, explain_extra_field
from baton_git.systems.imported import UnusableEntry

SCHEMA_VERSION = "ecc.session.recording.v1"

MAX_FILES = 10_000
"""Maximum number of recordings in a folder."""


def _check_time(text: str) -> str:
    try:
        parse_time(text)
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not an ISO 8601 time") from None
    return text


Time = Annotated[Text, AfterValidator(_check_time)]


class HistoryEntry(Part):
    """A snapshot, and the time at which it was recorded."""

    model_config = ConfigDict(extra="forbid")

    recordedAt: Time = Field(description="When it was recorded, ISO 8601.")
    snapshot: CanonicalSession = Field(description="The snapshot.")


class Recording(Part):
    """One recording file. Unknown fields are refused, because a record could not store them."""

    model_config = ConfigDict(extra="forbid")

    schemaVersion: Literal["ecc.session.recording.v1"] = Field(
        description="Version of the format: always `ecc.session.recording.v1`."
    )
    adapterId: Id = Field(description="The adapter that made the snapshots.")
    sessionId: Id = Field(description="The session of the snapshots.")
    createdAt: Time = Field(description="When the session was recorded first.")
    updatedAt: Time = Field(description="When the latest snapshot was last seen.")
    latest: CanonicalSession = Field(description="The latest snapshot.")
    history: tuple[HistoryEntry, ...] = Field(description="Snapshots that differ from the one before, oldest first.")

    @model_validator(mode="after")
    def _check_session(self) -> Recording:
        expected = (self.adapterId, self.sessionId)
        snapshots = [
            ("latest", self.latest),
            *((f"history[{n}].snapshot", entry.snapshot) for n, entry in enumerate(self.history)),
        ]
        for path, snapshot in snapshots:
            if (snapshot.adapterId, snapshot.session.id) != expected:
                raise ValueError(
                    f"{path} is of {snapshot.adapterId}/{snapshot.session.id}, not of {'/'.join(expected)}"
                )
        return self


def parse_recording(text: bytes, *, where: str = "") -> Recording:
    """Parse a recording.

    Raises:
        InvalidDocument: the text is not a recording; each fault has its path.
    """
    data = json.loads(text, where=where)
    if not isinstance(data, dict):
        raise InvalidDocument([Fault("", "a recording must be a JSON object")], where=where)
    try:
        return parse(Recording, data, where=where)
    except InvalidDocument as error:
        raise InvalidDocument([_explain_fault(fault) for fault in error.faults], where=where) from error


def _explain_fault(fault: Fault) -> Fault:
    """Return the fault; for an unknown field, name the format that does not have it."""
    is_in_snapshot = fault.path.startswith("latest.") or ".snapshot." in fault.path
    return explain_extra_field(fault, "ecc.session.v1" if is_in_snapshot else SCHEMA_VERSION)


def read_recordings(path: Path) -> list[Recording | UnusableEntry]:
    """Read one recording file, or all files of a folder, sorted by path.

    Raises:
        NotFound: the path does not exist, or contains no recording.
        InvalidDocument: `path` is a single file and not a recording.
        InvalidArgument: the folder has more than `MAX_FILES` files.
        StoreError: the folder cannot be listed.
    """
    if not path.is_dir():
        return [parse_recording(read_bytes(path), where=show_path(path))]
    with reading(path):
        files = sorted(file for pattern in ("*.json", "*/*.json") for file in path.glob(pattern) if file.is_file())
    if not files:
        raise NotFound("recording in", show_path(path), hint="a folder of recordings has files ADAPTER/SESSION.json")
    if len(files) > MAX_FILES:
        raise InvalidArgument(f"{show_path(path)} has {len(files):,} files, the limit is {MAX_FILES:,}")
    return [_read_recording(file) for file in files]


def _read_recording(path: Path) -> Recording | UnusableEntry:
    try:
        return parse_recording(read_bytes(path), where=show_path(path))
    except BatonError as error:
        return UnusableEntry(show_path(path), str(error))


def read_existing(path: Path) -> Recording | UnusableEntry | None:
    """Return the recording at `path`, or the reason why it is not one; None if the path does not exist."""
    return _read_recording(path) if os.path.lexists(path) else None


def encode_recording(recording: Recording) -> bytes:
    """Encode a recording byte for byte as ECC does.

    Raises:
        LimitExceeded: it is too large to be read again.
    """
    text = (json.dumps(recording.as_data()) + "\n").encode()
    check_size(f"the recording of {recording.adapterId}/{recording.sessionId}", len(text))
    return text


def make_recording_path(adapter: str, session: str) -> Path:
    """Return the path of a session's recording, relative to ECC's folder.

    Raises:
        InvalidArgument: the path would lead out of the folder, or is too long.
    """
    folder, name = _make_segment(adapter), f"{_make_segment(session)}.json"
    if folder in (".", "..") or max(len(folder), len(name)) > 255:
        raise InvalidArgument(f"{shorten(f'{adapter}/{session}')} cannot be the name of a file")
    return Path(folder, name)


def _make_segment(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text.strip()).strip("_") or "unknown"
