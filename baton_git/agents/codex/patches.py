"""Read the patches that models write in Codex CLI: `*** Begin Patch`, then a section for each file."""

from __future__ import annotations

import re

_FILE_LINES = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.*\S)", re.MULTILINE)
_KEPT = ("+", " ", "@")
"""First characters of lines that are in the file after the patch (`+`, blank) or name a position in it (`@`)."""
WORKED = "Success. Updated the following files:"


def list_patched_files(patch: str) -> tuple[str, ...]:
    """Return the files that a patch names, in its order; for a moved file, the old name and the new one."""
    return tuple(dict.fromkeys(_FILE_LINES.findall(patch)))


def find_patch_code(patch: str) -> str:
    """Return the code in a patch as it is after the change: the added lines, and the lines around them."""
    body = patch.partition("*** Begin Patch")[2].partition("*** End Patch")[0]
    kept = (line for line in body.splitlines() if line[:1] in _KEPT)
    return "\n".join(line.removeprefix("@@ ") if line[0] == "@" else line[1:] for line in kept)


def is_patch(text: str) -> bool:
    return "*** Begin Patch" in text


def has_worked(output: str) -> bool:
    """Whether the output of apply_patch, or of a shell that ran it, reports success."""
    return WORKED in output
