"""`file_exists`: is there something at this path?"""

from __future__ import annotations

from pathlib import Path

from baton_git.checks.outcome import Failed, Outcome, Passed, Unknown
from baton_git.checks.specification import CheckSpec, World


def check(spec: CheckSpec, world: World) -> Outcome:
    """Tells existence only, never content: the path may come from another machine.

    `Failed` when nothing is there: a missing file or parent, or a link that leads nowhere. `Unknown` when one
    cannot look: no path given, a relative path without a work tree, no permission, a path that the system refuses
    (too long, a circle of links, a zero byte).
    """
    if not spec.path:
        return Unknown("no path is given")
    path = Path(spec.path)
    if not path.is_absolute():
        if world.folder is None:
            return Unknown(f"{spec.path} is relative, and there is no work tree to look in")
        path = world.folder / path
    return _look(path, spec.path)


def _look(path: Path, shown: str) -> Outcome:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return Failed(f"there is no {shown}")
    except OSError as error:
        return Unknown(f"cannot look at {shown}: {error.strerror}")
    except ValueError as error:  # a zero byte in the path
        return Unknown(f"cannot look at {shown!r}: {error}")
    return Passed()
