"""The first fetch of a long history takes the newest commits, and the older ones follow in parts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from default_run import slow_after
from hostile import FILE, Hostile
from machines import INCOMING, REF, Machine
from world import begin

from baton_git.core.errors import NotAllowed, NotFound, Rejected
from baton_git.core.names import Namespace, Oid
from baton_git.core.records.work_items import OpenLoop
from baton_git.core.state import Key
from baton_git.git.remotes import Depth
from baton_git.git.store import Store
from baton_git.namespace.caller import Vouching
from baton_git.namespace.merge_commit import create_merge_commit
from baton_git.namespace.provenance.labels import Labels
from baton_git.namespace.provenance.marks import MarkSnapshots
from baton_git.namespace.sync import older_history, synchronise
from baton_git.namespace.workspace import Background
from baton_git.verbs.records.details import show_record
from baton_git.verbs.revisions.history import Filter, read_log
from baton_git.verbs.revisions.undo import undo
from baton_git.verbs.sessions import session_start
from baton_git.verbs.sessions.session_start import StartOptions, begin_session
from baton_git.verbs.sharing.missing_history import TASK, receive_missing

COMMITS = 30
QUICK: dict[str, Any] = {"completes": False, "receive_only": True, "retry": False}


pytestmark = pytest.mark.usefixtures("short_parts")


@pytest.fixture
def full(ada: Machine) -> Machine:
    """Return a machine whose long history is on the remote."""
    for number in range(COMMITS):
        ada.loop(f"OL-{number}")
    ada.sync()
    return ada


@pytest.fixture(params=slow_after(1, ["fetched by baton", "fetched by git"]))
def late(request: pytest.FixtureRequest, full: Machine, bob: Machine) -> Machine:
    """Return a machine that meets the remote for the first time."""
    if request.param == "fetched by git":
        bob.git("fetch", "-q", "origin")
    return bob


def has_been_fetched_by_git(one: Machine) -> bool:
    return bool(one.git("for-each-ref", "refs/remotes"))


def ends(one: Machine) -> list[Oid]:
    return one.store.boundary.of(REF)


def count(one: Machine) -> int:
    assert one.tip is not None
    return len(list(one.store.log(one.tip)))


def labels(one: Machine) -> set[tuple[str, str]]:
    """Return who vouches for the loops."""
    found = Labels(one.ws.branch, one.tip, Vouching())
    kinds = {found.of(Key(OpenLoop.kind, loop.id)) for loop in one.state.records(OpenLoop)}
    return {(label.kind, label.remote) for label in kinds}


def snapshot(one: Machine) -> list[str]:
    """Return what belongs to the user: HEAD, the index, the work tree, the branches and git's remote branches."""
    refs = one.git("for-each-ref", "refs/heads/main", "refs/remotes", "refs/tags")
    return [
        refs,
        (one.top / ".git/HEAD").read_text(),
        one.git("status", "--porcelain"),
        str((one.top / ".git/index").exists()),
    ]


def test_the_first_boot_tells_the_whole_state(late: Machine, full: Machine) -> None:
    before = snapshot(late)
    begun = begin_session(late.ws, late.clock(), StartOptions(check_seconds=0))
    assert late.state.ids(OpenLoop.kind) == full.state.ids(OpenLoop.kind)
    assert not begun.is_new
    assert "OL-0" in begun.brief.text
    assert [line for line in begun.news if "is not here yet" in line]
    assert count(late) == 6  # and the start of the session
    assert labels(late) == {("received", "origin")}
    assert snapshot(late) == before
    late.git("fsck", "--strict")


def test_a_later_sync_brings_the_rest(late: Machine, full: Machine) -> None:
    late.sync(**QUICK)
    assert ends(late)
    assert (late.top / ".git/shallow").exists() != has_been_fetched_by_git(late)
    done = late.sync()
    assert not done.is_incomplete
    assert (count(late), ends(late), late.tip) == (count(full), [], full.tip)
    assert not (late.top / ".git/shallow").exists()
    assert not (late.top / ".git/baton/boundary").exists()
    assert labels(late) == {("received", "origin")}
    late.git("fsck", "--strict")
    assert late.git("rev-list", "--count", REF) == str(count(full))
    late.store.pack(everything=True)
    late.git("gc", "-q", "--prune=now")
    assert count(late) == count(full)


