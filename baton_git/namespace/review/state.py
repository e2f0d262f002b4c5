"""The decisions of an unfinished review, stored on this machine. Without them the review starts over."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from baton_git.core.errors import Corrupt, WriteFailed
from baton_git.core.names import Namespace, parse_oid
from baton_git.git.files import durable_files
from baton_git.git.store import Edit, Folder, TreeEntry
from baton_git.namespace.sync.tracking_refs import encode_remote


class ReviewDecisions(NamedTuple):
    """The decisions so far.

    Attributes:
        files: by path, the remote's files of all accepted and rejected records; None for a file that it deleted.
        rejected: the ids of the rejected records.
    """

    files: dict[str, Edit]
    rejected: tuple[str, ...]


@dataclass(frozen=True)
class ReviewState:
    """The file with the decisions about one remote's changes to one namespace."""

    path: Path

    @classmethod
    def of(cls, common_dir: Path, remote: str, namespace: Namespace) -> ReviewState:
        return cls(common_dir / "baton" / "review" / encode_remote(remote) / f"{namespace.component}.json")

    def load(self, theirs: Folder) -> ReviewDecisions:
        """Return the decisions about the tree `theirs`; empty if there is no file.

        Raises:
            Corrupt: the file cannot be read. Ignoring that would show rejected records again.
        """
        try:
            data = json.loads(self.path.read_bytes())
            files = {path: None if pair is None else TreeEntry(parse_oid(pair[0]), False, int(pair[1]))
                     for path, pair in data["files"].items()}  # fmt: skip
            # An archived record in a bundle may not exist as a blob of its own; the entry of the tree can be read.
            entries = {path: theirs.entry_at(path) for path in files}
            files = {path: entries[path] if entries[path] == entry else entry for path, entry in files.items()}
            return ReviewDecisions(dict(files), tuple(map(str, data["refused"])))
        except FileNotFoundError:
            return ReviewDecisions({}, ())
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise Corrupt(str(self.path), f"cannot be read ({error})", hint="remove it and review again") from error

    def save(self, files: Mapping[str, Edit], rejected: Collection[str]) -> None:
        """Store the decisions.

        Raises:
            WriteFailed: writing to disk failed.
        """
        entries = {
            path: [entry.oid, entry.mode] if isinstance(entry, TreeEntry) else None for path, entry in files.items()
        }
        data = json.dumps({"files": entries, "refused": list(dict.fromkeys(rejected))}, indent=1).encode()
        with durable_files.writing(f"the decisions of a review in {self.path}"):
            durable_files.make_folder(self.path.parent)
            durable_files.replace_file(self.path, data, mode=0o644)

    def forget(self) -> None:
        """Delete the file.

        Raises:
            WriteFailed: writing to disk failed.
        """
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise WriteFailed(f"{self.path}: {error.strerror}", hint="remove it by hand") from error
