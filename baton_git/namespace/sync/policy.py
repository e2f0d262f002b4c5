"""The user's terms for accepting the commits of a remote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from baton_git.core.errors import InvalidArgument
from baton_git.namespace.provenance.claims import Trusted

Policy = Literal["auto", "review", "signed"]
POLICIES: tuple[Policy, ...] = ("auto", "review", "signed")
Settle = Literal["merge", "theirs", "ours"]


@dataclass(frozen=True)
class Terms:
    """The terms for one remote.

    Attributes:
        policy: `auto`: merge all commits; `review`: leave them for review by a person; `signed`: merge up to the first
            commit that is not signed by an allowed key, and leave the others for review. Under every policy, commits
            that silently revert others wait (unless `settle` is set), and so do commits with a file that is not
            allowed in a namespace.
        trusted: tells whether a commit is signed by an allowed key; None if signing is not configured.
        settle: what to do if the branch was rewritten or deleted on the remote, or if a local commit silently reverts
            others; `ours` settles only a purge here, by replacing the branch of the remote; None: stop and report it.
        lanes: whether to send by lanes (see `lanes`).
        machine: the name of this machine, from which the name of its lane is derived.
        name: the name of the remote in the configuration.
        address: its URL, without credentials.
    """

    policy: Policy = "auto"
    trusted: Trusted | None = None
    settle: Settle | None = None
    name: str = ""
    address: str = ""
    lanes: bool = False
    machine: str | None = None


def parse_policy(text: str | None, where: str) -> Policy:
    """Parse the policy in a setting; `auto` if it is not set.

    Args:
        where: the name of the setting, for the error.

    Raises:
        InvalidArgument: the value is not a policy.
    """
    for policy in POLICIES:
        if text in (policy, None):
            return policy
    raise InvalidArgument(f"{where} is {text!r}, which is not a policy", hint=f"choose one of {', '.join(POLICIES)}")
