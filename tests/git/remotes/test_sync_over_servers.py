"""`sync` from end to end, over every kind of server: the changes of two users are merged into one commit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from remote_world import WHO, Place, X
from servers import Served, Server

from baton_git.core.names import Namespace
from baton_git.git.store import Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.remote_settings import RemoteSettings
from baton_git.namespace.workspace import Actor, Workspace
from baton_git.verbs.sharing.sync import Synced, sync
from baton_git.verbs.work_items.loops import add_loop

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)


@contextmanager
def at_work(place: Place, namespace: str = "x") -> Iterator[Workspace]:
    with Store(place.repository) as store:
        actor = Actor(WHO, place.top.name, "claude", place.top.name)
        branch = Branch(store, Namespace(namespace))
        yield Workspace(
            branch, actor, environment=place.environment(), remote_settings=RemoteSettings(remote=place.served.url)
        )


def synced(ws: Workspace) -> Synced:
    done = sync(ws, NOW)
    assert done.offline is None
    return done


def add(ws: Workspace, id_: str) -> None:
    add_loop(ws, NOW, action=f"did {id_}", expect="it works", id=id_)


def test_two_users_come_to_one_commit(both: tuple[Place, Place]) -> None:
    ada, bob = both
    with at_work(ada) as here, at_work(bob) as there:
        add(here, "OL-a")
        add(there, "OL-b")
        assert synced(here).outcomes[0].sent == 2
        done = synced(there).outcomes[0]
        assert (done.received, done.sent, done.error) == (1, 2, None)
        assert synced(here).outcomes[0].sent == 0
        assert here.branch.read().commit == there.branch.read().commit == ada.tip_there(X)
        assert here.branch.read().state.ids("open_loop") == {"OL-a", "OL-b"}


def test_a_push_that_is_overtaken_is_merged_and_sent_again(both: tuple[Place, Place]) -> None:
    ada, bob = both
    with at_work(ada) as here, at_work(bob) as there:
        add(here, "OL-a")
        synced(here)
        synced(there)
        add(here, "OL-c")
        add(there, "OL-d")
        fetched = here.branch.store.tip
        raced = []

        def race(ref: str) -> Any:
            """Bob's push lands between our fetch and our push."""
            if not raced and ref == here.branch.ref:
                raced.append(True)
                synced(there)
            return fetched(ref)

        here.branch.store.tip = race  # type: ignore[method-assign]
        done = synced(here).outcomes[0]
        assert raced
        assert done.error is None
        synced(there)
        assert here.branch.read().commit == there.branch.read().commit == ada.tip_there(X)
        assert here.branch.read().state.ids("open_loop") == {"OL-a", "OL-c", "OL-d"}


@pytest.mark.servers
def test_a_user_without_write_permission_keeps_the_work_and_is_informed(
    gitolite: dict[str, Server], tmp_path, git
) -> None:
    def place(user: str) -> Place:
        git(tmp_path, "init", "-q", "-b", "main", user)
        server = gitolite[user]
        bare = server.folder / "memory.git"
        return Place(tmp_path / user, Served(f"{server.start}/memory", bare, server.environment), {})

    alice, bob = place("alice"), place("bob")
    for ref in git(alice.served.bare, "for-each-ref", "--format=%(refname)").split():
        git(alice.served.bare, "update-ref", "-d", ref)
    with at_work(alice, "alice") as hers, at_work(bob, "alice") as his:
        add(hers, "OL-hers")
        synced(hers)
        synced(his)
        add(his, "OL-his")
        outcome = synced(his).outcomes[0]
        assert "refused" in str(outcome.error)
        assert "DENIED" in str(outcome.error)
        assert outcome.pending == 1
        assert his.branch.read().state.ids("open_loop") == {"OL-hers", "OL-his"}
        assert alice.tip_there("refs/heads/baton/alice") == hers.branch.read().commit
