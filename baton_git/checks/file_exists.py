"""Check method `file_exists`: does this path exist?"""

from __future__ import annotations

from pathlib import Path

from baton_git.checks.outcome import CheckSpec, Failed, Outcome, Passed, Unknown, World


def check(spec: CheckSpec, world: World) -> Outcome:
    """Check that the path exists. The file is not opened, because the path may come from another machine.

    `Failed` if the file or a parent folder is missing, or the path is a dangling symbolic link. `Unknown` if this
    cannot be determined: no path, a relative path without a work tree, no permission, or a path that the system
    rejects (too long, a cycle of links, a NUL character).
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
    except ValueError as error:  # a NUL character in the path
        return Unknown(f"cannot look at {shown!r}: {error}")
    return Passed()