def test_a_wide_history_ends_at_a_number_of_commits(
    full: Machine, bob: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(older_history, "MOST_NEWEST", 1)
    bob.git("fetch", "-q", "origin")
    begin_session(bob.ws, bob.clock(), StartOptions(check_seconds=0))
    assert count(bob) == 3  # two commits and the start of the session
    assert bob.state.ids(OpenLoop.kind) == full.state.ids(OpenLoop.kind)
    bob.sync()
    assert count(bob) == count(full) + 1


def test_a_first_sync_is_complete(late: Machine, full: Machine) -> None:
    done = late.sync()
    assert (done.is_incomplete, count(late)) == (False, count(full))
    assert done.received == 5


def test_a_first_sync_leaves_the_older_history_to_a_background_process(late: Machine, full: Machine) -> None:
    asked: list[str] = []
    done = late.sync(hand_over=lambda: not asked.append("first"))
    assert (done.is_incomplete, count(late), asked) == (True, 5, ["first"])
    assert any("a background process does it now" in note for note in done.notes)
    late.sync(hand_over=lambda: not asked.append("second"))
    assert (count(late), ends(late), asked) == (count(full), [], ["first"])


def test_a_first_sync_is_complete_if_no_background_process_can_be_started(late: Machine, full: Machine) -> None:
    assert not late.sync(hand_over=lambda: False).is_incomplete
    assert count(late) == count(full)


def test_the_background_task_completes_the_history_and_sends_nothing(late: Machine, full: Machine) -> None:
    asked: list[str] = []
    late.ws = replace(
        late.ws, background=late.ws.background._replace(request=lambda task: bool(asked.append(task)) or True)
    )
    begun = begin_session(late.ws, late.clock(), StartOptions(check_seconds=0))
    assert asked == [TASK]
    assert "what is missing here is fetched in the background" in begun.news
    assert receive_missing([late.ws], late.clock()) == set()
    assert not ends(late)
    assert late.tip != full.tip
    assert late.store.tip(INCOMING) == full.tip
    full.sync()
    assert full.state.ids(OpenLoop.kind) == late.state.ids(OpenLoop.kind)


@pytest.mark.parametrize("can_start", [True, False])
@pytest.mark.parametrize("has_remote", [True, False])
def test_after_many_new_commits_a_start_does_not_wait_for_who_vouches_for_the_records(
    full: Machine, bob: Machine, monkeypatch: pytest.MonkeyPatch, can_start: bool, has_remote: bool
) -> None:
    bob.git("fetch", "-q", "origin", f"{REF}:{REF}")
    if not has_remote:
        bob.git("remote", "remove", "origin")
        bob.ws = replace(bob.ws, remote_settings=bob.ws.remote_settings._replace(remotes=()))
    asked: list[str] = []
    bob.ws = replace(bob.ws, background=Background(lambda task: bool(asked.append(task)) or can_start))
    monkeypatch.setattr(session_start, "LABEL_SECONDS", -1.0)
    begun = begin_session(bob.ws, bob.clock(), StartOptions(check_seconds=0, sync_seconds=0))
    assert asked == [TASK]
    assert ("[unknown] " in begun.brief.text) == can_start
    assert any("is not known yet" in problem for problem in begun.problems) == can_start
    assert receive_missing([bob.ws], bob.clock()) == set()
    assert bob.tip is not None
    assert MarkSnapshots(bob.top / ".git", "x").load(bob.tip) is not None
    monkeypatch.undo()
    again = begin_session(bob.ws, bob.clock(), StartOptions(check_seconds=0, sync_seconds=0))
    assert "[unknown] " not in again.brief.text


def test_changes_go_in_both_directions_before_the_history_is_complete(late: Machine, full: Machine) -> None:
    late.sync(**QUICK)
    late.loop("OL-late")
    assert late.sync(completes=False).sent == 1
    full.loop("OL-full")
    full.sync()
    late.loop("OL-both")
    assert late.sync(completes=False).received == 2  # with the merge of ada's machine
    assert ends(late)
    assert {"OL-late", "OL-full", "OL-both"} <= late.state.ids(OpenLoop.kind)
    full.sync()
    assert late.tip == full.tip
    late.sync()
    assert count(late) == count(full)
    assert dict(labels_of(late, "OL-late")) == {"agent": ""}


def labels_of(one: Machine, id_: str) -> list[tuple[str, str]]:
    label = Labels(one.ws.branch, one.tip, Vouching()).of(Key(OpenLoop.kind, id_))
    return [(label.kind, label.remote)]


def test_a_name_of_an_older_revision_is_refused_with_what_helps(late: Machine, full: Machine) -> None:
    late.sync(**QUICK)
    with pytest.raises(NotFound) as caught:
        late.ws.branch.read("2")
    assert "baton sync" in caught.value.hint
    late.sync()
    assert late.ws.branch.read("2").number == 2


def test_a_namespace_that_began_here_is_merged_when_the_histories_meet(late: Machine, full: Machine) -> None:
    late.loop("OL-own")
    late.clock.now -= timedelta(days=1)  # it might have been sent before, and be part of the older history
    late.loop("OL-before")
    late.clock.now += timedelta(days=1)
    error = late.try_sync(**QUICK).error
    if not has_been_fetched_by_git(late):
        assert isinstance(error, Rejected)
        assert "baton sync" in error.hint
        assert late.state.ids(OpenLoop.kind) == {"OL-own", "OL-before"}
    late.sync()
    full.sync()
    assert late.tip == full.tip
    assert late.state.ids(OpenLoop.kind) == full.state.ids(OpenLoop.kind)


def test_a_namespace_that_began_here_later_is_merged_at_once_as_with_the_whole_history(
    late: Machine, full: Machine
) -> None:
    late.loop("OL-own")
    begun = begin_session(late.ws, late.clock(), StartOptions(check_seconds=0))
    assert ends(late)
    assert "OL-0" in begun.brief.text
    assert late.state.ids(OpenLoop.kind) == {"OL-own", *full.state.ids(OpenLoop.kind)}
    merge = late.store.commit(late.store.commit(late.tip or Oid("")).parents[0])
    late.sync()
    assert not ends(late)
    assert create_merge_commit(late.store, *merge.parents).commit == merge.oid
    full.sync()
    assert late.tip == full.tip


def test_a_namespace_that_only_began_here_takes_the_history_of_the_remote(late: Machine, full: Machine) -> None:
    begin(late.ws.branch)
    late.sync(**QUICK)
    assert ends(late)
    assert late.tip == full.tip


def test_only_the_branch_that_is_met_ends_at_a_boundary(
    late: Machine, full: Machine, make: Callable[..., Machine]
) -> None:
    other = replace(late, ws=replace(late.ws, branch=replace(late.ws.branch, namespace=Namespace("y"))))
    other.loop("OL-y")
    late.sync(**QUICK)
    assert late.store.boundary.of(other.ws.branch.ref) == []
    assert len(list(other.ws.branch.history())) == 2


def test_an_open_store_notices_that_the_history_is_complete(late: Machine, full: Machine) -> None:
    late.sync(**QUICK)
    with Store(late.store.repository) as server:
        tip = server.tip(REF)
        assert tip is not None
        assert len(list(server.log(tip))) == 5
        late.sync()
        assert server.tip(REF) == tip
        assert len(list(server.log(tip))) == count(full)


def test_a_shallow_clone_of_the_user_keeps_its_boundary(
    full: Machine, tmp_path: Path, make: Callable[..., Machine]
) -> None:
    for number in range(3):
        full.git("commit", "-q", "--allow-empty", "-m", str(number))
    full.git("push", "-q", "origin", "main")
    subprocess.run(
        ["git", "clone", "-q", "--depth=1", f"file://{tmp_path}/origin.git", str(tmp_path / "carol")], check=True
    )
    carol = make("carol")
    own = (carol.top / ".git/shallow").read_text()
    carol.sync(**QUICK)
    assert ends(carol)
    assert carol.store.is_shallow
    carol.sync()
    assert (carol.top / ".git/shallow").read_text() == own
    assert count(carol) == count(full)


MOVES = {
    "fetch --depth=1": ("fetch", "-q", "--depth=1"),
    "fetch --deepen=3": ("fetch", "-q", "--deepen=3"),
    "fetch --unshallow": ("fetch", "-q", "--unshallow"),
    "fetch --all": ("fetch", "-q", "--all"),
    "gc": ("gc", "-q", "--prune=now"),
    "repack": ("repack", "-adq"),
}


@pytest.mark.parametrize("move", slow_after(2, MOVES))
def test_a_boundary_that_git_moves_is_completed_all_the_same(bob: Machine, full: Machine, move: str) -> None:
    """`git fetch --depth` puts newer commits of the branch into git's file; the history went to and fro for ever."""
    bob.sync(**QUICK)
    bob.loop("OL-own")
    full.loop("OL-later")
    full.sync()
    bob.git(*MOVES[move])
    assert {"OL-0", "OL-own"} <= set(bob.state.ids(OpenLoop.kind))
    bob.git("fsck", "--strict")
    done = bob.sync()
    assert (ends(bob), done.is_incomplete, done.notes) == ([], False, ())
    assert not (bob.top / ".git/shallow").exists()
    full.sync()
    assert bob.tip == full.tip
    assert count(bob) == COMMITS + 4  # the first commit, the two loops, and their merge
    assert labels(bob) == {("received", "origin"), ("agent", "")}
    bob.git("fsck", "--strict")


def test_another_remote_without_the_history_is_sent_it_when_it_is_here(
    bob: Machine, full: Machine, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "backup.git")], check=True)
    bob.git("remote", "add", "backup", str(tmp_path / "backup.git"))
    bob.sync(remote="origin", **QUICK)
    error = bob.try_sync(remote="backup").error
    assert error is not None
    assert str(error.hint).startswith("it lacks the older revisions, and they are not here: baton sync fetches them")
    bob.sync(remote="origin")
    assert bob.sync(remote="backup").sent == count(full)


