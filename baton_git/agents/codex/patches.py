"""The patches that Codex CLI's models write: `*** Begin Patch`, then files, each with what becomes of it."""

from __future__ import annotations

import re

_PLACES = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.*\S)", re.MULTILINE)
_LISTED = re.compile(r"^[AMD] (.*\S)", re.MULTILINE)
WORKED = "Success. Updated the following files:"


def files_of(patch: str) -> tuple[str, ...]:
    """The files that a patch names, in its order; of one that it moves both names."""
    return tuple(dict.fromkeys(_PLACES.findall(patch)))


def is_patch(text: str) -> bool:
    return "*** Begin Patch" in text


def has_worked(output: str) -> bool:
    """Whether the output of apply_patch, or of a shell that ran it, says that files were changed."""
    return WORKED in output
