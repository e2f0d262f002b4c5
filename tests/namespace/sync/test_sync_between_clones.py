"""Machines that sync with one remote: results, reports, and the data that a sync must not touch."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from going_back import undo_revision
from machines import INCOMING, REF, SEEN, Machine, loop, sync_until_equal

from baton_git.core.errors import Busy, InvalidArgument, NeedsHuman, NotAllowed, NotFound, Unsettled
from baton_git.core.names import Oid
from baton_git.core.state import Key
from baton_git.git.refs.kept_refs import kept_name
from baton_git.git.remotes import PushOvertaken, open_remote
from baton_git.git.store import TreeEntry
from baton_git.namespace.machine_state import HookMarkers
from baton_git.namespace.remote_selection import select_automatic_remote
from baton_git.namespace.sync.actions import Terms
from baton_git.namespace.sync.synchronise import SyncOptions, synchronise
from baton_git.verbs.sessions.session_start import begin_session
from baton_git.verbs.sharing.auto_sync import sync_at_end, sync_at_start
from baton_git.verbs.sharing.remotes import set_remote_policy
from baton_git.verbs.sharing.sync import describe_sync
from baton_git.verbs.upkeep.namespace_status import read_status
from baton_git.verbs.work_items.followups import finish_follow_up

Pair = tuple[Machine, Machine]
Make = Callable[..., Machine]


def kinds(outcome) -> list[str]:
    return [one.kind for one in outcome.actions]


def hook(bare: Path, name: str, text: str) -> None:
    file = bare / "hooks" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


# --- ordinary syncs


def test_the_first_sync_creates_the_remote_branch(ada: Machine) -> None:
    ada.loop("OL-1")
    done = ada.sync()
    assert kinds(done) == ["create"]
    assert (done.sent, done.pending) == (2, 0)
    assert ada.git("ls-remote", "origin", REF).split()[0] == ada.tip == ada.store.tip(SEEN)


def test_another_machine_receives_the_remote_branch(pair: Pair) -> None:
    ada, bob = pair
    assert bob.files() == ada.files()


def test_the_merge_commit_of_a_sync_does_not_count_as_received(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-ada")
    ada.sync()
    bob.loop("OL-bob")
    done = bob.sync()
    assert "merge" in kinds(done)
    assert (done.received, done.sent) == (1, 2)


def test_new_remote_commits_are_fast_forwarded(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-2")
    ada.sync()
    done = bob.sync()
    assert kinds(done) == ["forward"]
    assert done.received == 1
    assert bob.tip == ada.tip


def test_diverged_branches_are_merged_and_pushed(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-2")
    bob.loop("OL-3")
    ada.sync()
    done = bob.sync()
    assert kinds(done) == ["merge", "send"]
    assert done.sent == 2
    ada.sync()
    assert ada.tip == bob.tip
    assert ada.get("open_loop", "OL-3")
    assert ada.get("open_loop", "OL-2")


def test_equal_branches_need_no_sync(pair: Pair) -> None:
    ada, _ = pair
    ada.sync()
    before = ada.git("for-each-ref")
    done = ada.sync()
    assert kinds(done) == ["nothing"]
    assert ada.git("for-each-ref") == before
    assert describe_sync(ada.run_sync()) == []


def test_a_sync_of_two_empty_repositories_succeeds(ada: Machine) -> None:
    done = ada.sync()
    assert kinds(done) == ["nothing"]
    assert ada.tip is None


def test_independently_created_namespaces_are_merged(ada: Machine, bob: Machine) -> None:
    ada.loop("OL-1")
    bob.loop("OL-2")
    ada.sync()
    bob.sync()
    sync_until_equal(ada, bob)
    assert ada.get("open_loop", "OL-1")
    assert ada.get("open_loop", "OL-2")
    assert ada.git("rev-list", "--max-parents=0", REF).split() == [bob.git("rev-list", "--max-parents=0", REF)]


def test_three_machines_converge_to_one_commit(make: Make) -> None:
    machines = [make(name) for name in ("ada", "bob", "eve")]
    for one in machines:
        one.loop(f"OL-{one.name}")
        one.follow_up("FU-1")
        one.defer("FU-1")
    sync_until_equal(*machines)
    assert all(one.get("open_loop", f"OL-{other.name}") for one in machines for other in machines)
    before = [one.tip for one in machines]
    assert [kinds(one.sync()) for one in machines] == [["nothing"]] * 3
    assert [one.tip for one in machines] == before


def test_counters_of_both_sides_add_up(pair: Pair) -> None:
    ada, bob = pair
    ada.defer("FU-1")
    bob.defer("FU-1")
    bob.defer("FU-1")
    sync_until_equal(ada, bob)
    assert ada.get("follow_up", "FU-1").defer_count == 3


def test_a_conflict_shows_both_values(pair: Pair) -> None:
    ada, bob = pair
    ada.change("open_loop", "OL-1", action="deployed here")
    bob.change("open_loop", "OL-1", action="deployed there")
    ada.sync()
    done = bob.sync()
    assert len(done.conflicts) == 1
    sync_until_equal(ada, bob)
    assert ada.list_conflicting_fields() == bob.list_conflicting_fields() == [("OL-1", "action")]


def test_two_records_under_one_id_both_stay(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-2", "deployed the shop")
    bob.loop("OL-2", "cleaned the disk")
    ada.sync()
    titles = {"ada": "deployed the shop", "bob": "cleaned the disk"}
    for done, here, there in ((bob.sync(), "bob", "ada"), (ada.sync(), "ada", "bob")):
        [new_id] = [id_ for id_ in ada.state.ids("open_loop") | bob.state.ids("open_loop") if id_.startswith("OL-2.")]
        assert done.renamed == {"OL-2": new_id}
        ids = {bob.get("open_loop", id_).action: id_ for id_ in ("OL-2", new_id)}
        ours, theirs = (f'("{titles[name]}") has' for name in (here, there))
        assert f"the one that was here {ours} the id {ids[titles[here]]} now, " in done.notes[0]
        assert done.notes[0].endswith(f"the one from origin {theirs} {ids[titles[there]]}")
    sync_until_equal(ada, bob)
    said = {one.action for one in ada.state.records(type(ada.get("open_loop", "OL-2")))}
    assert {"deployed the shop", "cleaned the disk"} <= said


# --- all namespaces


def test_all_pulls_namespaces_that_only_the_remote_has(pair: Pair) -> None:
    ada, bob = pair
    other = ada.ws.branch.find_sibling("refs/heads/baton/y")
    assert other is not None
    other.create(ada.ws.stamp("init", ada.clock()))
    ada.run_sync(everything=True)
    done = bob.run_sync(everything=True)
    assert [one.namespace for one in done.outcomes] == ["x", "y"]
    assert bob.store.tip("refs/heads/baton/y") == ada.store.tip("refs/heads/baton/y")


def test_a_sync_without_all_fetches_only_its_own_branch(pair: Pair) -> None:
    ada, bob = pair
    other = ada.ws.branch.find_sibling("refs/heads/baton/y")
    assert other is not None
    other.create(ada.ws.stamp("init", ada.clock()))
    ada.run_sync(everything=True)
    bob.sync()
    assert not [ref for ref in bob.store.refs("refs/") if ref.endswith("/y")]


def test_a_source_code_branch_under_the_prefix_does_not_stop_the_sync_of_all_namespaces(pair: Pair) -> None:
    ada, bob = pair
    ada.git("commit", "-q", "--allow-empty", "-m", "code")
    ada.git("push", "-q", "origin", "HEAD:refs/heads/baton/zoo")
    ada.loop("OL-2")
    ada.sync()
    done = bob.run_sync(everything=True)
    errors = {one.namespace: one.error for one in done.outcomes}
    assert errors == {"x": None}
    assert bob.tip == ada.tip


# --- dry runs


def test_a_dry_run_shows_the_plan_and_changes_no_branch(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-2")
    bob.loop("OL-3")
    ada.sync()
    before = (bob.tip, bob.store.tip(SEEN), ada.git("ls-remote", "origin"))
    done = bob.sync(dry_run=True)
    assert kinds(done) == ["merge", "send"]
    assert (bob.tip, bob.store.tip(SEEN), ada.git("ls-remote", "origin")) == before
    assert [one.kind for one in bob.sync().actions] == ["merge", "send"]


def test_a_dry_run_of_a_first_sync_creates_nothing(ada: Machine) -> None:
    ada.loop("OL-1")
    assert kinds(ada.sync(dry_run=True)) == ["create"]
    assert ada.git("ls-remote", "origin") == ""


# --- races and refusals


class Overtaking:
    """A remote to which others push first: before each push, the next of `turns` is called."""

    def __init__(self, remote, turns) -> None:
        self.remote, self.turns, self.name = remote, list(turns), "origin"

    def fetch(self, wants, **more):
        return self.remote.fetch(wants, **more)

    def push(self, moves, *, seconds):
        if self.turns:
            self.turns.pop(0)()
        return self.remote.push(moves, seconds=seconds)


def run(one: Machine, remote, **more):
    stamp = one.ws.stamp("sync", one.clock())
    [done] = synchronise([one.ws.branch], remote, "origin", Terms(), stamp, SyncOptions(**{"seconds": 30, **more}))
    return done


def test_a_sync_that_loses_a_race_merges_and_pushes_again(pair: Pair) -> None:
    ada, bob = pair
    bob.loop("OL-bob")

    def faster(number: int) -> Callable[[], None]:
        def turn() -> None:
            ada.pull()
            ada.loop(f"OL-ada-{number}")
            ada.push()

        return turn

    remote = open_remote(bob.store.repository, "origin", bob.ws.environment)
    done = run(bob, Overtaking(remote, [faster(1), faster(2)]))
    assert done.error is None
    assert bob.git("ls-remote", "origin", REF).split()[0] == bob.tip
    assert {"OL-bob", "OL-ada-1", "OL-ada-2", "OL-1"} == bob.state.ids("open_loop")
    assert kinds(done) == ["send"]


class AlwaysFaster(Overtaking):
    def push(self, moves, *, seconds):
        return {move.ref: PushOvertaken("somebody was faster") for move in moves}


def test_a_sync_that_loses_every_race_fails_with_busy(pair: Pair) -> None:
    _, bob = pair
    bob.loop("OL-2")
    remote = open_remote(bob.store.repository, "origin", bob.ws.environment)
    done = run(bob, AlwaysFaster(remote, []), seconds=1)
    assert isinstance(done.error, Busy)
    assert done.pending == 1
    assert bob.sync().sent == 1


def test_a_local_write_during_the_push_counts_as_unsent(pair: Pair) -> None:
    _, bob = pair
    bob.loop("OL-2")
    remote = open_remote(bob.store.repository, "origin", bob.ws.environment)
    done = run(bob, Overtaking(remote, [lambda: bob.loop("OL-3")]))
    assert (done.sent, done.pending) == (1, 1)
    assert HookMarkers(bob.store.repository.common_dir).unsent.all() == ["x"]


def test_a_rejected_push_shows_the_servers_message(pair: Pair, bare: Path) -> None:
    ada, _ = pair
    hook(bare, "pre-receive", "echo 'not on a Sunday' >&2; exit 1")
    ada.loop("OL-2")
    done = ada.try_sync()
    assert isinstance(done.error, NotAllowed)
    assert not isinstance(done.error, Unsettled)
    assert "not on a Sunday" in str(done.error)
    assert done.pending == 1
    (bare / "hooks" / "pre-receive").unlink()
    assert ada.sync().sent == 1


# --- offline


def test_an_unreachable_remote_is_not_an_error(pair: Pair, tmp_path: Path) -> None:
    ada, _ = pair
    ada.loop("OL-2")
    ada.loop("OL-3")
    away = tmp_path / "away.git"
    (tmp_path / "origin.git").rename(away)
    ada.git("remote", "set-url", "origin", "git://127.0.0.1:1/x.git")
    done = ada.run_sync()
    assert done.offline
    assert done.pending == 2
    assert "working offline, 2 commits pending" in describe_sync(done)[0]
    ada.git("remote", "set-url", "origin", str(away))
    assert ada.sync().sent == 2


def test_sessions_without_a_remote_report_nothing(tmp_path: Path, ada: Machine) -> None:
    ada.git("remote", "remove", "origin")
    ada.loop("OL-1")
    assert list(sync_at_start(ada.ws, ada.clock())) == []
    assert list(sync_at_end(ada.ws, ada.clock()).lines) == []
    with pytest.raises(NotFound):
        ada.run_sync()


def test_automatic_sync_pushes_only_to_remotes_that_have_the_branch(ada: Machine) -> None:
    ada.loop("OL-1")
    assert select_automatic_remote(ada.ws) is None
    assert list(sync_at_end(ada.ws, ada.clock()).lines) == []
    assert ada.git("ls-remote", "origin") == ""


def test_a_branch_that_was_synced_once_is_synced_automatically(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-2")
    assert list(sync_at_end(ada.ws, ada.clock()).lines) == ["1 commit sent to origin"]
    assert list(sync_at_start(bob.ws, bob.clock())) == ["1 commit came in from origin"]
    assert bob.get("open_loop", "OL-2")


def test_a_clone_fetched_by_git_is_synced_automatically(pair: Pair, make: Make) -> None:
    eve = make("eve")
    eve.git("fetch", "-q", "origin")
    assert select_automatic_remote(eve.ws) == "origin"
    begun = begin_session(eve.ws, eve.clock())
    assert eve.get("open_loop", "OL-1")
    assert "came in from origin" in begun.news[0]


def test_autosync_false_disables_automatic_sync(pair: Pair) -> None:
    ada, _ = pair
    ada.set_remotes(automatic=False)
    ada.loop("OL-2")
    assert list(sync_at_end(ada.ws, ada.clock()).lines) == []


def test_the_start_of_a_session_pushes_nothing(pair: Pair) -> None:
    ada, _ = pair
    ada.loop("OL-2")
    before = ada.git("ls-remote", "origin")
    sync_at_start(ada.ws, ada.clock())
    assert ada.git("ls-remote", "origin") == before


# --- marker files for hooks


def test_the_marker_files_say_what_is_unsent_and_which_checks_a_commit_can_settle(pair: Pair) -> None:
    ada, bob = pair
    marks = HookMarkers(ada.store.repository.common_dir)
    assert marks.unsent.all() == []
    ada.loop("OL-2", verify={"method": "file_exists", "path": "readme"})
    assert marks.unsent.all() == marks.due.all() == ["x"]
    ada.sync()
    assert marks.unsent.all() == []
    bob.sync()
    assert HookMarkers(bob.store.repository.common_dir).due.all() == ["x"]
    assert HookMarkers(bob.store.repository.common_dir).unsent.all() == []


# --- branches rewritten or deleted on the remote


@pytest.fixture
def rewritten(pair: Pair) -> Pair:
    """Let Bob force the remote's branch back by two commits and add new commits."""
    ada, bob = pair
    ada.loop("OL-lost")
    ada.loop("OL-lost-too")
    ada.sync()
    bob.loop("OL-instead")
    bob.push("--force")
    return ada, bob


