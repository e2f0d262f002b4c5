"""Where another program finds a namespace if it is started in a linked work tree."""

from __future__ import annotations

from pathlib import Path


def test_the_branch_is_found_through_commondir_and_not_in_the_work_trees_own_git_directory(baton, git, top):
    """isomorphic-git 1.44.19 follows the file `.git` of a linked work tree, so `currentBranch` is right there, but it
    does not read `commondir`: `listBranches` returns an empty list without an error, and `resolveRef` finds no branch.
    With the common directory as its `gitdir`, it reads the namespace. This is the way that formats/README.md names.
    """
    baton("init")
    baton("followup", "add", "Later", "--id", "FU-1")
    git(top, "worktree", "add", "-q", "../linked")
    linked = top.parent / "linked"
    own = Path((linked / ".git").read_text().removeprefix("gitdir: ").strip())
    common = (own / (own / "commondir").read_text().strip()).resolve()
    assert not (own / "refs/heads/baton/work").exists()
    assert (common / "refs/heads/baton/work").read_text().strip() == git(top, "rev-parse", "baton/work")
    assert common == (top / ".git").resolve() == Path(git(linked, "rev-parse", "--git-common-dir")).resolve()
    assert "FU-1" in baton("list", "followups", cwd=linked).out
