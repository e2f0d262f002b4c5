"""Objects that git would never make, written into a bare repository, and a branch that refers to them."""

from __future__ import annotations

import hashlib
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

from machines import REF

from baton_git.core.layout import ROOT_FILES

FILE, FOLDER, LINK = b"100644", b"40000", b"120000"


@dataclass(frozen=True)
class Hostile:
    """An attacker who may push to `bare`."""

    bare: Path

    def write(self, kind: str, data: bytes) -> bytes:
        """Write a loose object and return its binary id."""
        raw = b"%s %d\0" % (kind.encode(), len(data)) + data
        digest = hashlib.sha1(raw)
        path = self.bare / "objects" / digest.hexdigest()[:2] / digest.hexdigest()[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(raw, 1))
        return digest.digest()

    def blob(self, data: bytes = b"x") -> bytes:
        return self.write("blob", data)

    def tree(self, *entries: tuple[bytes, bytes, bytes]) -> bytes:
        """Write a tree with these entries (mode, name, id) in this order."""
        return self.write("tree", b"".join(b"%s %s\0%s" % entry for entry in entries))

    def commit(self, tree: bytes, *parents: str, message: str = "by hand") -> str:
        lines = [f"tree {tree.hex()}", *(f"parent {one}" for one in parents)]
        who = "Mallory <m@example.org> 1700000000 +0000"
        text = "\n".join([*lines, f"author {who}", f"committer {who}", "", message, ""])
        return self.write("commit", text.encode()).hex()

    def tip(self) -> str:
        return (self.bare / REF).read_text().strip()

    def move_branch(self, commit: str) -> str:
        (self.bare / REF).parent.mkdir(parents=True, exist_ok=True)
        (self.bare / REF).write_text(f"{commit}\n")
        return commit

    def root(self, *more: tuple[bytes, bytes, bytes]) -> bytes:
        """Write the tree of a namespace with these additional entries."""
        ours = [(FILE, name.encode(), self.blob(text)) for name, text in ROOT_FILES.items()]
        return self.tree(*sorted([*ours, *more], key=lambda one: one[1] + b"/" * (one[0] == FOLDER)))

    def push(self, *more: tuple[bytes, bytes, bytes]) -> str:
        """Add a commit with a tree of these entries to the branch."""
        parents = [self.tip()] if (self.bare / REF).exists() else []
        return self.move_branch(self.commit(self.root(*more), *parents))

    def entries(self, commit: str) -> list[tuple[bytes, bytes, bytes]]:
        """Return the entries of the root tree of a commit."""
        done = subprocess.run(["git", "-C", str(self.bare), "ls-tree", commit], capture_output=True, check=True)
        rows = [line.partition(b"\t")[::2] for line in done.stdout.splitlines()]
        heads = [(head.split(), name) for head, name in rows]
        return [(mode.lstrip(b"0"), name, bytes.fromhex(oid.decode())) for (mode, _, oid), name in heads]

    def bomb(self, width: int = 100, levels: int = 6) -> tuple[bytes, bytes, bytes]:
        """Return a tree entry for a folder with `width ** levels` paths in few objects."""
        inside = self.blob()
        mode = FILE
        for _ in range(levels):
            inside = self.tree(*((mode, b"%03d" % number, inside) for number in range(width)))
            mode = FOLDER
        return (FOLDER, b"bomb", inside)

    def delta_bomb(self, size: int, times: int) -> tuple[bytes, bytes]:
        """Write two blobs in a small pack: zeros, and a delta that copies them repeatedly; return their binary ids."""
        copy = bytes([0xF0]) + size.to_bytes(3, "little")
        delta = _varint(size) + _varint(size * times) + copy * times
        first = _entry_head(3, size) + zlib.compress(bytes(size))
        second = _entry_head(6, len(delta)) + _offset(len(first)) + zlib.compress(delta)
        pack = b"PACK" + (2).to_bytes(4, "big") + (2).to_bytes(4, "big") + first + second
        path = self.bare / "objects" / "pack" / "pack-b0b0.pack"
        path.write_bytes(pack + hashlib.sha1(pack).digest())
        subprocess.run(["git", "index-pack", str(path)], check=True, capture_output=True)
        sizes = (size, size * times)
        base, result = (hashlib.sha1(b"blob %d\0" % one + bytes(one)).digest() for one in sizes)
        return base, result


def _entry_head(kind: int, size: int) -> bytes:
    head = [kind << 4 | size & 15]
    size >>= 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    return bytes(head)


def _varint(number: int) -> bytes:
    parts = [number & 0x7F]
    while number := number >> 7:
        parts[-1] |= 0x80
        parts.append(number & 0x7F)
    return bytes(parts)


def _offset(back: int) -> bytes:
    parts = [back & 0x7F]
    while back := back >> 7:
        back -= 1
        parts.insert(0, 0x80 | back & 0x7F)
    return bytes(parts)
