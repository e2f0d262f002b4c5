"""A server with permissions per user: gitolite behind a real sshd."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from remote_world import SECONDS, Place
from servers import Served, Server

from baton_git.core.errors import AccessDenied
from baton_git.git.remotes import Push, PushAccepted, PushRefused

pytestmark = pytest.mark.servers

ALICE, BOB, SHARED = (f"refs/heads/baton/{name}" for name in ("alice", "bob", "shared"))

As = Callable[[str, str], Place]


@pytest.fixture
def as_user(gitolite: dict[str, Server], tmp_path, git) -> As:
    """Return a repository of the user `name`, and its remote on the server, which is empty at first."""
    for repository in ("memory", "private"):
        bare = gitolite["alice"].folder / f"{repository}.git"
        for ref in git(bare, "for-each-ref", "--format=%(refname)").split():
            git(bare, "update-ref", "-d", ref)

    def make(name: str, repository: str) -> Place:
        top = tmp_path / f"{name}-{repository}"
        git(tmp_path, "init", "-q", "-b", "main", top.name)
        server = gitolite[name]
        bare = server.folder / f"{repository}.git"
        return Place(top, Served(f"{server.start}/{repository}", bare, server.environment), {})

    return make


def test_each_user_writes_only_where_permitted(as_user: As):
    alice, bob = as_user("alice", "memory"), as_user("bob", "memory")
    hers, his = alice.commit(ALICE, "hers"), bob.commit(BOB, "his")
    assert alice.push(ALICE, hers, None) == PushAccepted()
    assert bob.push(BOB, his, None) == PushAccepted()
    refused = bob.push(ALICE, bob.commit(ALICE, "not his", parents=()), hers)
    assert isinstance(refused, PushRefused)
    assert any("DENIED" in line and ALICE in line for line in refused.server_lines), refused
    assert alice.tip_there(ALICE) == hers
    assert bob.fetch(ALICE, "refs/in/alice") == hers
    shared = bob.commit(SHARED, "shared")
    assert bob.push(SHARED, shared, None) == PushAccepted()
    assert alice.fetch(SHARED, "refs/in/shared") == shared


def test_one_of_two_branches_is_rejected(as_user: As):
    bob = as_user("bob", "memory")
    his, hers = bob.commit(BOB, "his"), bob.commit(ALICE, "hers")
    found = bob.remote().push([Push(BOB, his, None), Push(ALICE, hers, None)], seconds=SECONDS)
    assert found[BOB] == PushAccepted()
    assert isinstance(found[ALICE], PushRefused)
    assert bob.tip_there(ALICE) == ""


def test_a_private_repository_is_closed_to_others(as_user: As):
    alice, bob = as_user("alice", "private"), as_user("bob", "private")
    first = alice.commit(ALICE, "first")
    assert alice.push(ALICE, first, None) == PushAccepted()
    assert alice.fetch(ALICE, "refs/in/alice") == first
    with pytest.raises(AccessDenied) as caught:
        bob.fetch(ALICE, "refs/in/alice")
    assert "DENIED" in str(caught.value)
    with pytest.raises(AccessDenied):
        bob.push(ALICE, bob.commit(ALICE, "x"), None)
