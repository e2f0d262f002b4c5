"""Listings of a namespace's records on disk: `<common dir>/baton/outlines/<namespace>/<kind>.json`.

The first line has the version of the file, the version of the program, and the SHA-256 of the second line, which is the
listing (`Listing.as_data`). Any file may be deleted. A file that another version of the
program wrote, or that is damaged, counts as missing.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from baton_git import __version__
from baton_git.core.names import Namespace
from baton_git.core.outlines import FORMAT, Listing, restore_listing
from baton_git.git.files import durable_files

MAX_BYTES = 32 << 20
"""Maximum size of a file: about 200,000 records."""
_MODE = 0o600


class OutlineFiles:
    """The saved listings of one namespace."""

    def __init__(self, common_dir: Path, namespace: Namespace) -> None:
        self.name = namespace.text
        self._common_dir, self._component = common_dir, namespace.component

    @property
    def _folder(self) -> Path:
        return self._common_dir / "baton" / "outlines" / self._component

    def load(self, kind: str) -> Listing | None:
        """Return the listing of a kind that was saved last; None if there is none."""
        try:
            with (self._folder / f"{kind}.json").open("rb") as file:
                head, body = file.readline(200), file.read(MAX_BYTES + 1)
            return restore_listing(kind, json.loads(body)) if head == _make_head(body) else None
        except (OSError, ValueError, RecursionError):
            return None

    def save(self, kind: str, listing: Listing) -> None:
        """Keep a listing in place of the earlier one. Errors of the disk are ignored."""
        body = json.dumps(listing.as_data(), separators=(",", ":")).encode()
        if len(body) > MAX_BYTES:
            return
        durable_files.save_derived(self._folder / f"{kind}.json", _make_head(body) + body, mode=_MODE)


def _make_head(body: bytes) -> bytes:
    return f"{FORMAT} {__version__} {sha256(body).hexdigest()}\n".encode()
