"""Describe the commits of a remote that wait for a review, and the command that accepts them, in one line."""

from __future__ import annotations

import shlex

from baton_git.core.output import count_noun
from baton_git.git.remotes import mask_logins
from baton_git.namespace.branch import Branch
from baton_git.namespace.review.queue import count_waiting_records


def describe_waiting(branch: Branch, remote: str, commits: int) -> str:
    """Return one line about the commits of a remote that wait for a review.

    Raises:
        Corrupt: a waiting commit or the file with earlier decisions cannot be read.
    """
    name, records = mask_logins(remote), count_waiting_records(branch, remote)
    counted = f"{count_noun(records, 'record')} of {name} ({count_noun(commits, 'commit')})"
    if not records:  # a dry run does not fetch the commits, so their records are unknown
        counted = f"{count_noun(commits, 'commit')} of {name}"
    is_single = (records or commits) == 1
    pronoun, verb = ("it", "waits") if is_single else ("them", "wait")
    command = f"baton review --remote {shlex.quote(name)}"
    return f"{counted} {verb} for a review: {command} shows {pronoun}, and with --accept-all accepts {pronoun}"
