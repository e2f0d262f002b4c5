"""The contract of `Remote`, checked with every kind of server."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from remote_world import INCOMING, SECONDS, WHO, Place, X, Y, refs_of

from baton_git.core.errors import AccessDenied
from baton_git.git.remotes import Push, PushAccepted, PushOvertaken, PushRefused
from baton_git.git.store import ReflogEntry, Store

Both = tuple[Place, Place]


def _files(top: Path) -> dict[str, bytes]:
    return {str(path.relative_to(top)): path.read_bytes() for path in sorted(top.rglob("*")) if path.is_file()}


def test_a_branch_travels_to_another_machine_and_back(both: Both, git):
    ada, bob = both
    first = ada.commit(X, "first")
    assert ada.push(X, first, None) == PushAccepted()
    assert ada.tip_there() == first
    assert bob.fetch() == first
    assert bob.tip(INCOMING) == first
    assert git(bob.top, "show", f"{first}:open_loops/first.toml") == "first"
    with bob.store() as store:
        draft = store.draft()
        unrelated = draft.commit(store.commit(first).tree, (), author=WHO, time=0, timezone=0, message="")
        assert store.publish(draft, X, None, unrelated, ReflogEntry(WHO, 0, 0, ""))
    second = bob.commit(X, "second", parents=(first,))
    assert bob.push(X, second, first) == PushAccepted()
    assert ada.fetch() == second
    third = ada.commit(X, "third", parents=(second,))
    assert ada.push(X, third, second) == PushAccepted()
    assert bob.fetch() == bob.tip(INCOMING) == third
    for where in (ada.top, bob.top, ada.served.bare):
        git(where, "fsck", "--strict")


def test_fetching_again_changes_nothing(both: Both):
    ada, bob = both
    ada.push(X, ada.commit(X, "first"), None)
    bob.fetch()
    before = _files(bob.top)
    assert bob.fetch() == ada.tip(X)
    assert _files(bob.top) == before


def test_a_rewound_branch_is_followed(both: Both, git):
    ada, bob = both
    first = ada.commit(X, "first")
    ada.push(X, first, None)
    ada.push(X, ada.commit(X, "second"), first)
    bob.fetch()
    git(ada.served.bare, "update-ref", X, first)
    assert bob.fetch() == bob.tip(INCOMING) == first


def test_a_fetch_accepts_several_refs_patterns_and_refs_that_do_not_exist(both: Both, git):
    ada, bob = both
    tips = {X: ada.commit(X, "x"), Y: ada.commit(Y, "y")}
    assert ada.remote().push([Push(ref, new, None) for ref, new in tips.items()], seconds=SECONDS) == {
        X: PushAccepted(), Y: PushAccepted(),
    }  # fmt: skip
    git(ada.served.bare, "update-ref", "refs/heads/other", tips[X])
    assert bob.fetch_refs({}) == {}
    assert bob.fetch_refs({X + "z": "refs/in/z"}) == {}
    wanted = {X: "refs/in/x", Y: "refs/in/y", X + "1": "refs/in/x1", X + "2": "refs/in/x2"}
    assert bob.fetch_refs(wanted) == tips
    assert bob.fetch_refs({X: "refs/in/x", "refs/heads/none": "refs/in/none"}) == {X: tips[X]}
    assert bob.fetch_refs({"refs/heads/baton/*": "refs/all/*"}) == tips
    assert bob.fetch_refs({"refs/heads/baton/*": "refs/all/*"}) == tips
    assert bob.fetch_refs({"refs/heads/nothing/*": "refs/all/*"}) == {}
    with bob.store() as store:
        assert store.refs("refs/in/") == {"refs/in/x": tips[X], "refs/in/y": tips[Y]}
        assert store.refs("refs/all/") == {"refs/all/x": tips[X], "refs/all/y": tips[Y]}


def test_branches_removed_on_the_remote_are_kept_here(both: Both, git):
    ada, bob = both
    first = ada.commit(X, "first")
    ada.push(X, first, None)
    ada.push(Y, first, None)
    wants = {"refs/heads/baton/*": "refs/all/*"}
    bob.fetch_refs(wants)
    git(ada.served.bare, "update-ref", "-d", Y)
    assert bob.fetch_refs(wants) == {X: first}
    assert bob.tip("refs/all/y") == first


def test_a_push_that_was_overtaken_changes_nothing(both: Both):
    ada, bob = both
    first = ada.commit(X, "first")
    ada.push(X, first, None)
    bob.fetch()
    theirs = ada.commit(X, "second")
    assert ada.push(X, theirs, first) == PushAccepted()
    late = bob.commit(X, "late")
    assert isinstance(bob.push(X, late, first), PushOvertaken)
    assert isinstance(bob.push(X, late, None), PushOvertaken)
    assert isinstance(bob.push(Y, late, first), PushOvertaken)
    assert bob.tip_there() == theirs
    assert bob.tip_there(Y) == ""


def test_pushing_the_current_tip_of_a_branch_is_accepted(both: Both):
    ada, bob = both
    first = ada.commit(X, "first")
    assert ada.push(X, first, None) == PushAccepted()
    assert ada.push(X, first, None) == PushAccepted()
    assert bob.fetch() == first
    assert bob.push(X, first, first) == PushAccepted()


def test_the_output_of_a_hook_that_refuses_is_returned(both: Both):
    ada, _ = both
    ada.served.hook("pre-receive", "echo 'no secrets, please:'; printf 'line 3 of x\\033[31m\\n' >&2; exit 1")
    outcome = ada.push(X, ada.commit(X, "first"), None)
    assert isinstance(outcome, PushRefused)
    assert outcome.why == "pre-receive hook declined"
    assert outcome.server_lines[0] == "no secrets, please:"
    assert outcome.server_lines[1].startswith("line 3 of x")
    assert all(line.isprintable() for line in outcome.server_lines)
    assert ada.tip_there() == ""


def test_a_hook_may_refuse_one_of_two_branches(both: Both):
    ada, _ = both
    ada.served.hook("update", f'[ "$1" = {X} ] || {{ echo not yours; exit 1; }}')
    x, y = ada.commit(X, "x"), ada.commit(Y, "y")
    assert ada.remote().push([Push(X, x, None), Push(Y, y, None)], seconds=SECONDS) == {
        X: PushAccepted(), Y: PushRefused("hook declined", ("not yours", f"error: hook declined to update {Y}")),
    }  # fmt: skip
    assert (ada.tip_there(X), ada.tip_there(Y)) == (x, "")


def test_one_branch_can_lose_a_race_while_another_is_accepted(both: Both):
    ada, bob = both
    ada.push(X, ada.commit(X, "x"), None)
    x, y = bob.commit(X, "other x"), bob.commit(Y, "y")
    found = bob.remote().push([Push(X, x, None), Push(Y, y, None)], seconds=SECONDS)
    assert isinstance(found[X], PushOvertaken)
    assert found[Y] == PushAccepted()


def test_a_servers_rule_against_rewinding_is_a_refusal(both: Both, git):
    ada, _ = both
    git(ada.served.bare, "config", "receive.denyNonFastForwards", "true")
    first = ada.commit(X, "first")
    ada.push(X, first, None)
    unrelated = ada.commit(Y, "unrelated")
    assert isinstance(ada.push(X, unrelated, first), PushRefused)
    assert ada.tip_there() == first


def test_a_branch_below_an_existing_branch_of_the_server_is_refused(both: Both):
    ada, _ = both
    first = ada.commit(X, "first")
    ada.push(X, first, None)
    assert isinstance(ada.push(f"{X}/below", first, None), PushRefused)


def test_a_lock_on_the_server_counts_as_overtaken(both: Both):
    ada, _ = both
    first = ada.commit(X, "first")
    ada.push(X, first, None)
    (ada.served.bare / f"{X}.lock").write_text("")
    assert isinstance(ada.push(X, ada.commit(X, "second"), first), PushOvertaken)
    assert ada.tip_there() == first


def test_the_users_repository_is_unchanged(both: Both, git):
    ada, bob = both
    x = ada.commit(X, "x")
    ada.push(X, x, None)
    git(ada.served.bare, "tag", "-m", "release", "v1", X)
    top = bob.top
    (top / "readme").write_text("hello\n")
    git(top, "add", "readme")
    git(top, "commit", "-q", "-m", "first")
    git(top, "remote", "add", "origin", bob.served.url)
    git(top, "config", "fetch.prune", "true")
    git(top, "config", "fetch.pruneTags", "true")
    git(top, "config", "remote.origin.mirror", "true")
    git(top, "config", "push.followTags", "true")
    git(top, "config", "gc.auto", "1")
    git(top, "tag", "-m", "mine", "v2")
    git(top, "update-ref", "refs/remotes/origin/gone", "HEAD")
    (top / "staged").write_text("staged\n")
    git(top, "add", "staged")
    before, refs = _files(top), refs_of(top)
    remote = bob.remote("origin")
    assert bob.fetch_refs({X: INCOMING}, "origin") == {X: x}
    assert refs_of(top).replace(f"{x} commit\t{INCOMING}\n", "") == refs
    after = _files(top)
    objects = ".git/objects/", ".git/baton/", f".git/{INCOMING}"
    assert {name: data for name, data in after.items() if not name.startswith(objects)} == {
        name: data for name, data in before.items() if not name.startswith(objects)
    }
    assert {name for name in before if name.startswith(objects)} <= set(after)
    with bob.store() as store:
        draft = store.draft()
        new = draft.commit(store.commit(x).tree, [x], author=WHO, time=9, timezone=0, message="more")
        assert store.publish(draft, X, None, new, ReflogEntry(WHO, 9, 0, "more"))
    assert remote.push([Push(X, new, x)], seconds=SECONDS) == {X: PushAccepted()}
    assert git(bob.served.bare, "tag", "-l") == "v1"
    kept = [name for name in before if not name.startswith(objects)]
    again = _files(top)
    assert {name: again[name] for name in kept} == {name: before[name] for name in kept}
    # git itself updates the tracking ref of a named remote after a push; nothing else may be new
    ours = {X, INCOMING, "refs/remotes/origin/baton/x"}
    assert {line.split("\t")[1] for line in refs_of(top).splitlines()} - ours == {
        line.split("\t")[1] for line in refs.splitlines()
    }


@pytest.mark.parametrize("kind", ["path"])
@pytest.mark.slow
def test_sixty_small_fetches_leave_little_behind(both: Both, git):
    ada, bob = both
    tips = [ada.commit(X, f"{number}") for number in range(60)]
    ada.push(X, tips[-1], None)
    for tip in tips:
        git(ada.served.bare, "update-ref", X, tip)
        assert bob.fetch() == tip
    files = [path for path in (bob.top / ".git" / "objects").rglob("*") if path.is_file()]
    assert len([path for path in files if path.suffix == ".pack"]) < 36  # 32 are merged at once
    assert sum(path.stat().st_size for path in files) < 250_000
    assert not [path for path in files if path.name.startswith("tmp") or path.suffix in (".keep", ".lock")]
    git(bob.top, "fsck", "--strict")


@pytest.mark.parametrize("kind", ["http", pytest.param("openssh", marks=pytest.mark.servers)])
@pytest.mark.slow
def test_eight_users_who_push_at_once_lose_nothing(make_place, kind, git):
    places = [make_place(kind, f"p{number}") for number in range(8)]
    deadline = time.monotonic() + 60
    arrived = []

    def add(place: Place) -> None:
        while time.monotonic() < deadline:
            tip = place.fetch()
            with Store(place.repository) as store:
                draft = store.draft()
                base = store.commit(tip).tree if tip else None
                tree = draft.tree(base, {f"a/{place.top.name}": b"x"})
                new = draft.commit(tree, [tip] if tip else [], author=WHO, time=1, timezone=0, message="m")
                assert store.publish(draft, X, store.tip(X), new, ReflogEntry(WHO, 1, 0, "m"))
            if place.push(X, new, tip) == PushAccepted():
                arrived.append(place.top.name)
                return

    threads = [threading.Thread(target=add, args=(place,)) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(arrived) == 8
    there = places[0].served.bare
    assert len(git(there, "ls-tree", "-r", "--name-only", X).split()) == 8
    git(there, "fsck", "--strict")


def test_access_to_a_missing_repository_is_denied(both: Both):
    ada, _ = both
    url = ada.served.url.replace(".git", "-gone.git")
    with pytest.raises(AccessDenied) as caught:
        ada.fetch_refs({X: INCOMING}, url)
    assert caught.value.hint
    assert "s3cr3t" not in str(caught.value)
    with pytest.raises(AccessDenied):
        ada.remote(url).push([Push(X, ada.commit(X, "first"), None)], seconds=SECONDS)
