"""Outlines of a namespace's records on disk: `<common dir>/baton/outlines/<namespace>/<kind>.json`.

The first line has the version of the file, the version of the program, and the SHA-256 of the second line, which maps
the blob ids of records to the values of their outlines. Any file may be deleted. A file that another version of the
program wrote, or that is damaged, counts as missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from baton_git import __version__
from baton_git.core.names import Namespace, Oid
from baton_git.core.outlines import FORMAT
from baton_git.git.files import durable_files

MAX_BYTES = 32 << 20
"""Maximum size of a file: about 300,000 outlines."""
_MODE = 0o600


class OutlineFiles:
    """The saved outlines of one namespace."""

    def __init__(self, common_dir: Path, namespace: Namespace) -> None:
        self._folder = common_dir / "baton" / "outlines" / namespace.component

    def load(self, kind: str) -> Mapping[Oid, object]:
        """Return the values of the outlines of a kind, by the blob id of the record's file; empty if there are none."""
        try:
            with (self._folder / f"{kind}.json").open("rb") as file:
                head, body = file.readline(200), file.read(MAX_BYTES + 1)
            outlines = json.loads(body) if head == _make_head(body) else {}
        except (OSError, ValueError, RecursionError):
            return {}
        return outlines if isinstance(outlines, dict) else {}

    def save(self, kind: str, outlines: Mapping[Oid, object]) -> None:
        """Keep the values of the outlines of a kind in place of the earlier ones. Errors of the disk are ignored."""
        body = json.dumps(outlines, separators=(",", ":")).encode()
        if len(body) > MAX_BYTES:
            return
        path = self._folder / f"{kind}.json"
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        with suppress(OSError):
            durable_files.make_folder(self._folder)
            durable_files.write_new(fresh, _make_head(body) + body, mode=_MODE, sync=False)
            fresh.replace(path)
        durable_files.remove(fresh)


def _make_head(body: bytes) -> bytes:
    return f"{FORMAT} {__version__} {sha256(body).hexdigest()}\n".encode()
