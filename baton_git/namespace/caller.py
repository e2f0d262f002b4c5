"""Who asks for a change, as the interface knows it: a person who vouches for the command, or anybody else."""

from __future__ import annotations

from typing import Literal, NamedTuple

from baton_git.core.lifecycle import Confirmed
from baton_git.namespace.provenance.labels import Vouching


class Vouched(NamedTuple):
    """Evidence that a person on this machine vouches for the current command: who, and how it was confirmed."""

    by: str
    how: Literal["terminal", "typed", "page", "signature", "client"]


class ChangeCaller(NamedTuple):
    """Who asks for a change, and whose confirmations count on this machine.

    Neither field has a default, so that no caller is taken for a person, or a record for unconfirmed, by omission.

    Attributes:
        person: the confirmation of a person; None for an agent, a program, and anybody who may be one.
        vouching: whose confirmations count besides those made on this machine.
    """

    person: Confirmed | Vouched | None
    vouching: Vouching
