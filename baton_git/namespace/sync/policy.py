"""The user's terms for accepting commits of a remote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from baton_git.core.errors import InvalidArgument
from baton_git.namespace.provenance.claims import Trusted

Policy = Literal["auto", "review", "signed"]
POLICIES: tuple[Policy, ...] = ("auto", "review", "signed")
Settle = Literal["merge", "theirs"]


@dataclass(frozen=True)
class Terms:
    """The terms for one remote.

    Attributes:
        policy: `auto`: what comes is merged; `review`: it waits for a person; `signed`: it is merged up to the first
            commit without a signature of an allowed key, the rest waits.
        trusted: whether a commit has such a signature; None where signing is not configured.
        settle: what to do with a branch that was rewritten or deleted there; None: stop and say so.
        name, address: what the remote is called here, and where it is, without a login.
    """

    policy: Policy = "auto"
    trusted: Trusted | None = None
    settle: Settle | None = None
    name: str = ""
    address: str = ""


def policy_of(text: str | None, where: str) -> Policy:
    """Parse the policy in a setting; `auto` when it is not set.

    Raises:
        InvalidArgument: it names none.
    """
    for policy in POLICIES:
        if text in (policy, None):
            return policy
    raise InvalidArgument(f"{where} is {text!r}, which is no policy", hint=f"choose one of {', '.join(POLICIES)}")
