"""Objects that no git would make, written into a bare repository, and a branch that leads to them."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path

from machines import REF

from baton_git.layout import ROOT_FILES

FILE, FOLDER, LINK = b"100644", b"40000", b"120000"


@dataclass(frozen=True)
class Hostile:
    """Somebody who may push to `bare`."""

    bare: Path

    def write(self, kind: str, data: bytes) -> bytes:
        """A loose object; its binary id."""
        raw = b"%s %d\0" % (kind.encode(), len(data)) + data
        digest = hashlib.sha1(raw)
        path = self.bare / "objects" / digest.hexdigest()[:2] / digest.hexdigest()[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(raw, 1))
        return digest.digest()

    def blob(self, data: bytes = b"x") -> bytes:
        return self.write("blob", data)

    def tree(self, *entries: tuple[bytes, bytes, bytes]) -> bytes:
        """A tree with these entries (mode, name, id) in this order."""
        return self.write("tree", b"".join(b"%s %s\0%s" % entry for entry in entries))

    def commit(self, tree: bytes, *parents: str, message: str = "by hand") -> str:
        lines = [f"tree {tree.hex()}", *(f"parent {one}" for one in parents)]
        who = "Mallory <m@example.org> 1700000000 +0000"
        text = "\n".join([*lines, f"author {who}", f"committer {who}", "", message, ""])
        return self.write("commit", text.encode()).hex()

    def tip(self) -> str:
        return (self.bare / REF).read_text().strip()

    def lead_to(self, commit: str) -> str:
        (self.bare / REF).parent.mkdir(parents=True, exist_ok=True)
        (self.bare / REF).write_text(f"{commit}\n")
        return commit

    def root(self, *more: tuple[bytes, bytes, bytes]) -> bytes:
        """The tree of a namespace with these entries as well."""
        ours = [(FILE, name.encode(), self.blob(text)) for name, text in ROOT_FILES.items()]
        return self.tree(*sorted([*ours, *more], key=lambda one: one[1] + b"/" * (one[0] == FOLDER)))

    def push(self, *more: tuple[bytes, bytes, bytes]) -> str:
        """The branch goes on to a tree with these entries."""
        parents = [self.tip()] if (self.bare / REF).exists() else []
        return self.lead_to(self.commit(self.root(*more), *parents))

    def bomb(self, width: int = 100, levels: int = 6) -> tuple[bytes, bytes, bytes]:
        """A folder of `width ** levels` paths in few objects."""
        inside = self.blob()
        mode = FILE
        for _ in range(levels):
            inside = self.tree(*((mode, b"%03d" % number, inside) for number in range(width)))
            mode = FOLDER
        return (FOLDER, b"bomb", inside)
