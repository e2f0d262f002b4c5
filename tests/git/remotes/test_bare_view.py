"""The part of a repository that git sees when it fetches and pushes for baton."""

from __future__ import annotations

import os

from remote_world import INCOMING, SECONDS, X

from baton_git.git.remotes import Push, PushAccepted
from baton_git.git.remotes.git_command import RemoteGit
from baton_git.git.remotes.quarantine import view


def _views(place):
    return list((place.repository.common_dir / "baton").glob("view-*"))


def test_git_sees_the_wanted_refs_only_and_all_objects(make_place, git):
    place = make_place("path")
    first = place.commit(X, "first")
    git(place.top, "update-ref", "refs/heads/other", first)
    program = RemoteGit("git", place.repository, place.environment())
    with view(program, {INCOMING: first}) as shown:
        assert (shown.ask("for-each-ref", "--format=%(refname)") or "").split() == [INCOMING]
        assert shown.ask("cat-file", "-t", first) == "commit\n"
        assert _views(place)
    assert not _views(place)


def test_temporary_views_are_removed_even_if_abandoned(make_place):
    place = make_place("path")
    first = place.commit(X, "first")
    old = place.repository.common_dir / "baton" / "view-old"
    old.mkdir(parents=True)
    os.utime(old, (1, 1))
    assert place.remote().push([Push(X, first, None)], seconds=SECONDS) == {X: PushAccepted()}
    assert place.fetch_refs({X: INCOMING}) == {X: first}
    assert not _views(place)


def test_a_shallow_clone_is_used_without_a_temporary_view(make_place, git):
    place = make_place("path")
    first = place.commit(X, "first")
    (place.repository.common_dir / "shallow").write_text(f"{first}\n")
    program = RemoteGit("git", place.repository, place.environment())
    with view(program, {}) as shown:
        assert shown is program