@pytest.mark.parametrize("kind", ["sha256", "bare", "linked", "submodule"])
@pytest.mark.slow
def test_the_newest_part_first_in_unusual_repositories(
    kind: str, tmp_path: Path, baton: Any, git: Any, top: Path
) -> None:
    hub, form = tmp_path / "hub.git", ["--object-format=sha256"] if kind == "sha256" else []
    source, place = tmp_path / "source", tmp_path / "place"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", *form, str(hub))
    git(tmp_path, "init", "-q", "-b", "main", *form, str(source))
    git(source, "commit", "-q", "--allow-empty", "-m", "code")
    git(source, "remote", "add", "origin", hub.as_uri())
    git(source, "push", "-q", "origin", "main")
    baton("init", "-n", "x", cwd=source)
    for number in range(12):
        baton("followup", "add", f"part {number}", "--id", f"FU-{number}", cwd=source)
    baton("sync", cwd=source)
    if kind == "submodule":
        git(tmp_path, "init", "-q", str(tmp_path / "super"))
        file = ("-c", "protocol.file.allow=always")
        git(tmp_path / "super", *file, "submodule", "add", "-q", hub.as_uri(), "part")
        place = tmp_path / "super" / "part"
    else:
        main = tmp_path / "main"
        git(tmp_path, "init", "-q", "-b", "main", *(["--bare"] if kind == "bare" else []), *form, str(main))
        git(main, "remote", "add", "origin", hub.as_uri())
        place = main if kind != "linked" else tmp_path / "linked"
        if kind == "linked":
            git(main, "commit", "-q", "--allow-empty", "-m", "code")
            git(main, "worktree", "add", "-q", str(place))
    baton("boot", "-n", "x", cwd=place)
    assert "part 3" in baton("show", "FU-3", "-n", "x", cwd=place).out
    git(place, "gc", "-q", "--prune=now")
    baton("sync", "-n", "x", cwd=place)
    assert git(place, "rev-parse", "--is-shallow-repository") == "false"
    assert "part 3" in baton("log", "-n", "x", "--record", "FU-3", cwd=place).out
    git(place, "fsck", "--strict")


