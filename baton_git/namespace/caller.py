"""Who asks for a change, as the interface knows it: a person who vouches for the command, or anybody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from baton_git.core.lifecycle import Confirmed
from baton_git.git.store import CommitInfo


class Vouched(NamedTuple):
    """Evidence that a person on this machine vouches for the current command: who, and how it was confirmed."""

    by: str
    how: Literal["terminal", "typed", "page", "signature", "client"]


class Vouching(NamedTuple):
    """Whose confirmations count here besides those made on this machine.

    Attributes:
        signed: tells whether a commit is signed by an allowed key; None if no keys are configured.
        trusts_remote: tells whether the user trusts the remote at an address.
    """

    signed: Callable[[CommitInfo], bool] | None = None
    trusts_remote: Callable[[str], bool] = lambda url: False


class ChangeCaller(NamedTuple):
    """Who asks for a change, and whose confirmations count on this machine.

    Neither field has a default, so that no caller is taken for a person, or a record for unconfirmed, by omission.

    Attributes:
        person: the confirmation of a person; None for an agent, a program, and anybody who may be one.
        vouching: whose confirmations count besides those made on this machine.
    """

    person: Confirmed | Vouched | None
    vouching: Vouching
