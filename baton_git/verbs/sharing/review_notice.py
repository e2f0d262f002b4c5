"""Describe the commits of a remote that wait, and the command with which a person reviews them, in one line."""

from __future__ import annotations

import shlex

from baton_git.core.output import count_noun
from baton_git.git.remotes import mask_logins
from baton_git.namespace.branch import Branch
from baton_git.namespace.review.queue import count_waiting_records

_MOST_COUNTED = 500
"""Maximum number of commits whose records are counted: a start counted the 85,000 records of a new clone for 40 s."""


def describe_waiting(branch: Branch, remote: str, commits: int) -> str:
    """Return one line about the commits of a remote that wait for a review. Very many may also wait for a sync only.

    Raises:
        Corrupt: a waiting commit or the file with earlier decisions cannot be read.
    """
    name = mask_logins(remote)
    if commits > _MOST_COUNTED:
        return (
            f"{commits:,} commits of {name} are not merged: baton sync merges them, or says why they wait for "
            f"baton review --remote {shlex.quote(name)}"
        )
    records = count_waiting_records(branch, remote)
    counted = f"{count_noun(records, 'record')} of {name} ({count_noun(commits, 'commit')})"
    if not records:  # a dry run does not fetch the commits, so their records are unknown
        counted = f"{count_noun(commits, 'commit')} of {name}"
    is_single = (records or commits) == 1
    verb = "waits" if is_single else "wait"
    return f"{counted} {verb} for a person's review: baton review --remote {shlex.quote(name)}"
