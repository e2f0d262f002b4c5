"""Search for the user's commits in real repositories."""

from __future__ import annotations

import pytest

from baton_git.core.errors import BatonError
from baton_git.git import source_commits
from baton_git.git.store import Repository, Store


def test_a_commit_is_found_by_id_branch_and_subject(store, git, top):
    head = git(top, "rev-parse", "HEAD")
    for text in (head, head[:9], "main", "first"):
        assert source_commits.find_commit(store, text) == head
    assert source_commits.find_commit(store, "no such subject") is None


def test_a_commit_missing_from_a_shallow_clone_is_unknown(git, top, tmp_path):
    git(top, "commit", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "--depth=1", top.as_uri(), "shallow")
    with Store(Repository.open(tmp_path / "shallow")) as store:
        assert source_commits.find_commit(store, "second") == git(top, "rev-parse", "HEAD")
        with pytest.raises(BatonError, match="shallow"):
            source_commits.find_commit(store, "first")


def test_head_and_light_tags_are_looked_up_and_annotated_tags_and_expressions_are_rejected(store, git, top):
    head = git(top, "rev-parse", "HEAD")
    git(top, "tag", "light")
    git(top, "tag", "-a", "-m", "x", "heavy")
    assert source_commits.find_commit(store, "HEAD") == source_commits.find_commit(store, "light") == head
    for text in ("HEAD~1", "heavy", "main^"):
        with pytest.raises(BatonError):
            source_commits.find_commit(store, text)
