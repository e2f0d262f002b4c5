"""Read the patches that models write in Codex CLI: `*** Begin Patch`, then a section for each file."""

from __future__ import annotations

import re

_PLACES = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.*\S)", re.MULTILINE)
_LISTED = re.compile(r"^[AMD] (.*\S)", re.MULTILINE)
_KEPT = ("+", " ", "@")
"""First characters of the lines that are in the file afterwards (`+`, blank) or name a position in it (`@`)."""
WORKED = "Success. Updated the following files:"


def files_of(patch: str) -> tuple[str, ...]:
    """Return the files that a patch names, in its order; both names of a moved file."""
    return tuple(dict.fromkeys(_PLACES.findall(patch)))


def find_patch_code(patch: str) -> str:
    """Return the code of the changed files that a patch shows: added lines, and the lines around them."""
    body = patch.partition("*** Begin Patch")[2].partition("*** End Patch")[0]
    kept = (line for line in body.splitlines() if line[:1] in _KEPT)
    return "\n".join(line.removeprefix("@@ ") if line[0] == "@" else line[1:] for line in kept)


def is_patch(text: str) -> bool:
    return "*** Begin Patch" in text


def has_worked(output: str) -> bool:
    """Whether the output of apply_patch, or of a shell that ran it, reports success."""
    return WORKED in output
