"""Check method `git_commit`: is a commit, or a commit with this subject, on a branch?"""

from __future__ import annotations

from baton_git.checks.outcome import CheckSpec, Failed, Outcome, Passed, Unknown, World
from baton_git.core.errors import BatonError


def check(spec: CheckSpec, world: World) -> Outcome:
    """Search the history of a branch for a commit.

    `Failed` if the commit is not in the history. `Unknown` if no commit is given, there is no repository, or the
    history cannot be read.
    """
    if not spec.commit:
        return Unknown("no commit is given")
    if world.find_commit is None:
        return Unknown("there is no repository to look in")
    try:
        commit = world.find_commit(spec.commit, spec.branch)
    except BatonError as error:
        return Unknown(str(error))
    if commit is None:
        return Failed(f"{spec.commit!r} is not on {spec.branch or 'the branch'}")
    return Passed(commit=commit)
