"""List id, type and size of all objects in an object folder with `git cat-file`, which expands no contents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from baton_git.core.errors import Corrupt, StoreError
from baton_git.core.names import Oid
from baton_git.git import child_process
from baton_git.git.objects.values import TYPE_NUMBERS

_HEADER: Final = re.compile(r"([0-9a-f]+) (\w+) (\d+)")
_KINDS: Final = {name.decode(): number for name, number in TYPE_NUMBERS.items()}
_COMMAND: Final = ("cat-file", "--batch-all-objects", "--unordered", "--buffer", "--batch-check")
_HARMLESS: Final = "warning: "
"""What git prints before a message about the repository or its settings: it uses promisor remotes, for example, or
core.fsyncObjectFiles is set, which is deprecated since git 2.36. Before one about damage is `error: ` or `fatal: `."""


class Header(NamedTuple):
    """Id, type number and size in bytes of an object."""

    oid: Oid
    kind: int
    size: int


def read_headers(git_dir: Path, folder: Path, environment: Mapping[str, str], seconds: float) -> list[Header]:
    """List the objects in the packs and loose files of `folder`.

    Args:
        git_dir: any git directory with the same object format.
        folder: an object directory. The objects of alternates that its `info/alternates` names are listed, too.
        environment: the variables of git's process; without a PATH, git is looked for in the usual places.

    Raises:
        Corrupt: a pack or a loose object is damaged.
        StoreError: git cannot be started, or did not finish within `seconds`.
    """
    own = {name: text for name, text in environment.items() if not name.startswith("GIT_")}
    own |= {"GIT_OBJECT_DIRECTORY": str(folder), "LC_ALL": "C", "LANGUAGE": "C"}
    own["GIT_NO_REPLACE_OBJECTS"] = "1"  # up to git 2.33, the size would be that of an object in refs/replace
    argv = ["git", f"--git-dir={git_dir}", *_COMMAND]
    try:
        done = child_process.run(argv, own, folder, seconds, most_bytes=child_process.ALL)
    except OSError as error:
        raise StoreError(f"cannot start git: {error.strerror}", hint="install git") from error
    if done is None:
        raise StoreError(f"git cat-file did not finish within {seconds:.3g} seconds")
    found = [_HEADER.fullmatch(line) for line in done.out.splitlines()]
    # git leaves out the objects of a pack that it cannot open, prints why, and ends with 0.
    printed = [line for line in done.err.splitlines() if not line.startswith(_HARMLESS)]
    if done.code != 0 or printed or None in found:
        raise Corrupt("a new object", f"is damaged (git cat-file: {next(iter(printed), 'it cannot be read')})")
    return [Header(Oid(match[1]), _KINDS[match[2]], int(match[3])) for match in found if match]
