"""Every kind of broken baton executable that an installed hook may find."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

_TRACEBACK = "echo '{\"half'; echo Traceback >&2; "
BROKEN: dict[str, tuple[str | None, int]] = {
    "the file is gone": (None, 0),
    "not executable": ("#!/bin/sh\necho no\n", 0o644),
    "the interpreter is gone": ("#!/nowhere/bin/python3\n", 0o755),
    "env finds no interpreter": ("#!/usr/bin/env no-such-python\n", 0o755),
    "a half-finished upgrade": (f"#!{sys.executable} -S\nprint('{{')\nimport no_such_package\n", 0o755),
    "exit 1": (f"#!/bin/sh\n{_TRACEBACK}exit 1\n", 0o755),
    "exit 2": (f"#!/bin/sh\n{_TRACEBACK}exit 2\n", 0o755),
    "exit 70": (f"#!/bin/sh\n{_TRACEBACK}exit 70\n", 0o755),
    "killed": (f"#!/bin/sh\n{_TRACEBACK}kill -9 $$\n", 0o755),
    "hangs": ("#!/bin/sh\necho '{\"half'; sleep 611\n", 0o755),
    "hangs and cannot be asked to end": ("#!/bin/sh\ntrap '' TERM HUP INT; echo x >&2; while :; do :; done\n", 0o755),
}
"""The text and the mode of each broken program, by its fault."""


def spoil(program: Path, what: str) -> None:
    """Install a baton at `program` that is broken in this way."""
    text, mode = BROKEN[what]
    program.unlink(missing_ok=True)
    if text is not None:
        program.write_text(text)
        program.chmod(mode)


def path_without_baton(folder: Path) -> str:
    """Return the PATH without any baton of this machine, which would answer instead of a missing one.

    A folder with a baton is replaced by links to its other programs, in `folder`.
    """
    places = []
    for place in map(Path, os.environ["PATH"].split(os.pathsep)):
        if not os.path.lexists(place / "baton"):
            places.append(place)
            continue
        links = Path(tempfile.mkdtemp(dir=folder))
        for program in place.iterdir():
            if program.name != "baton":
                (links / program.name).symlink_to(program)
        places.append(links)
    return os.pathsep.join(map(str, places))


def put_another_baton_on_the_path(folder: Path) -> str:
    """Return the PATH with a working baton in front, as on a machine where baton or session-baton is installed."""
    folder.mkdir()
    (folder / "baton").write_text("#!/bin/sh\necho '{}'\n")
    (folder / "baton").chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"