def test_a_rewritten_branch_stops_the_sync_with_a_hint(rewritten: Pair) -> None:
    ada, _ = rewritten
    before = ada.git("for-each-ref", REF, SEEN, "refs/baton-backup")
    for _ in range(2):  # the second sync stops as well
        done = ada.try_sync()
        assert kinds(done) == ["stop"]
        assert isinstance(done.error, Unsettled)
        assert "without 2 commits that it had" in str(done.error)
        assert "--settle merge" in done.error.hint
        assert "--settle theirs" in done.error.hint
    assert ada.git("for-each-ref", REF, SEEN, "refs/baton-backup") == before


def test_a_session_starts_and_reports_a_rewritten_remote_branch(rewritten: Pair) -> None:
    ada, _ = rewritten
    begun = begin_session(ada.ws, ada.clock())
    assert any("rewritten" in one for one in begun.news)


def test_settle_merge_combines_both_branches(rewritten: Pair) -> None:
    ada, bob = rewritten
    ada.sync(settle="merge")
    bob.sync()
    sync_until_equal(ada, bob)
    assert {"OL-1", "OL-lost", "OL-lost-too", "OL-instead"} == bob.state.ids("open_loop")


def test_settle_theirs_drops_removed_commits_and_keeps_unsent_ones(rewritten: Pair) -> None:
    ada, bob = rewritten
    ada.loop("OL-unsent")
    was = ada.tip
    ada.sync(settle="theirs")
    assert {"OL-1", "OL-instead", "OL-unsent"} == ada.state.ids("open_loop")
    [backup] = ada.store.refs("refs/baton-backup/").values()
    assert backup == was
    bob.sync()
    sync_until_equal(ada, bob)


