"""Replace the commit ids in a handoff after a rebase or an amended commit."""

from __future__ import annotations

from pathlib import Path

from baton_git.git.rewritten import find_newest, load_rewritten
from baton_git.systems.gobby.record import Handoff


def follow_rewritten(handoff: Handoff, common_dir: Path) -> Handoff:
    """Return the handoff with the current ids of rewritten commits.

    If several of its commits were squashed into one, only the last of them remains.
    """
    commits = handoff.facts.git_commits
    rewritten = load_rewritten(common_dir) if commits else {}
    newest = [find_newest(rewritten, commit.hash) for commit in commits]
    if newest == [commit.hash for commit in commits]:
        return handoff
    kept = {
        hash_ or str(number): commit.as_data() | {"hash": hash_}
        for number, (hash_, commit) in enumerate(zip(newest, commits, strict=True))
    }
    return handoff.replace(facts=handoff.facts.as_data() | {"git_commits": list(kept.values())})
