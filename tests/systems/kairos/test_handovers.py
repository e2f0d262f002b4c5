"""Protocol runs as verbs, and the workspace copy that other clients change."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from world import NOW, by_hand, files, later, stored, workspace

from baton_git.core.errors import (
    Busy,
    Corrupt,
    EndedError,
    InvalidArgument,
    InvalidDocument,
    LimitExceeded,
    NotFound,
    StepConflict,
    WriteFailed,
)
from baton_git.core.layout import path_of
from baton_git.core.records.base import parse
from baton_git.core.state import Key
from baton_git.namespace.workspace import Workspace
from baton_git.systems.kairos import work_tree_copy as kairos_file
from baton_git.systems.kairos.handover_files import export_kairos, import_kairos, merge_copy, remove_copy, write_copy
from baton_git.systems.kairos.handovers import Outcome, end_run, find_run, record_step, resume_run
from baton_git.systems.kairos.record import Handover, StepRequest
from baton_git.systems.kairos.work_tree_copy import Copy
from baton_git.verbs.sharing.open_conflicts import list_open_conflicts

URI = "kairos://mem/"


def make_step(challenge: str, index: int | None = None, **more: Any) -> StepRequest:
    return StepRequest(challenge, URI + challenge, index, **more)


def begin_run(ws: Workspace, id_: str = "run-1", **values: Any) -> None:
    record_step(ws, NOW, id_, make_step("resolve", 1, values=values))


def current_challenge(ws: Workspace, id_: str = "run-1") -> str | None:
    found: str | None = stored(ws, "handover", id_).step.current_challenge
    return found


@pytest.fixture
def copy(ws: Workspace, tmp_path: Path) -> Copy:
    return copy_of(ws, tmp_path / "work" / "kairos-session-handover.txt")


def copy_of(ws: Workspace, path: Path) -> Copy:
    return Copy.at(path, ws.branch.store.repository.common_dir, ws.branch.namespace)


def write_and_read(ws: Workspace, copy: Copy, id_: str = "run-1") -> bytes:
    """Write the workspace copy of a run, and return its bytes."""
    write_copy(ws, NOW, copy, id_)
    return copy.path.read_bytes()


def edit_copy(copy: Copy, *changes: tuple[str, str], at: str = "2026-11-21T09:00:00Z") -> None:
    """Change the file as another client would."""
    text = copy.path.read_text()
    for old, new in (*changes, ("2026-11-21T08:00:00Z", at)):
        assert old in text, text
        text = text.replace(old, new)
    copy.path.write_text(text)


# --- the next steps


def test_each_step_is_a_commit_and_the_history_has_them_all(ws: Workspace) -> None:
    begin_run(ws, participants={"Adam": None})
    record_step(ws, later(minutes=1), "run-1", make_step("confirm", values={"participants": {"Adam": "a@x"}}))
    assert find_run(ws, "run-1").handover.state == {"participants": {"Adam": "a@x"}}
    assert find_run(ws, "run-1", "1").handover.step.current_challenge == "resolve"
    assert [entry.op for entry in ws.branch.history()] == ["handover-step", "handover-step", "root"]


def test_the_second_of_two_clients_gets_a_conflict_with_the_current_state(
    open_workspace: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = open_workspace("s1"), open_workspace("s2")
    begin_run(one)
    update = type(two.branch).update

    def slow(*args: Any, **more: Any) -> Any:
        monkeypatch.undo()
        record_step(one, later(minutes=1), "run-1", make_step("confirm"))
        return update(*args, **more)

    monkeypatch.setattr(type(two.branch), "update", slow)
    with pytest.raises(StepConflict) as caught:
        record_step(two, later(minutes=2), "run-1", make_step("find_slot"))
    assert caught.value.current is not None
    assert caught.value.current["current_challenge"] == "confirm"
    assert current_challenge(two) == "confirm"


def test_the_second_client_that_begins_a_run_gets_a_conflict(
    open_workspace: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = open_workspace("s1"), open_workspace("s2")
    update = type(two.branch).update

    def slow(*args: Any, **more: Any) -> Any:
        monkeypatch.undo()
        begin_run(one)
        return update(*args, **more)

    monkeypatch.setattr(type(two.branch), "update", slow)
    with pytest.raises(StepConflict, match="another client was faster"):
        begin_run(two, n=1)


def test_writes_of_others_to_other_runs_are_no_conflict(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    begin_run(ws)
    update = type(ws.branch).update

    def slow(*args: Any, **more: Any) -> Any:
        monkeypatch.undo()
        begin_run(ws, "run-2")
        return update(*args, **more)

    monkeypatch.setattr(type(ws.branch), "update", slow)
    record_step(ws, later(minutes=1), "run-1", make_step("confirm"))
    assert current_challenge(ws) == "confirm"


@pytest.mark.parametrize(
    "late_request", [make_step("confirm"), make_step("other", 2), make_step("other", came_from="resolve")]
)
def test_the_second_client_of_a_step_changes_nothing(ws: Workspace, late_request: StepRequest) -> None:
    begin_run(ws)
    record_step(ws, later(minutes=1), "run-1", make_step("confirm"))
    before = ws.branch.read().commit
    with pytest.raises(StepConflict):
        record_step(ws, later(minutes=2), "run-1", late_request)
    assert ws.branch.read().commit == before


def test_an_ended_run_cannot_be_continued(ws: Workspace) -> None:
    begin_run(ws)
    end_run(ws, later(minutes=1), "run-1", "completed")
    with pytest.raises(StepConflict, match="was completed on 2026-11-21T08:01:00Z by session s1"):
        record_step(ws, later(minutes=2), "run-1", make_step("confirm"))
    with pytest.raises(EndedError, match="was completed"):
        end_run(ws, later(minutes=2), "run-1", "abandoned")


def test_a_file_that_cannot_be_read_is_reported_and_never_overwritten(ws: Workspace) -> None:
    begin_run(ws)
    broken = b"SESSION_ID: run-1\nstep_index: two\n"
    by_hand(ws, {"handover/run-1.txt": broken})
    for verb in (
        lambda: record_step(ws, NOW, "run-1", make_step("confirm", 2)),
        lambda: resume_run(ws, NOW, "run-1"),
        lambda: end_run(ws, NOW, "run-1", "completed"),
    ):
        with pytest.raises(Corrupt, match=r"line 2, step_index: is 'two'"):
            verb()
    tree = ws.branch.read().tree
    assert tree is not None
    assert ws.branch.store.folder(tree).folder("handover").read("run-1.txt") == broken


def test_a_run_that_is_too_large_is_refused(ws: Workspace) -> None:
    with pytest.raises(LimitExceeded):
        begin_run(ws, long="x" * 300_000)
    assert ws.branch.read().commit is None


def test_secrets_are_redacted(ws: Workspace) -> None:
    token = "ghp_" + "a1B2" * 9
    done = record_step(ws, NOW, "run-1", make_step("resolve", 1, values={"note": f"use {token}"}))
    assert [one.kind for _, one in done.written.redactions] == ["github token"]
    assert token not in str(find_run(ws).handover.state)


# --- resuming


def test_resuming_shows_the_step_and_its_age_and_changes_nothing(ws: Workspace) -> None:
    begin_run(ws, n=1)
    before = ws.branch.read().commit
    for _ in range(2):
        found = resume_run(ws, later(minutes=30), "run-1")
        assert found.run.handover.state == {"n": 1}
        assert (found.age.stale, found.age.seconds) == (False, 1800)
    assert resume_run(ws, later(minutes=30), stale_after=timedelta(minutes=29)).age.stale is True
    assert resume_run(ws, later(days=2), uri=f"{URI}resolve").age.stale is True
    assert ws.branch.read().commit == before


def test_resuming_an_ended_run_differs_from_resuming_an_unknown_one(ws: Workspace) -> None:
    begin_run(ws)
    end_run(ws, later(minutes=1), None, "abandoned")
    for how in ({"session": "run-1"}, {"uri": f"{URI}resolve"}):
        with pytest.raises(EndedError, match="run-1 was abandoned on 2026-11-21T08:01:00Z") as caught:
            resume_run(ws, NOW, session=how.get("session"), uri=how.get("uri"))
        assert caught.value.data["outcome"] == "abandoned"
    for how in ({"session": "run-2"}, {"uri": "kairos://other"}, {}):
        with pytest.raises(NotFound):
            resume_run(ws, NOW, session=how.get("session"), uri=how.get("uri"))


def end_again(ws: Workspace, id_: str, minutes: int, outcome: Outcome) -> None:
    """Make the run live again, as a rollback would, and end it at this minute."""
    run = parse(Handover, {"id": id_, "step": {"current_challenge": outcome, "chain_uri": f"{URI}resolve"}})
    ws.update("again", later(minutes=minutes), lambda tip: tip.state.put(run))
    end_run(ws, later(minutes=minutes), id_, outcome)


def test_a_run_that_ended_twice_shows_the_last_end(ws: Workspace) -> None:
    begin_run(ws)
    end_run(ws, later(minutes=1), "run-1", "completed")
    end_again(ws, "run-1", 2, "abandoned")
    for how in ({"session": "run-1"}, {"uri": f"{URI}resolve"}):
        with pytest.raises(EndedError, match=r"run-1 was abandoned on 2026-11-21T08:02:00Z"):
            resume_run(ws, NOW, session=how.get("session"), uri=how.get("uri"))
    assert find_run(ws, "run-1").handover.step.current_challenge == "abandoned"
    end_again(ws, "run-0", 3, "completed")
    with pytest.raises(EndedError, match=r"run-0 was completed on 2026-11-21T08:03:00Z"):
        resume_run(ws, NOW, uri=f"{URI}resolve")


def test_archived_runs_after_a_gap_in_the_numbers_are_found(ws: Workspace) -> None:
    begin_run(ws)
    end_run(ws, later(minutes=1), "run-1", "completed")
    end_again(ws, "run-1", 2, "abandoned")
    ws.update("gone", NOW, lambda tip: tip.state.remove(Key("handover", "run-1", archived=True)))
    with pytest.raises(EndedError, match="was abandoned"):
        resume_run(ws, NOW, "run-1")
    with pytest.raises(StepConflict, match="was abandoned"):
        begin_run(ws)


def test_a_run_named_like_an_archived_record_is_a_separate_run(ws: Workspace) -> None:
    begin_run(ws, "run-1.2")
    end_run(ws, later(minutes=3), "run-1.2", "abandoned")
    with pytest.raises(NotFound):
        resume_run(ws, NOW, "run-1")
    begin_run(ws)
    end_run(ws, later(minutes=1), "run-1", "completed")
    end_again(ws, "run-1", 2, "completed")
    with pytest.raises(EndedError, match="was completed on 2026-11-21T08:02:00Z"):
        resume_run(ws, NOW, "run-1")
    with pytest.raises(EndedError, match="was abandoned on 2026-11-21T08:03:00Z"):
        resume_run(ws, NOW, "run-1.2")


def test_a_long_name_that_ended_twice_is_found(ws: Workspace) -> None:
    long = "x" * 199
    endings: list[tuple[int, Outcome]] = [(1, "completed"), (2, "abandoned")]
    for minutes, outcome in endings:
        end_again(ws, long, minutes, outcome)
    with pytest.raises(EndedError, match="was abandoned"):
        resume_run(ws, NOW, long)


@pytest.mark.parametrize("name", ["run-1", "run-1.2"])
def test_a_damaged_run_in_the_archive_is_an_error(ws: Workspace, copy: Copy, name: str) -> None:
    begin_run(ws)
    write_and_read(ws, copy)
    end_run(ws, later(minutes=1), "run-1", "completed")
    path = path_of(Key("handover", name, archived=True))
    by_hand(ws, {path_of(Key("handover", "run-1", archived=True)): None, path: b"at = 1"})
    before = ws.branch.read().commit
    for verb in (
        lambda: resume_run(ws, NOW, "run-1"),
        lambda: resume_run(ws, NOW, uri=f"{URI}resolve"),
        lambda: find_run(ws, "run-1"),
        lambda: end_run(ws, NOW, "run-1", "completed"),
        lambda: record_step(ws, NOW, "run-1", make_step("resolve")),
        lambda: merge_copy(ws, NOW, copy),
    ):
        with pytest.raises(Corrupt, match=re.escape(path)):
            verb()
    assert ws.branch.read().commit == before
    record_step(ws, NOW, "run-2", make_step("confirm"))
    assert resume_run(ws, NOW, uri=f"{URI}confirm").run.handover.id == "run-2"


def test_an_ended_run_is_shown_with_its_order_of_keys(ws: Workspace) -> None:
    begin_run(ws, table={"a": 1}, number=1)
    text = export_text(ws)
    end_run(ws, later(minutes=1), "run-1", "completed")
    assert find_run(ws, "run-1").closed is not None
    assert export_text(ws, "run-1") == text


def export_text(ws: Workspace, session: str | None = None) -> bytes:
    path = ws.branch.store.repository.common_dir / "out.txt"
    assert export_kairos(ws, path, session) == "run-1"
    return path.read_bytes()


def test_an_ambiguous_name_lists_the_candidates(ws: Workspace) -> None:
    begin_run(ws)
    begin_run(ws, "run-2")
    for verb in (
        lambda: resume_run(ws, NOW),
        lambda: resume_run(ws, NOW, uri=f"{URI}resolve"),
        lambda: record_step(ws, NOW, None, make_step("confirm")),
        lambda: end_run(ws, NOW, None, "completed"),
        lambda: find_run(ws),
    ):
        with pytest.raises(InvalidArgument, match="run-1, run-2"):
            verb()
    record_step(ws, later(minutes=1), "run-2", make_step("confirm"))
    assert resume_run(ws, NOW, uri=f"{URI}confirm").run.handover.id == "run-2"


# --- the workspace copy


def test_the_copy_is_the_text_on_the_branch(ws: Workspace, copy: Copy) -> None:
    begin_run(ws, n=1)
    text = write_and_read(ws, copy)
    tree = ws.branch.read().tree
    assert tree is not None
    assert ws.branch.store.folder(tree).folder("handover").read("run-1.txt") == text
    assert [path.name for path in copy.path.parent.iterdir()] == [copy.path.name]
    assert write_and_read(ws, copy) == text


def test_changes_of_another_client_are_read(ws: Workspace, copy: Copy) -> None:
    begin_run(ws, n=1)
    write_and_read(ws, copy)
    edit_copy(copy, ("resolve", "confirm"), ("step_index: 1", "step_index: 2"), ("n: 1", "n: 2\r\nslot: a: b"))
    merged = merge_copy(ws, later(minutes=1), copy)
    assert merged is not None
    assert (merged.id, merged.contested) == ("run-1", ())
    run = find_run(ws).handover
    assert (run.step.current_challenge, run.step.step_index) == ("confirm", 2)
    assert run.state == {"n": 2, "slot": "a: b"}
    before = ws.branch.read().commit
    assert merge_copy(ws, later(minutes=2), copy) is not None
    assert ws.branch.read().commit == before
    text = copy.path.read_bytes()
    assert write_and_read(ws, copy) == text  # the values equal those on the branch, so the file is not rewritten
    record_step(ws, later(minutes=3), "run-1", StepRequest(stays=True))
    assert b"\r" not in write_and_read(ws, copy)


def test_changes_of_different_keys_are_combined(ws: Workspace, copy: Copy) -> None:
    begin_run(ws, a=1, b=1)
    write_and_read(ws, copy)
    edit_copy(copy, ("a: 1", "a: 2"))
    record_step(ws, later(minutes=1), "run-1", StepRequest(stays=True, values={"b": 2}))
    merged = merge_copy(ws, later(minutes=2), copy)
    assert merged is not None
    assert merged.contested == ()
    assert find_run(ws).handover.state == {"a": 2, "b": 2}


@pytest.mark.parametrize(("at", "winner"), [("2026-11-21T09:00:00Z", "file"), ("2026-11-21T08:00:30Z", "git")])
def test_of_conflicting_values_the_later_one_wins_and_the_other_is_kept(
    ws: Workspace, copy: Copy, at: str, winner: str
) -> None:
    begin_run(ws, a="base")
    write_and_read(ws, copy)
    edit_copy(copy, ("a: base", "a: file"), ("resolve", "find_slot"), at=at)
    record_step(ws, later(minutes=1), "run-1", make_step("confirm", values={"a": "git"}))
    merged = merge_copy(ws, later(minutes=2), copy)
    assert merged is not None
    assert merged.contested == ("step", "state.a")
    assert find_run(ws).handover.state == {"a": winner}
    assert current_challenge(ws) == ("find_slot" if winner == "file" else "confirm")
    [about_a] = [one for one in list_open_conflicts(ws) if one.field == "state.a"]
    assert {about_a.ours, about_a.theirs} == {"file", "git"}
    assert len(resume_run(ws, NOW).run.contested) == 2


@pytest.mark.parametrize(
    ("at", "winner"),
    [
        ("2026-11-21T08:01:30", "file"), ("2026-11-21T08:00:30", "git"), ("2026-11-21T10:01:30+02:00", "file"),
        ("2026-11-21T09:00:30+01:00", "git"), ("2026-11-21T03:01:30-05:00", "file"), ("soon", "git"),
        (" 2026-11-21T08:01:30Z ", "file"),
    ],
)  # fmt: skip
def test_times_are_compared_as_points_in_time_and_as_utc_without_an_offset(
    ws: Workspace, copy: Copy, monkeypatch: pytest.MonkeyPatch, at: str, winner: str
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        begin_run(ws, a="base")
        write_and_read(ws, copy)
        edit_copy(copy, ("a: base", "a: file"), at=f'"{at}"')
        record_step(ws, later(minutes=1), "run-1", StepRequest(stays=True, values={"a": "git"}))
        merge_copy(ws, later(minutes=2), copy)
        assert find_run(ws).handover.state == {"a": winner}
    finally:
        monkeypatch.undo()
        time.tzset()


def test_an_older_copy_that_baton_wrote_is_not_a_change(ws: Workspace, copy: Copy) -> None:
    begin_run(ws, a=1)
    old = write_and_read(ws, copy)
    for number in (2, 3):
        record_step(ws, later(minutes=number), "run-1", make_step(f"step{number}", values={"a": number}))
        write_and_read(ws, copy)
    before = ws.branch.read().commit
    copy.path.write_bytes(old.replace(b"\n", b"\r\n"))
    merge_copy(ws, later(minutes=5), copy)
    assert ws.branch.read().commit == before
    assert b"step3" in write_and_read(ws, copy)


def test_without_the_sync_state_of_a_copy_its_edits_are_merged(ws: Workspace, copy: Copy) -> None:
    begin_run(ws, a=1)
    write_and_read(ws, copy)
    copy.mark.unlink()
    before = ws.branch.read().commit
    merge_copy(ws, NOW, copy)
    assert ws.branch.read().commit == before
    copy.mark.unlink()
    edit_copy(copy, ("a: 1", "a: 2\nb: 3"))
    merged = merge_copy(ws, later(minutes=1), copy)
    assert merged is not None
    assert find_run(ws).handover.state == {"a": 2, "b": 3}
    assert merged.contested == ("state.a",)


def test_the_file_of_another_run_is_imported_as_that_run(ws: Workspace, copy: Copy) -> None:
    begin_run(ws)
    write_and_read(ws, copy)
    copy.path.write_text("SESSION_ID: run-2\ncurrent_challenge: x\n")
    merged = merge_copy(ws, NOW, copy)
    assert merged is not None
    assert merged.id == "run-2"
    assert current_challenge(ws, "run-2") == "x"
    assert current_challenge(ws) == "resolve"
    assert b"SESSION_ID: run-1" in write_and_read(ws, copy)


def test_a_run_missing_from_the_branch_is_restored_from_its_file(ws: Workspace, copy: Copy) -> None:
    begin_run(ws, a=1)
    write_and_read(ws, copy)
    ws.update("gone", NOW, lambda tip: tip.state.remove(Key(Handover.kind, "run-1")))
    merge_copy(ws, NOW, copy)
    assert find_run(ws).handover.state == {"a": 1}


@pytest.mark.parametrize("text", [b"a: 1\n", b"SESSION_ID: run-1\nstep_index: x\n", b"\xff\n"])
def test_a_broken_file_is_rejected_and_kept(ws: Workspace, copy: Copy, text: bytes) -> None:
    begin_run(ws)
    write_and_read(ws, copy)
    before = ws.branch.read().commit
    copy.path.write_bytes(text)
    for verb in (merge_copy, import_kairos):
        with pytest.raises(InvalidDocument, match=r"kairos-session-handover.txt: .*line \d"):
            verb(ws, NOW, copy)
    with pytest.raises(InvalidDocument):
        write_copy(ws, NOW, copy, "run-1")
    assert copy.path.read_bytes() == text
    assert ws.branch.read().commit == before


def test_a_file_that_is_too_large_is_refused_at_once(ws: Workspace, copy: Copy) -> None:
    copy.path.parent.mkdir()
    copy.path.write_bytes(b"SESSION_ID: run-1\n" + b"".join(b"k%d: 1\n" % number for number in range(60_000)))
    with pytest.raises(LimitExceeded, match=r"kairos-session-handover.txt: \d+,\d+ bytes, the limit is 262,144 bytes"):
        merge_copy(ws, NOW, copy)
    assert ws.branch.read().commit is None


def test_a_file_that_was_emptied_or_removed_is_written_anew(ws: Workspace, copy: Copy) -> None:
    begin_run(ws)
    text = write_and_read(ws, copy)
    for clear_file in (lambda: copy.path.write_bytes(b" \r\n"), copy.path.unlink):
        clear_file()
        assert merge_copy(ws, NOW, copy) is None
        assert write_and_read(ws, copy) == text


def test_an_edit_before_our_write_is_not_overwritten(
    ws: Workspace, copy: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_run(ws, a=1)
    write_and_read(ws, copy)
    record_step(ws, later(minutes=1), "run-1", StepRequest(stays=True, values={"b": 2}))
    write = Copy.write

    def slow(self: Copy, text: bytes) -> bool:
        monkeypatch.undo()
        edit_copy(copy, ("a: 1", "a: 7"))
        return write(self, text)

    monkeypatch.setattr(Copy, "write", slow)
    assert b"a: 7\nb: 2\n" in write_and_read(ws, copy)
    assert find_run(ws).handover.state == {"a": 7, "b": 2}


@pytest.mark.parametrize("is_there", [True, False])
def test_an_edit_between_our_check_and_the_rename_is_not_overwritten(
    ws: Workspace, copy: Copy, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    begin_run(ws, a=1)
    text = write_and_read(ws, copy)
    record_step(ws, later(minutes=1), "run-1", StepRequest(stays=True, values={"b": 2}))
    if not is_there:
        copy.path.unlink()
    write_all = kairos_file.write_all

    def slow(contents: Mapping[Path, bytes]) -> None:
        write_all(contents)
        monkeypatch.undo()
        copy.path.write_bytes(text.replace(b"a: 1", b"a: 7"))

    monkeypatch.setattr(kairos_file, "write_all", slow)
    assert b"a: 7\nb: 2\n" in write_and_read(ws, copy)
    assert find_run(ws).handover.state == {"a": 7, "b": 2}
    assert [path.name for path in copy.path.parent.iterdir()] == [copy.path.name]


def test_a_copy_that_keeps_changing_is_busy(ws: Workspace, copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    begin_run(ws, a=1)
    write_and_read(ws, copy)
    monkeypatch.setattr(Copy, "write", lambda *_: False)
    record_step(ws, later(minutes=1), "run-1", StepRequest(stays=True, values={"b": 2}))
    with pytest.raises(Busy, match="keeps changing"):
        write_copy(ws, NOW, copy, "run-1")


def test_a_write_through_a_link_keeps_the_link_and_the_mode_of_the_file(
    ws: Workspace, copy: Copy, tmp_path: Path
) -> None:
    begin_run(ws, a=1)
    write_and_read(ws, copy)
    copy.path.chmod(0o640)
    (tmp_path / "link").symlink_to(copy.path)
    record_step(ws, later(minutes=1), "run-1", StepRequest(stays=True, values={"b": 2}))
    write_copy(ws, NOW, copy_of(ws, tmp_path / "link"), "run-1")
    assert (tmp_path / "link").is_symlink()
    assert b"b: 2" in copy.path.read_bytes()
    assert copy.path.stat().st_mode & 0o777 == 0o640


def test_a_mark_of_an_older_version_is_ignored_and_replaced(ws: Workspace, copy: Copy) -> None:
    begin_run(ws, a=1)
    text = write_and_read(ws, copy)
    copy.mark.write_bytes(text + b"note: in the clear\n")
    before = ws.branch.read().commit
    merge_copy(ws, NOW, copy)
    assert ws.branch.read().commit == before
    assert b"in the clear" not in copy.mark.read_bytes()
    assert copy.is_stored(text)


def test_the_copy_of_an_ended_run_is_removed_unless_it_was_changed(ws: Workspace, copy: Copy) -> None:
    begin_run(ws, a=1)
    write_and_read(ws, copy)
    end_run(ws, later(minutes=1), "run-1", "completed")
    text = copy.path.read_bytes()
    edit_copy(copy, ("a: 1", "a: 2"))
    assert not remove_copy(copy, "run-1")
    copy.path.write_bytes(text)
    merge_copy(ws, later(minutes=3), copy)
    assert not remove_copy(copy, "run-2")
    assert remove_copy(copy, "run-1")
    assert not copy.path.exists()
    assert not copy.mark.exists()
    assert stored(ws, "handover", "run-1") is None


@pytest.mark.parametrize("is_marked", [True, False])
def test_a_late_edit_of_an_ended_run_is_refused_and_no_file_changes(ws: Workspace, copy: Copy, is_marked: bool) -> None:
    begin_run(ws, a=1)
    write_and_read(ws, copy)
    end_run(ws, later(minutes=1), "run-1", "completed")
    if not is_marked:
        copy.mark.unlink()
    edit_copy(copy, ("a: 1", "a: 2"), ("step_index: 1", "step_index: 2"))
    text, before = copy.path.read_bytes(), files(ws)
    for verb in (merge_copy, import_kairos):
        with pytest.raises(StepConflict, match=r"was completed on 2026-11-21T08:01:00Z by session s1; .* was changed"):
            verb(ws, later(minutes=2), copy)
    assert files(ws) == before
    assert copy.path.read_bytes() == text


def test_an_older_copy_of_an_ended_run_is_not_an_edit(ws: Workspace, copy: Copy) -> None:
    begin_run(ws, a=1)
    old = write_and_read(ws, copy)
    record_step(ws, later(minutes=1), "run-1", make_step("confirm"))
    end_run(ws, later(minutes=2), "run-1", "completed")
    copy.mark.unlink()
    before = ws.branch.read().commit
    copy.path.write_bytes(old)
    assert merge_copy(ws, later(minutes=3), copy) is not None
    assert ws.branch.read().commit == before


def test_a_folder_or_a_pipe_in_the_place_of_the_file_is_refused(ws: Workspace, tmp_path: Path) -> None:
    begin_run(ws)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(InvalidArgument):
            merge_copy(ws, NOW, copy_of(ws, path))


def test_a_failed_write_leaves_the_file_unchanged(ws: Workspace, copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    begin_run(ws)
    text = write_and_read(ws, copy)
    record_step(ws, later(minutes=1), "run-1", make_step("confirm"))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as here:
        here.setattr(os, "fsync", full)
        with pytest.raises(WriteFailed):
            write_copy(ws, NOW, copy, "run-1")
    assert copy.path.read_bytes() == text
    assert b"confirm" in write_and_read(ws, copy)


def test_each_namespace_and_file_has_a_separate_sync_state(ws: Workspace, tmp_path: Path) -> None:
    other = workspace(ws.branch.store, namespace="a/b")
    copies = [copy_of(one, tmp_path / name) for one in (ws, other) for name in ("a.txt", "b.txt")]
    assert len({one.mark for one in copies}) == 4
    assert all(one.mark.is_relative_to(ws.branch.store.repository.common_dir / "baton") for one in copies)


def test_importing_a_file_twice_makes_one_commit_and_a_missing_file_is_an_error(ws: Workspace, tmp_path: Path) -> None:
    copy = copy_of(ws, tmp_path / "k.txt")
    with pytest.raises(NotFound):
        import_kairos(ws, NOW, copy)
    copy.path.write_text("z: 1\nSESSION_ID: run-9\nupdated_at: 2025-11-25T14:30:00Z\n")
    first = import_kairos(ws, NOW, copy)
    assert import_kairos(ws, later(minutes=1), copy).written.revision.commit == first.written.revision.commit
    export_kairos(ws, tmp_path / "again.txt")
    assert (tmp_path / "again.txt").read_bytes() == copy.path.read_bytes()


def test_resuming_without_a_handover_is_an_error(ws: Workspace) -> None:
    with pytest.raises(NotFound, match="there is no live handover in namespace 'x'"):
        resume_run(ws, NOW)
