"""What is to be checked, and what the checking may know and do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

Argv = tuple[str, ...]


class CheckSpec(NamedTuple):
    """One check. A method reads its own fields; what it needs and does not find makes it `Unknown`.

    Attributes:
        method: a key of `PROBES`.
        expected_status: for `http`; None means 200.
        path: for `file_exists`; relative paths start at `World.folder`, `~` is not expanded.
        process_name: for `process_running`; an exact name.
        host: for `port_open`; None means this machine.
        argv: for `command`; run without a shell.
        commit: for `git_commit`; a revision or the subject of a commit.
        branch: for `git_commit`; None leaves the choice to `World.find_commit`.
        note: for `manual`; what a person is asked to look at.
        timeout_seconds: for the whole check, names and redirects included; > 0.
    """

    method: str
    url: str | None = None
    expected_status: int | None = None
    path: str | None = None
    process_name: str | None = None
    host: str | None = None
    port: int | None = None
    argv: Argv = ()
    commit: str | None = None
    branch: str | None = None
    note: str | None = None
    timeout_seconds: float = 5.0


def nothing_approved(argv: Argv) -> str | None:
    """The answer of a machine on which nobody has approved a command yet."""
    return "not approved on this machine"


@dataclass(frozen=True)
class World:
    """Everything a probe may know from outside, given by the caller; the defaults allow the least.

    Attributes:
        folder: the work tree: relative paths start and commands run here; None when there is none.
        refusal: why exactly this argv may not run on this machine; None when it was approved.
        allow_private_hosts: may `http` and `port_open` reach private networks (10/8, 192.168/16, …)?
        environment: of commands; every `GIT_*` in it, and what holds a secret of baton's, is dropped.
        find_commit: (revision or subject, branch) → full commit id, or None when there is no such commit;
            a `BatonError` from it means that it could not look. None when there is no repository.
        abandoned: set when nobody waits for answers any more; what a check has started must end then.
    """

    folder: Path | None = None
    refusal: Callable[[Argv], str | None] = nothing_approved
    allow_private_hosts: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    find_commit: Callable[[str, str | None], str | None] | None = None
    abandoned: threading.Event = field(default_factory=threading.Event, compare=False)
