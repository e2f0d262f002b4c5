"""Add a signature to a commit object and extract it, byte for byte like git.

signed ::= header* key " " line NL (" " line NL)* NL message       key: "gpgsig"; "gpgsig-sha256" if ids are SHA-256

The signed bytes are the commit without these lines and without the signature for the other hash function.
"""

from __future__ import annotations

import re
from typing import Final

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_LONG_IDS = re.compile(rb"tree [0-9a-f]{64}\n")
_PREFIX: Final = b"gpgsig"


def with_signature(payload: bytes, signature: bytes) -> bytes:
    """Return the commit `payload` with its armored signature as the last header."""
    head, _, message = payload.partition(b"\n\n")
    folded = signature.rstrip(b"\n").replace(b"\n", b"\n ")
    return b"%s\n%s %s\n\n%s" % (head, _key(payload), folded, message)


def without_signature(raw: bytes) -> tuple[bytes, bytes | None]:
    """Return the signed bytes of a commit, and its armored signature or None if it has none for its hash function."""
    head, blank, message = raw.partition(b"\n\n")
    key = _key(raw) + b" "
    payload: list[bytes] = []
    signature: list[bytes] = []
    other_signature: list[bytes] = []
    into = payload
    for line in _LINE.findall(head + blank[:1]):
        if line.startswith(key):
            into = signature
        elif not line.startswith(b" "):
            into = other_signature if line.startswith(_PREFIX) else payload
        into.append(line.removeprefix(key).removeprefix(b" ") if into is signature else line)
    return b"".join(payload) + blank[1:] + message, b"".join(signature) or None


def _key(commit: bytes) -> bytes:
    return b"gpgsig-sha256" if _LONG_IDS.match(commit) else b"gpgsig"
