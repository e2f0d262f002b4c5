"""Who asks for a change, as the interface knows it: a person who vouches for the command, or anybody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from baton_git.core.lifecycle import Confirmed
from baton_git.core.output import flat
from baton_git.git.store import CommitInfo

How = Literal["terminal", "typed", "page", "signature", "client"]
"""Where and how a person confirmed something."""


class Vouched(NamedTuple):
    """Evidence that a person on this machine vouches for the current command: who, and how it was confirmed."""

    by: str
    how: How


class ShownRule(NamedTuple):
    """A rule as a person was shown it: the id and the failure of its pattern, and its text."""

    pattern: str
    rule: str
    what: str


class ConfirmQuestion(NamedTuple):
    """What a person is asked before a verb does what only a person may do. Each interface asks it in its own way.

    Attributes:
        about: lines about the records concerned, as they are now.
        effect: what happens if the person confirms; empty if `about` says it.
        typed: the text that confirms.
        rule: the rule that is confirmed, if one is.
        is_typing_enough: whether somebody confirms by typing the command at a terminal where no agent types.
    """

    about: tuple[str, ...]
    effect: str = ""
    typed: str = "yes"
    rule: ShownRule | None = None
    is_typing_enough: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """What is asked, as lines of text without control characters."""
        return (*map(flat, self.about), *(("", flat(self.effect)) if self.effect else ()))

    @property
    def prompt(self) -> str:
        return f"Type {flat(self.typed)} to confirm"

    def is_confirmed_by(self, text: str) -> bool:
        """Return whether a person's input confirms; the case counts only in ids."""
        return text.strip() == self.typed or text.strip().lower() == self.typed == "yes"

    def confirm(self, by: str, how: How) -> Confirmed | Vouched:
        """Return the confirmation of the person who answered."""
        if self.rule is None or how == "typed":
            return Vouched(by, how)
        return Confirmed(by, how, *self.rule)


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
