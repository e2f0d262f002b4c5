"""What a check gets, and what it answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

# --- outcomes: separate types, so that an unknown outcome cannot be mistaken for a passed check


@dataclass(frozen=True)
class Passed:
    """The expectation is met. The fields are the evidence: the HTTP status, or the commit that was found."""

    http_status: int | None = None
    commit: str | None = None


@dataclass(frozen=True)
class Failed:
    """The check was made and the expectation is not met."""

    why: str
    http_status: int | None = None
    commit: str | None = None


@dataclass(frozen=True)
class Unknown:
    """The check could not be made; this never counts as passed."""

    why: str
    http_status: int | None = None
    commit: str | None = None


@dataclass(frozen=True)
class NotApproved(Unknown):
    """The check was not made because the user has not approved it on this machine. It is shown, but not stored."""


Outcome = Passed | Failed | Unknown


def no_answer(seconds: float) -> Unknown:
    """Return the outcome of a timeout: `Unknown`, because the target may be slow, filtered by a firewall, or gone."""
    return Unknown(f"no answer within {seconds:g} s")


# --- input: what to check, and what a check may use

Argv = tuple[str, ...]


class CheckSpec(NamedTuple):
    """A check to be made. Each method reads its own fields; if a required field is missing, the outcome is `Unknown`.

    Attributes:
        method: a key of `runner.PROBES`.
        expected_status: for `http`; None means 200.
        path: for `file_exists`; absolute, or relative to `World.folder`; `~` is not expanded here.
        process_name: for `process_running`; an exact name.
        host: for `port_open`; None means this machine.
        argv: for `command`; run without a shell.
        commit: for `git_commit`; a revision or the subject of a commit.
        branch: for `git_commit`; if None, `World.find_commit` chooses the branch.
        note: for `manual`; what a person should check.
        timeout_seconds: time for the whole check, including name lookups and redirects; > 0.
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


def refuse_all(argv: Argv) -> str | None:
    """Refuse every command: the default for `World.refusal`."""
    return "not approved on this machine"


@dataclass(frozen=True)
class World:
    """Everything from outside that a check may use, provided by the caller. The defaults allow the least.

    Attributes:
        folder: the work tree, base of relative paths and current directory of commands; None without a work tree.
        refusal: returns why an argv may not run on this machine, or None if it was approved.
        allow_private_hosts: whether `http` and `port_open` may reach private networks (10/8, 192.168/16, …).
        environment: environment variables of commands, from which `GIT_*` and baton's secrets are removed.
        find_commit: (revision or subject, branch) → full commit id, or None if there is no such commit. It raises
            `BatonError` if the history cannot be searched. The attribute is None without a repository.
        abandoned: set when nobody waits for results any more; checks must then end the programs that they started.
    """

    folder: Path | None = None
    refusal: Callable[[Argv], str | None] = refuse_all
    allow_private_hosts: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    find_commit: Callable[[str, str | None], str | None] | None = None
    abandoned: threading.Event = field(default_factory=threading.Event, compare=False)