def test_a_first_commit_at_the_depth_is_no_boundary(
    ada: Machine, bob: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        ada.loop(f"OL-{number}")
    ada.sync()
    begun = begin_session(bob.ws, bob.clock(), StartOptions(check_seconds=0))
    assert ends(bob) == []
    assert not [line for line in begun.news if "is not here" in line]
    assert count(bob) == count(ada) + 1


def test_nothing_is_told_as_made_by_the_commit_at_the_boundary(late: Machine, full: Machine) -> None:
    late.sync(**QUICK)
    [end] = ends(late)
    shown = show_record(late.ws, late.clock(), id="OL-3")
    assert (shown.began, shown.history) == (None, [])
    assert "are not here (baton sync fetches them)" in shown.unread
    assert list(read_log(late.ws, Filter(record="OL-3"))) == []
    assert list(read_log(late.ws))[-1].changes == ()
    with pytest.raises(NotAllowed, match="the revisions before it are not here"):
        undo(late.ws, late.clock(), revision=end)
    late.sync()
    shown = show_record(late.ws, late.clock(), id="OL-3")
    assert shown.began is not None
    assert (shown.began.session, shown.unread) == ("s-ada", "")


def test_a_remote_that_is_not_trusted_so_far_sends_its_whole_history(late: Machine, full: Machine) -> None:
    late.set_policy("review")
    late.sync(**QUICK)
    assert not ends(late)


def test_older_commits_pass_the_same_checks(full: Machine, bob: Machine, bare: Path) -> None:
    """A bad commit below the boundary keeps the older history away, and not the newest state."""
    mallory = Hostile(bare)
    good = mallory.tip()
    bad = mallory.commit(mallory.root((FILE, b"git~1", mallory.blob())), good)
    tip = bad
    for number in range(8):
        tip = mallory.commit(mallory.root(), tip, message=f"{number}\n\nBaton-Op: add\nBaton-Revision: {number + 50}\n")
    mallory.move_branch(tip)
    done = bob.sync()
    assert bob.tip == tip
    [note] = [note for note in done.notes if "older history is still missing" in note]
    assert f"commit {bad[:8]}, git~1" in note
    assert ends(bob)
    assert not bob.store.is_stored(Oid(bad))


class Killed(BaseException):
    """The process ends here."""


STEPS = [
    "baton_git.git.store.boundary._write_own",
    "baton_git.git.store.boundary._write_shallow",
    "baton_git.git.store.store.Store.change_boundary",
    "baton_git.git.store.store.Store.move",
    "baton_git.namespace.provenance.ledger.Ledger.record_received",
    "baton_git.namespace.sync.older_history.load_marks",
]


@pytest.fixture
def kill(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int, bool], None]:
    def kill_at(step: str, call: int, before: bool) -> None:
        owner, _, name = step.rpartition(".")
        module: Any = owner if not owner.endswith((".Store", ".Ledger")) else None
        target = _load(owner) if module is None else __import__(owner, fromlist=[name])
        real, calls = getattr(target, name), [0]

        def run(*args: Any, **more: Any) -> Any:
            calls[0] += 1
            if calls[0] == call and before:
                raise Killed
            result = real(*args, **more)
            if calls[0] == call:
                raise Killed
            return result

        monkeypatch.setattr(target, name, run)

    return kill_at


