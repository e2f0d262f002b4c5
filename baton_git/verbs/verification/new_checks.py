"""Refuse a new check that can never run, while the person or agent who enters it can still correct it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from baton_git.core.errors import InvalidArgument
from baton_git.core.records.check_methods import CHECK_METHODS
from baton_git.core.records.work_items import VerifySpec


def refuse_impossible_check(check: VerifySpec, folder: Path | None) -> None:
    """Refuse a check that can never run.

    Args:
        folder: the work tree that commands run in; None outside a work tree.

    Raises:
        InvalidArgument: a field that the method needs is missing, an address is not http or https, or the program of a
            command is a whole command line.
    """
    needed = CHECK_METHODS[check.method]
    if check.method != "manual" and not getattr(check, needed):
        raise InvalidArgument(f"a check with method {check.method} needs {needed}")
    if check.method == "http" and check.url:
        _refuse_address(check.url)
    if check.method == "command" and check.argv:
        _refuse_command_line(check.argv, folder)


def _refuse_address(url: str) -> None:
    parts = _split(url)
    if parts is not None and parts.scheme in ("http", "https") and parts.hostname:
        return
    is_bare = "://" not in url and _split(f"http://{url}") is not None and not url.startswith("/")
    hint = f"for example http://{url if is_bare and ('.' in url or ':' in url) else 'localhost:8080/health'}"
    raise InvalidArgument(f"{url[:80]!r} is not an http or https address", hint=hint)


def _split(url: str) -> SplitResult | None:
    """Split an address into its parts; return None if it is malformed."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return None if any(character.isspace() for character in url) else parts


def _refuse_command_line(argv: Sequence[str], folder: Path | None) -> None:
    """Refuse a missing program whose name has a space: most likely a command line that was quoted as a whole."""
    program = argv[0]
    if not any(character.isspace() for character in program) or (
        folder is not None and os.path.exists(folder / program)
    ):
        return
    words = shlex.join((*program.split(), *argv[1:]))
    raise InvalidArgument(
        f"there is no program {program[:80]!r}",
        hint=f"give each word as a separate argument; in a terminal: --verify-command -- {words[:200]}",
    )
