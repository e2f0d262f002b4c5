"""The patches that Codex CLI's models write: `*** Begin Patch`, then files, each with what becomes of it."""

from __future__ import annotations

import re

_PLACES = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.*\S)", re.MULTILINE)
_LISTED = re.compile(r"^[AMD] (.*\S)", re.MULTILINE)
_KEPT = ("+", " ", "@")
"""What the lines of a patch begin with that are in the file after it, or name a place in it."""
WORKED = "Success. Updated the following files:"


def files_of(patch: str) -> tuple[str, ...]:
    """The files that a patch names, in its order; of one that it moves both names."""
    return tuple(dict.fromkeys(_PLACES.findall(patch)))


def find_patch_code(patch: str) -> str:
    """Return the code that a patch shows of its files after it: the lines that it adds, and those around them."""
    body = patch.partition("*** Begin Patch")[2].partition("*** End Patch")[0]
    kept = (line for line in body.splitlines() if line[:1] in _KEPT)
    return "\n".join(line.removeprefix("@@ ") if line[0] == "@" else line[1:] for line in kept)


def is_patch(text: str) -> bool:
    return "*** Begin Patch" in text


def has_worked(output: str) -> bool:
    """Whether the output of apply_patch, or of a shell that ran it, says that files were changed."""
    return WORKED in output
