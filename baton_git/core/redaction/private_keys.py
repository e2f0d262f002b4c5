r"""Find blocks of private keys: PEM (RFC 7468), OpenSSH, PGP and PuTTY, complete or cut off at either end.

Lines may end in a newline, or in the two characters `\n` if the string contains JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from baton_git.core.redaction.values import lazy_regex

KIND = "private key"
SIGNS = ("private key", "putty-user-key-file")
"""A text that contains none of these, in any letter case, contains no block."""

_LABEL = (
    r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"  # four in the format of ssh.com (RFC 4716 has only public keys)
)
_MOST_OF_A_BLOCK = 64 << 10
"""Maximum number of characters searched before an END line without a BEGIN line."""


def find_blocks(text: str, *, is_list: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each block, in order.

    Args:
        text: the text to search.
        is_list: whether the lines of the text are the items of a list. A block without an END line then ends with the
            last line that looks like part of a key, instead of the end of the text.
    """
    done = 0
    for begin in lazy_regex(
        rf"-{{4,5}} ?BEGIN {_LABEL}|PuTTY-User-Key-File-[23]|(?P<end>-{{4,5}} ?END {_LABEL})"
    ).finditer(text):
        if begin.start() < done:
            continue
        if begin["end"]:
            start, done = _find_start(text, done, begin.start()), begin.end()
        else:
            start, done = begin.start(), _find_end(text, begin, is_list)
        if start is not None:
            yield start, done


def _find_end(text: str, begin: re.Match[str], is_list: bool) -> int:
    is_putty = begin[0].startswith("PuTTY")
    end = lazy_regex(r"Private-MAC: {0,4}[0-9a-f]+" if is_putty else rf"-{{4,5}} ?END {_LABEL}").search(
        text, begin.end()
    )
    next_begin = lazy_regex(rf"-{{4,5}} ?BEGIN {_LABEL}").search(text, begin.end())
    if end and (next_begin is None or end.start() < next_begin.start()):
        return end.end()
    if not is_list:
        return len(text)
    lines = lazy_regex(r"(?:\s+(?:[A-Za-z0-9+/=]{16,}|[\w-]+: [^\n]{0,200})(?=\s|\Z))*").match(text, begin.end())
    return lines.end() if lines else begin.end()


def _find_start(text: str, done: int, end: int) -> int | None:
    """Return the start of the lines of a key before an END line, or None if there are none.

    All lines of a key except the last have at least 16 characters.
    """
    first = max(done, end - _MOST_OF_A_BLOCK)
    start = None
    tokens = [match.span() for match in lazy_regex(r"(?:(?!\\[nr])\S)+").finditer(text, first, end)]
    for number, (at, to) in enumerate(reversed(tokens)):
        if not lazy_regex(r"[A-Za-z0-9+/=]+").fullmatch(text, at, to) or (number and to - at < 16):
            break
        start = at
    return start
