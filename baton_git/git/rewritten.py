"""Which commits took the place of which, as git's hook post-rewrite said after rebases and amended commits.

The hook appends its lines (`<old> <new>`) to a file of this machine, and shortens it when it is large.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

MAX_STEPS = 100
"""How often in a row a commit may have been rewritten."""
_LINE = re.compile(r"([0-9a-f]{40}(?:[0-9a-f]{24})?) ([0-9a-f]{40}(?:[0-9a-f]{24})?)(?: .*)?")
_ID = re.compile(r"[0-9a-f]{7,64}")


def load_rewritten(common_dir: Path) -> Mapping[str, str]:
    """Return by commit the one that took its place last; none where nothing was rewritten or the file is unreadable."""
    try:
        text = (common_dir / "baton" / "rewritten").read_text(encoding="ascii", errors="replace")
    except OSError:
        return {}
    return {match[1]: match[2] for line in text.splitlines() if (match := _LINE.fullmatch(line))}


def find_newest(rewritten: Mapping[str, str], commit: str) -> str:
    """Return the commit that has the place of `commit` now: `commit` itself where it was not rewritten.

    An abbreviated id is answered with one of the same length; where it fits several rewritten commits, with itself.
    """
    newest = commit
    if _ID.fullmatch(commit) and commit not in rewritten:
        fitting = [old for old in rewritten if old.startswith(commit)]
        newest = fitting[0] if len(fitting) == 1 else commit
    for _ in range(MAX_STEPS):
        following = rewritten.get(newest)
        if following is None or following == newest:
            break
        newest = following
    return newest[: len(commit)]
