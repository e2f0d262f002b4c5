"""The signature inside a commit: put in and taken out, byte for byte as git does it.

signed ::= header* key " " line NL (" " line NL)* NL message       key: "gpgsig", with SHA-256 ids "gpgsig-sha256"

What was signed is the commit without these lines, and without those of a signature for ids of the other kind.
"""

from __future__ import annotations

import re
from typing import Final

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_LONG_IDS = re.compile(rb"tree [0-9a-f]{64}\n")
_PREFIX: Final = b"gpgsig"


def with_signature(payload: bytes, signature: bytes) -> bytes:
    """The commit `payload` with an armored signature of it as its last header."""
    head, _, message = payload.partition(b"\n\n")
    folded = signature.rstrip(b"\n").replace(b"\n", b"\n ")
    return b"%s\n%s %s\n\n%s" % (head, _key(payload), folded, message)


def without_signature(raw: bytes) -> tuple[bytes, bytes | None]:
    """What was signed, and the armored signature; None when the commit has none that goes with its ids."""
    head, blank, message = raw.partition(b"\n\n")
    key = _key(raw) + b" "
    payload: list[bytes] = []
    signature: list[bytes] = []
    foreign: list[bytes] = []
    into = payload
    for line in _LINE.findall(head + blank[:1]):
        if line.startswith(key):
            into = signature
        elif not line.startswith(b" "):
            into = foreign if line.startswith(_PREFIX) else payload
        into.append(line.removeprefix(key).removeprefix(b" ") if into is signature else line)
    return b"".join(payload) + blank[1:] + message, b"".join(signature) or None


def _key(commit: bytes) -> bytes:
    return b"gpgsig-sha256" if _LONG_IDS.match(commit) else b"gpgsig"