def _load(owner: str) -> Any:
    module, _, name = owner.rpartition(".")
    return getattr(__import__(module, fromlist=[name]), name)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("call", [2, *(pytest.param(call, marks=pytest.mark.slow) for call in (1, 3))])
def test_a_process_that_is_killed_at_any_step_leaves_a_history_that_completes(
    late: Machine,
    full: Machine,
    make: Callable[..., Machine],
    kill: Callable[[str, int, bool], None],
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    call: int,
    before: bool,
) -> None:
    with monkeypatch.context():
        kill(step, call, before)
        with suppress(Killed):
            late.sync()
        monkeypatch.undo()
    (late.top / ".git/shallow.lock").unlink(missing_ok=True)  # a real kill leaves it: see the next test
    late.git("fsck", "--strict", "--connectivity-only")
    again = make("bob")
    again.sync()
    assert (count(again), ends(again), again.tip) == (count(full), [], full.tip)
    assert labels(again) == {("received", "origin")}
    again.git("fsck", "--strict")


def test_a_lock_that_a_killed_process_left_is_removed(late: Machine, full: Machine) -> None:
    lock = late.top / ".git/shallow.lock"
    lock.touch()
    os.utime(lock, (1, 1))
    late.sync(**QUICK)
    assert not lock.exists()
    assert ends(late)


@pytest.mark.parametrize("has_time", [True, False])
def test_a_start_takes_a_glimpse_first_and_the_rest_of_the_newest_part_if_there_is_time(
    full: Machine, bob: Machine, monkeypatch: pytest.MonkeyPatch, *, has_time: bool
) -> None:
    monkeypatch.setattr(synchronise, "NEWEST", Depth(12))
    monkeypatch.setattr(synchronise, "GLIMPSE", Depth(3))
    if not has_time:
        monkeypatch.setattr(synchronise, "widen_glimpse", lambda *_, **__: None)
    bob.sync(**QUICK)
    assert count(bob) == (12 if has_time else 3)
    assert set(bob.ws.branch.read().state.ids(OpenLoop.kind)) == {f"OL-{number}" for number in range(COMMITS)}
    bob.sync()
    assert not ends(bob)
    assert count(bob) == count(full)
