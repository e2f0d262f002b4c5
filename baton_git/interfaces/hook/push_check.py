"""The check of a push in a server's hook `pre-receive`, and the short way to accept one.

The short way makes the same checks as the command `baton hooks run pre-receive`, without the imports that the command
line needs, which take longer than the checks. It only ever accepts: if a check has anything against the push, or fails,
the command runs, checks the push again and reports.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from baton_git.git.store import Store
from baton_git.interfaces.context.settings import CommonOptions, Settings
from baton_git.namespace.ingest.budget import PUSHED
from baton_git.namespace.ingest.server import Refusal, check_ref_updates, parse_ref_updates


def accepts_push(arguments: Sequence[str]) -> bool:
    """Return whether the push on standard input is accepted, given the arguments of the command after the hook's name.

    Standard input can be read again afterwards.
    """
    if len(arguments) != 2 or arguments[0] != "--repo":
        return False
    lines = sys.stdin.read()
    sys.stdin = io.StringIO(lines)
    try:
        return next(find_push_refusals(Settings(CommonOptions(arguments[1])), lines), None) is None
    except Exception:  # noqa: BLE001  the command meets it, too, and reports it as it reports every error
        return False


def find_push_refusals(settings: Settings, lines: str) -> Iterator[Refusal]:
    """Yield the reasons for refusing a push, given the lines that git passes to the hook.

    Raises:
        BatonError: a setting is invalid, or the push cannot be checked.
    """
    if settings.fault is not None:
        raise settings.fault
    folders = _find_object_folders()
    with Store(settings.repository, more_objects=folders, environment=settings.environment) as store:
        yield from check_ref_updates(
            store, settings.prefix, parse_ref_updates(lines),
            trusted=settings.remote_settings.signature_check(store), may_rewrite=settings.allows_rewrite,
            quarantine=next(iter(folders), None), budget=PUSHED.within(settings.remote_settings.limits),
        )  # fmt: skip


def _find_object_folders() -> list[Path]:
    """Return git's object folders during a push that is not accepted yet: its quarantine first, then the alternates."""
    named = [os.environ.get("GIT_OBJECT_DIRECTORY", "")]
    named += os.environ.get("GIT_ALTERNATE_OBJECT_DIRECTORIES", "").split(os.pathsep)
    return [Path(folder) for folder in named if folder]