def test_settle_theirs_does_not_touch_a_branch_that_was_not_rewritten(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-2")
    bob.loop("OL-3")
    bob.sync()
    was = ada.tip
    ada.sync(settle="theirs")
    assert ada.store.is_ancestor(was, ada.tip)
    assert not ada.store.refs("refs/baton-backup/")


def test_a_dry_run_of_settle_shows_the_plan(rewritten: Pair) -> None:
    ada, _ = rewritten
    before = ada.git("for-each-ref", REF, SEEN, "refs/baton-backup")
    done = ada.sync(settle="theirs", dry_run=True)
    assert kinds(done) == ["reset"]
    foreseen = {(change.id, change.action) for change in done.changes}
    assert foreseen == {("OL-lost", "removed"), ("OL-lost-too", "removed"), ("OL-instead", "added")}
    assert {change.id for change in ada.sync(settle="merge", dry_run=True).changes} == {"OL-instead"}
    assert ada.git("for-each-ref", REF, SEEN, "refs/baton-backup") == before


def test_a_branch_deleted_on_the_remote_stops_the_sync_too(pair: Pair) -> None:
    ada, bob = pair
    bob.git("push", "-q", "origin", f":{REF}")
    ada.loop("OL-2")
    done = ada.try_sync()
    assert isinstance(done.error, Unsettled)
    assert ada.git("ls-remote", "origin", REF) == ""
    done = ada.try_sync(settle="theirs")
    assert isinstance(done.error, Unsettled)
    assert ada.git("ls-remote", "origin", REF) == ""
    ada.sync(settle="merge")
    assert ada.git("ls-remote", "origin", REF).split()[0] == ada.tip


# --- accidental reverts


def test_a_remote_manual_revert_waits_even_below_later_commits(pair: Pair) -> None:
    ada, bob = pair
    old = ada.files()
    ada.loop("OL-2")
    ada.sync()
    bob.sync()
    bob.by_hand({"open_loops/OL-2.toml": None}, "commit -a in a stale work tree")
    assert bob.files() == old
    bob.loop("OL-3")
    bob.push()
    done = ada.sync()
    assert kinds(done) == ["wait"]
    assert ada.get("open_loop", "OL-2")
    assert ada.list_waiting() == ["OL-2", "OL-3"]


def test_a_reverted_revert_does_not_wait(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-2")
    ada.sync()
    bob.sync()
    bob.by_hand({"open_loops/OL-2.toml": None})
    undo_revision(bob.ws, bob.clock(), str(bob.ws.branch.read().number))
    bob.sync()
    assert kinds(ada.sync()) == ["forward"]
    assert ada.get("open_loop", "OL-2")


def test_a_local_manual_revert_is_not_pushed_silently(pair: Pair) -> None:
    ada, _ = pair
    ada.loop("OL-2")
    ada.by_hand({"open_loops/OL-2.toml": None})
    done = ada.try_sync()
    assert isinstance(done.error, Unsettled)
    assert "baton undo" in done.error.hint
    assert ada.sync(settle="merge").pending == 0


# --- names of remotes and policies


@pytest.mark.parametrize("name", ["Origin", "a-b.c", "up/stream", "Ünï"])
def test_a_remote_of_any_name_shows_what_waits_and_is_pending(pair: Pair, bare: Path, name: str) -> None:
    ada, bob = pair
    bob.loop("OL-2")
    bob.sync()
    ada.git("remote", "add", name, str(bare))
    ada.set_remotes(policies={name: "review"}, remote=name)
    ada.sync()
    ada.loop("OL-3")
    found = read_status(ada.ws, ada.clock.now)
    assert (name, 1) in [(one.remote, one.commits) for one in found.waiting]
    assert name in found.pending


def test_an_address_can_replace_a_remote_name(pair: Pair, bare: Path) -> None:
    ada, bob = pair
    bob.loop("OL-2")
    bob.sync()
    done = ada.sync(remote=str(bare))
    assert done.received == 1
    assert ada.tip == bob.tip
    assert read_status(ada.ws, ada.clock.now).waiting == ()


def test_an_invalid_policy_is_reported_before_anything_happens(pair: Pair) -> None:
    ada, bob = pair
    bob.loop("OL-2")
    bob.sync()
    ada.set_policy("reviewed")
    was = ada.git("for-each-ref")
    with pytest.raises(InvalidArgument, match=r"remote\.origin\.batonPolicy"):
        ada.run_sync()
    assert ada.git("for-each-ref") == was
    assert any("batonPolicy" in one for one in sync_at_start(ada.ws, ada.clock()))
    with pytest.raises(NeedsHuman, match=r"reviewed .* counts as review"):
        set_remote_policy(ada.ws, ada.clock(), remote="origin", policy="auto")
    assert set_remote_policy(ada.ws, ada.clock(), remote="origin", policy="review").previous == "reviewed"


# --- the user's data is not touched


def snapshot(top: Path) -> dict[str, bytes]:
    """Return all files that a sync must not change: work tree, index, HEAD, FETCH_HEAD, config, and all refs but
    baton's."""
    found = {}
    for path in sorted(top.rglob("*")):
        name = path.relative_to(top).as_posix()
        ours = name.startswith((".git/objects", ".git/baton", ".git/refs/baton", ".git/refs/heads/baton", ".git/logs"))
        if path.is_file() and not ours:
            found[name] = path.read_bytes()
    return found


def test_the_users_files_index_head_and_refs_are_unchanged(pair: Pair) -> None:
    ada, bob = pair
    (ada.top / "code").write_text("print()\n")
    ada.git("add", "code")
    ada.git("commit", "-q", "-m", "code")
    ada.git("push", "-q", "origin", "main")
    ada.git("fetch", "-q", "origin", "main")
    (ada.top / "code").write_text("changed\n")
    (ada.top / "new").write_text("staged\n")
    ada.git("add", "new")
    bob.loop("OL-2")
    bob.sync()
    ada.loop("OL-3")
    before = snapshot(ada.top)
    ada.sync()
    after = snapshot(ada.top)
    # git itself moves its own tracking ref for a branch that it pushed, as after every push
    tracking = ".git/refs/remotes/origin/baton/x"
    assert {k: v for k, v in after.items() if k != tracking} == {k: v for k, v in before.items() if k != tracking}


def test_a_work_tree_that_has_the_branch_checked_out_is_named(pair: Pair) -> None:
    ada, bob = pair
    ada.git("worktree", "add", "-q", str(ada.top.with_name("tree")), "baton/x")
    bob.loop("OL-2")
    bob.sync()
    done = ada.sync()
    assert ada.tip == bob.tip
    assert done.checked_out_at == str(ada.top.with_name("tree"))
    assert ada.sync().checked_out_at is None


def test_broken_fetched_files_are_reported_and_the_rest_is_merged(pair: Pair) -> None:
    ada, bob = pair
    bob.by_hand({"open_loops/OL-9.toml": b"this is [no toml", "open_loops/OL-8.toml": loop("OL-8")})
    bob.push()
    ada.loop("OL-2")
    done = ada.sync()
    assert any("OL-9" in one for one in done.problems)
    assert ada.get("open_loop", "OL-8")
    assert ada.files()["open_loops/OL-9.toml"] == b"this is [no toml"


def test_a_link_in_a_commit_waits_for_a_person(pair: Pair) -> None:
    ada, bob = pair
    bob.git("worktree", "add", "-q", str(bob.top.with_name("tree")), "baton/x")
    tree = bob.top.with_name("tree")
    (tree / "notes").symlink_to("/etc/passwd")
    subprocess.run(["git", "-C", str(tree), "add", "notes"], check=True)
    subprocess.run(["git", "-C", str(tree), "commit", "-q", "-m", "a link"], check=True)
    bob.push()
    done = ada.sync()
    assert kinds(done) == ["wait"]
    assert "notes" in done.actions[0].why


def test_a_file_that_became_a_link_with_the_same_content_waits_too(pair: Pair) -> None:
    ada, bob = pair
    bob.by_hand({"notes": b"/etc/passwd"})
    bob.push()
    ada.sync()
    blob = Oid(bob.git("rev-parse", f"{REF}:notes"))
    bob.by_hand({"notes": TreeEntry(blob, False, 0o120000)})
    bob.push()
    assert kinds(ada.sync()) == ["wait"]


def test_a_sync_fetches_into_private_refs_only(pair: Pair) -> None:
    _, bob = pair
    names = set(bob.git("for-each-ref", "--format=%(refname)").split())
    assert names == {REF, kept_name(REF), INCOMING, SEEN}


def test_secrets_redacted_here_never_reach_a_remote(ada: Machine, bare: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    ada.loop("OL-1", f"logged in with {secret}")
    ada.sync()
    everything = subprocess.run(
        ["git", "-C", str(bare), "cat-file", "--batch-all-objects", "--batch"], capture_output=True, check=True
    ).stdout
    assert secret.encode() not in everything
    assert b"OL-1" in everything


def test_a_manually_broken_record_is_synced_unchanged_and_reported(pair: tuple[Machine, Machine]) -> None:
    ada, bob = pair
    ada.by_hand({"open_loops/OL-1.toml": b"<<<<<<< ours\n"})
    done = ada.sync()
    assert done.sent == 1
    assert [one.partition(":")[0] for one in done.problems] == ["open_loops/OL-1.toml"]
    assert bob.sync().problems == done.problems
    assert not ada.sync().problems


def test_syncing_a_namespace_that_exists_nowhere_creates_nothing(ada):
    done = ada.sync()
    assert (done.received, done.sent, done.pending) == (0, 0, 0)
    assert ada.tip is None
    assert ada.sync(receive_only=True).error is None


def test_a_record_removed_on_another_machine_is_reported(pair: Pair) -> None:
    ada, bob = pair
    bob.ws.update("rollback", bob.clock(), lambda tip: tip.state.remove(Key("open_loop", "OL-1")))
    bob.sync()
    assert ada.sync().notes == ("OL-1 was removed on the remote (baton rollback --record OL-1 restores it)",)
    finish_follow_up(bob.ws, bob.clock(), id="FU-1")
    bob.sync()
    assert ada.sync().notes == (), "an archived record was not removed"
