"""Folds: archived records move into bundles, and nothing else about them changes, on one machine and on several."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from machines import Clock, Machine, machine, sync_until_equal

from baton_git.core import layout
from baton_git.core.errors import BatonError, NotFound
from baton_git.core.records.base import Archived
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import FollowUp
from baton_git.core.state import Key
from baton_git.git.store import ReflogEntry
from baton_git.git.store.stored_moves import bundle
from baton_git.interfaces.background.tasks import fold_archives
from baton_git.interfaces.background.worker import open_workspace
from baton_git.namespace import folding
from baton_git.namespace.folding import FOLD, find_due, fold, may_be_due, was_undone
from baton_git.namespace.revision import ProposedState
from baton_git.verbs.records.details import show_record
from baton_git.verbs.revisions.recall import recall
from baton_git.verbs.revisions.undo import redo, undo
from baton_git.verbs.sessions.session_end import fold_automatically, fold_in_background
from baton_git.verbs.sessions.session_start import StartOptions, begin_session
from baton_git.verbs.upkeep.validation import validate_branch


@pytest.fixture(autouse=True)
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "FIRST", 6)
    monkeypatch.setattr(folding, "FURTHER", 3)


@pytest.fixture
def origin(tmp_path: Path) -> Path:

    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "origin.git")], check=True)
    return tmp_path


@pytest.fixture
def ada(origin: Path) -> Iterator[Machine]:
    one = machine(origin, "ada", Clock())
    with one.store:
        yield one


@pytest.fixture
def bob(origin: Path, ada: Machine) -> Iterator[Machine]:
    one = machine(origin, "bob", ada.clock)
    with one.store:
        yield one


def archive(one: Machine, *ids: str, month: int = 3) -> None:
    """Add follow-ups that were done."""

    def change(tip: Any) -> Any:
        state = tip.state
        for id_ in ids:
            item = FollowUp(id=id_, item=f"Port the importer {id_}", first_seen="2026-01-01")
            at = f"2026-{month:02}-02T00:00:00Z"
            state = state.put(item).archive(item, at=at, reason="done", session=None)
        return state

    one.ws.update("done", one.clock(), change)


def fold_now(one: Machine) -> Any:
    return fold(one.ws, one.clock())


def logical(one: Machine) -> dict[str, str]:
    """Return the blob id of each file by its path in layout 1, without the two files that layout 2 changes."""
    root = one.store.folder(one.ws.branch.read().tree)
    paths = [path for path in layout.paths_below(root) if path not in (layout.FORMAT_FILE, layout.ATTRIBUTES_FILE)]
    return {path: find(root, path) for path in paths}


def find(root: Any, path: str) -> str:
    *folders, name = path.split("/")
    for folder in folders:
        root = root.folder(folder)
    return str(root.entries()[name].oid)


def stored_files(one: Machine) -> list[str]:
    return [path for path in one.files() if path.startswith("archive/")]


OLD = tuple(f"FU-{number}" for number in range(8))


# --- when and what


def test_a_fold_changes_no_record_and_makes_the_tree_small(ada: Machine) -> None:
    archive(ada, *OLD)
    ada.follow_up("FU-live")
    before = logical(ada)
    assert fold_now(ada) is not None
    assert logical(ada) == before
    assert len(stored_files(ada)) == 1
    assert ada.store.folder(ada.ws.branch.read().tree).version == 2
    entry = next(ada.ws.branch.history())
    assert (entry.op, entry.subject) == (FOLD, "8 archived records folded into bundles")
    assert fold_now(ada) is None
    assert not [found for found in validate_branch(ada.ws) if found.faults]


def test_few_files_are_not_folded(ada: Machine) -> None:
    archive(ada, *OLD[:5])
    assert fold_now(ada) is None
    archive(ada, OLD[5])
    assert fold_now(ada) is not None
    archive(ada, "FU-more", "FU-most")  # in layout 2, three files are enough
    assert fold_now(ada) is None
    archive(ada, "FU-last")
    assert fold_now(ada) is not None


def test_a_fold_is_at_least_a_quarter_of_the_newest_month(ada: Machine) -> None:
    archive(ada, *(f"FU-a{number}" for number in range(40)))
    fold_now(ada)
    archive(ada, *(f"FU-b{number}" for number in range(9)))
    assert fold_now(ada) is None
    archive(ada, "FU-c")
    assert fold_now(ada) is not None


def test_a_guess_whether_a_fold_is_due_reads_few_folders(ada: Machine) -> None:
    root = ada.store.folder(None)
    assert not may_be_due(root)
    archive(ada, *OLD)
    root = ada.store.folder(ada.ws.branch.read().tree)
    assert may_be_due(root)
    assert len(find_due(root)) == 8


def test_no_fold_without_a_namespace(ada: Machine) -> None:
    assert fold_now(ada) is None
    assert ada.tip is None


# --- what a fold leaves alone


def test_bundled_records_can_be_shown_found_and_reopened(ada: Machine) -> None:
    archive(ada, *OLD)
    fold_now(ada)
    shown = show_record(ada.ws, ada.clock(), id="FU-3")
    assert (shown.id, shown.archived, len(shown.history)) == ("FU-3", True, 1)
    assert "importer FU-3" in recall(ada.ws, ada.clock(), question="Which importer FU-3").text
    closed = ada.get("follow_up", "FU-3", archived=True)
    assert isinstance(closed, Archived)
    reopened = FollowUp.model_validate(closed.record)
    ada.ws.update(
        "reopen", ada.clock(),
        lambda tip: tip.state.remove(Key("follow_up", "FU-3", archived=True)).put(reopened),
    )  # fmt: skip
    assert ada.get("follow_up", "FU-3") == reopened
    assert ada.get("follow_up", "FU-3", archived=True) is None
    assert ada.get("follow_up", "FU-4", archived=True) is not None


def test_a_session_that_was_bundled_can_be_resumed(ada: Machine) -> None:
    def change(tip: Any) -> Any:
        state = tip.state
        for number in range(8):
            session = Session(
                id=f"s-{number}", started="2026-01-01T00:00:00Z", status="ended", parent=f"s-{number - 1}"
            )
            state = state.put(session).archive(session, at="2026-03-01T00:00:00Z", reason="old", session=None)
        return state

    ada.ws.update("boot", ada.clock(), change)
    fold_now(ada)
    ws = replace(ada.ws, actor=replace(ada.ws.actor, session="s-3"))
    begun = begin_session(ws, ada.clock(), StartOptions(sync_seconds=0))
    assert not begun.problems
    session = ada.get("session", "s-3")
    assert (session.status, session.parent) == ("active", "s-2")
    assert ada.get("session", "s-3", archived=True) is None


def test_what_a_person_removes_is_gone_from_the_bundle(ada: Machine) -> None:
    archive(ada, *OLD)
    fold_now(ada)
    ada.ws.update("forget", ada.clock(), lambda tip: tip.state.remove(Key("follow_up", "FU-3", archived=True)))
    assert "FU-3" not in {key.id for key in (layout.key_at(path) for path in logical(ada)) if key}
    assert not any(b"importer FU-3" in text for text in ada.files().values())
    with pytest.raises(NotFound):
        show_record(ada.ws, ada.clock(), id="FU-3")


def test_who_vouches_for_bundled_records_stays(ada: Machine, bob: Machine) -> None:
    archive(ada, *OLD[:4])
    ada.sync()
    bob.sync()
    archive(bob, *OLD[4:])
    words = {id_: bob.ws.judgement().word(Key("follow_up", id_, archived=True)) for id_ in OLD}
    assert set(words.values()) == {"agent", "from origin"}
    fold_now(bob)
    assert {id_: bob.ws.judgement().word(Key("follow_up", id_, archived=True)) for id_ in OLD} == words


def test_a_fold_that_alters_a_text_is_a_change_of_that_record(ada: Machine, bob: Machine) -> None:
    archive(ada, *OLD)
    sync_until_equal(ada, bob)
    forged = replace(ada.ws, actor=replace(ada.ws.actor, session=None))
    fold(forged, ada.clock())
    bundled = next(path for path in ada.files() if path.startswith("archive/follow_ups/="))
    text = ada.files()[bundled].replace(b"importer FU-3", b"backdoor FU-3")
    tip = ada.ws.branch.read()
    draft = ada.store.draft()
    tree = draft.stored_tree(tip.tree, {bundled: text})
    info = ada.store.commit(ada.tip)
    new = draft.commit(tree, info.parents, author=info.author, time=info.time, timezone=0, message=info.message)
    ada.git("update-ref", "refs/heads/baton/x", ada.tip)  # the same place, from which git pushes the forged commit

    assert ada.store.publish(draft, "refs/heads/baton/x", ada.tip, new, ReflogEntry(info.author, info.time, 0, "x"))
    ada.git("push", "-q", "origin", "+refs/heads/baton/x")
    bob.set_policy("review")
    archive(bob, "FU-own")
    bob.sync()
    assert [name for name in bob.list_waiting() if name not in layout.ROOT_FILES] == ["FU-3"]
    bob.set_policy("auto")
    bob.sync()
    word = bob.ws.judgement().word
    assert word(Key("follow_up", "FU-3", archived=True)) == "from origin"
    assert b"backdoor" in layout.encode(
        {Key("follow_up", "FU-3", archived=True): bob.get("follow_up", "FU-3", archived=True)}
    ).popitem()[1]  # fmt: skip


# --- undo


def test_a_fold_can_be_undone_and_redone_by_its_revision(ada: Machine) -> None:
    archive(ada, *OLD)
    before = stored_files(ada)
    changed = fold_now(ada)
    folded = stored_files(ada)
    undo(ada.ws, ada.clock(), revision=str(changed.number))
    assert stored_files(ada) == before
    assert was_undone(ada.ws)
    redo(ada.ws, ada.clock())
    assert stored_files(ada) == folded


def test_an_undo_without_a_revision_takes_back_the_own_change_and_not_the_fold(ada: Machine) -> None:
    ada.ws = replace(ada.ws, actor=replace(ada.ws.actor, session=None))
    archive(ada, *OLD)
    ada.follow_up("FU-mine")
    fold_now(ada)
    undo(ada.ws, ada.clock())
    assert ada.get("follow_up", "FU-mine") is None
    assert len(stored_files(ada)) == 1


def test_after_an_undo_nothing_is_folded_without_being_asked(ada: Machine) -> None:
    archive(ada, *OLD)
    undo(ada.ws, ada.clock(), revision=str(fold_now(ada).number))
    fold_automatically(ada.ws, ada.clock())
    assert len(stored_files(ada)) == 8
    assert fold_now(ada) is not None


def test_an_undo_of_an_older_fold_keeps_what_was_done_since(ada: Machine) -> None:
    archive(ada, *OLD)
    folded = fold_now(ada)
    archive(ada, "FU-later")
    ada.follow_up("FU-live")
    ada.ws.update("forget", ada.clock(), lambda tip: tip.state.remove(Key("follow_up", "FU-3", archived=True)))
    before = logical(ada)
    undo(ada.ws, ada.clock(), revision=str(folded.number))
    assert logical(ada) == before
    assert len(stored_files(ada)) == 8


# --- when it runs


def test_the_end_of_a_session_lets_a_background_process_fold(ada: Machine) -> None:
    requested: list[str] = []
    background = ada.ws.background._replace(request=lambda task: not requested.append(task))
    ws = replace(ada.ws, background=background)
    archive(ada, *OLD[:2])
    assert not fold_in_background(ws)
    archive(ada, *OLD[2:])
    assert not fold_in_background(replace(ws, folds_archive=False))
    assert requested == []
    assert fold_in_background(ws)
    assert requested == ["fold"]


def test_nothing_is_folded_if_the_setting_says_so(ada: Machine) -> None:
    archive(ada, *OLD)
    fold_automatically(replace(ada.ws, folds_archive=False), ada.clock())
    assert len(stored_files(ada)) == 8


def test_gc_folds_and_the_log_has_one_line(baton: Any, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(7):
        baton("followup", "add", f"part {number}", "--id", f"FU-{number}", "--reason", "later")
        baton("followup", "done", f"FU-{number}")
    assert "moved into bundles" in baton("gc").err
    assert "folded into bundles" in baton("log").out.splitlines()[0]
    assert "part 3" in baton("show", "FU-3").out
    assert "moved into bundles" not in baton("gc").err
    assert baton("validate").code == 0


def test_every_road_to_the_past_of_a_record_leads_through_the_fold(baton: Any, top: Path) -> None:
    for number in range(7):
        baton("followup", "add", f"part {number}", "--id", f"FU-{number}", "--reason", "later")
    for number in range(7):
        baton("followup", "done", f"FU-{number}")
    closed = baton("log", "--json").json["commits"][0]["revision"]
    baton("gc")
    assert [entry["op"] for entry in baton("log", "--record", "FU-3", "--json").json["commits"]] == [
        "followup-done",
        "followup-add",
    ]
    assert baton("diff", str(closed), str(closed + 1)).out == ""
    assert [event["op"] for event in baton("show", "FU-3", "--json").json["history"]] == [
        "followup-done",
        "followup-add",
    ]
    assert baton("undo", str(closed - 3)).code == 0  # FU-3 is open again, and no other
    assert [record["id"] for record in baton("list", "follow_up", "--json").json["records"]] == ["FU-3"]
    planned = baton("rollback", str(closed - 6), "--dry-run")
    assert ".gitattributes" not in planned.out + planned.err  # stays as the layout needs it
    assert "other file" not in planned.out + planned.err
    baton("rollback", str(closed - 6), "--yes")
    live = {record["id"] for record in baton("list", "follow_up", "--json").json["records"]}
    assert live == {f"FU-{number}" for number in range(1, 7)}
    planned = baton("undo", "--dry-run")
    assert "other file" not in planned.out + planned.err
    baton("undo", "--yes")
    assert [record["id"] for record in baton("list", "follow_up", "--json").json["records"]] == ["FU-3"]
    assert baton("validate").code == 0


def test_a_session_that_ends_is_followed_by_a_fold(
    baton: Any, top: Path, git: Any, monkeypatch: pytest.MonkeyPatch
) -> None:

    for number in range(7):
        baton("followup", "add", f"part {number}", "--id", f"FU-{number}", "--reason", "later")
        baton("followup", "done", f"FU-{number}")
    component = git(top, "for-each-ref", "--format=%(refname)", "refs/heads/baton/").removeprefix("refs/heads/baton/")

    common = top / ".git"
    assert fold_archives(lambda name: open_workspace(common, name), [component], datetime.now(UTC)) == ()
    assert "folded into bundles" in baton("log").out.splitlines()[0]
    assert git(top, "ls-tree", "-r", "--name-only", f"refs/heads/baton/{component}").count("archive/") == 1


# --- two machines


def test_two_machines_that_fold_at_once_agree(ada: Machine, bob: Machine) -> None:
    archive(ada, *OLD)
    sync_until_equal(ada, bob)
    fold_now(ada)
    fold_now(bob)
    assert ada.ws.branch.read().tree == bob.ws.branch.read().tree
    before = logical(ada)
    sync_until_equal(ada, bob)
    assert logical(ada) == logical(bob) == before
    assert not ada.conflicts()


def test_what_one_machine_changed_is_kept_when_another_folds(ada: Machine, bob: Machine) -> None:
    archive(ada, *OLD)
    sync_until_equal(ada, bob)
    fold_now(bob)
    ada.ws.update("forget", ada.clock(), lambda tip: tip.state.remove(Key("follow_up", "FU-3", archived=True)))
    item = FollowUp.model_validate(ada.get("follow_up", "FU-4", archived=True).record)
    ada.ws.update(
        "reopen", ada.clock(), lambda tip: tip.state.remove(Key("follow_up", "FU-4", archived=True)).put(item)
    )
    archive(ada, "FU-new")
    sync_until_equal(ada, bob)
    for one in (ada, bob):
        assert one.get("follow_up", "FU-3", archived=True) is None
        assert one.get("follow_up", "FU-4", archived=True) is None
        assert one.get("follow_up", "FU-4") == item
        assert one.get("follow_up", "FU-new", archived=True) is not None
        assert one.get("follow_up", "FU-5", archived=True) is not None
    assert not bob.conflicts()


def test_a_record_that_was_archived_while_a_fold_waited_stays_in_a_file_of_its_own(ada: Machine) -> None:
    archive(ada, *OLD)
    keys = find_due(ada.store.folder(ada.ws.branch.read().tree))
    archive(ada, "FU-later")

    ada.ws.update(
        FOLD, ada.clock(),
        lambda tip: ProposedState(tip.state, reform=lambda draft, tree: bundle(draft, tree, keys), note="folded"),
    )  # fmt: skip
    assert len(stored_files(ada)) == 2


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["archive", "fold", "reopen", "forget", "undo", "unfold", "sync", "defer"]),
        st.sampled_from("ab"), st.integers(0, 5),
    ),
    min_size=4, max_size=14,
)  # fmt: skip


@pytest.mark.slow
@settings(
    max_examples=10,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS)
def test_no_record_is_lost_or_changed_by_folds_on_two_machines(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, int]]
) -> None:
    """Two pairs of machines do the same; only one pair folds. Their records are the same at the end."""
    pairs = []
    for folds in (True, False):
        place = tmp_path_factory.mktemp("pair")

        subprocess.run(["git", "init", "-q", "--bare", str(place / "origin.git")], check=True)
        clock = Clock()
        pair = {name: machine(place, name, clock) for name in "ab"}
        archive(pair["a"], *OLD[:6])
        sync_until_equal(*pair.values())
        made: dict[str, list[str]] = {name: [] for name in ("a", "b", "folds of a", "folds of b")}
        for action, name, number in steps:
            _step(pair[name], action, number, made, folds=folds)
        sync_until_equal(*pair.values(), rounds=6)
        pairs.append([logical(one) for one in pair.values()])
        for one in pair.values():
            assert not [found for found in validate_branch(one.ws) if found.faults]
            one.store.close()
    assert pairs[0][0] == pairs[0][1]
    assert pairs[0][0] == pairs[1][0]


def _step(one: Machine, action: str, number: int, made: dict[str, list[str]], *, folds: bool) -> None:
    """Do one step. `made` has the commits of each machine that `undo` can still revert, and those of its folds."""
    before = one.ws.branch.read().commit
    match action:
        case "fold" | "unfold":
            one.clock()
            if folds:
                _fold_or_unfold(one, made[f"folds of {one.name}"], is_back=action == "unfold")
        case "undo":
            one.clock()
            if made[one.name]:
                _undo(one, made[one.name].pop())
        case "sync":
            one.sync()
        case _:
            _change(one, action, number)
            after = one.ws.branch.read().commit
            made[one.name] += [str(after)] if after != before else []


def _change(one: Machine, action: str, number: int) -> None:
    key = Key("follow_up", f"FU-{number}", archived=True)
    closed = one.state.entry(key)
    match action:
        case "archive":
            archive(one, f"FU-{one.name}{len(one.state.ids('follow_up', archived=True))}x{number}", month=1 + number)
        case "reopen":
            if isinstance(closed, Archived):
                item = FollowUp.model_validate(closed.record)
                one.ws.update("reopen", one.clock(), lambda tip: tip.state.remove(key).put(item))
        case "defer":
            if one.get("follow_up", key.id) is not None:
                one.defer(key.id)
        case "forget":
            if closed is not None:
                one.ws.update("forget", one.clock(), lambda tip: tip.state.remove(key))
        case _:
            raise AssertionError(action)


def _undo(one: Machine, revision: str) -> None:
    with suppress(BatonError):  # all of it was changed or undone since, in both pairs
        undo(one.ws, one.clock.now, revision=revision)


def _fold_or_unfold(one: Machine, made: list[str], *, is_back: bool) -> None:
    if is_back and made:
        _undo(one, made.pop())
    elif not is_back and (folded := fold(one.ws, one.clock.now)) is not None:
        made.append(str(folded.commit))
