"""A plain `git merge` or `git pull` in a work tree of the branch has the same result as a sync."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from machines import REF, Machine, loop, sync_until_equal

from baton_git.core.names import Oid
from baton_git.git.store import TreeEntry
from baton_git.namespace.merge_commit import create_merge_commit
from baton_git.namespace.merge_driver import merge_file
from baton_git.verbs.upkeep.validation import validate_branch
from baton_git.verbs.work_items.loops import close_loop

Pair = tuple[Machine, Machine]
DRIVER = f"{sys.executable} -m baton_git merge-driver %O %A %B %P"


class Person:
    """A user of Ada's machine who has checked out the branch in a separate work tree."""

    def __init__(self, ada: Machine, bob: Machine) -> None:
        self.ada, self.bob = ada, bob
        self.tree = ada.top.with_name("tree")
        ada.git("config", "merge.baton.driver", DRIVER)
        ada.git("config", "pull.rebase", "false")

    def git(self, *args: str, code: int | None = 0) -> str:
        done = subprocess.run(["git", "-C", str(self.tree), *args], capture_output=True, text=True, timeout=60)
        assert code in (None, done.returncode), f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def fetch_and_merge_as_a_sync(self) -> str:
        """Check out Ada's branch, fetch Bob's, and return the tree that a sync would make of both."""
        self.ada.git("worktree", "add", "-q", str(self.tree), "baton/x")
        self.ada.git("fetch", "-q", str(self.bob.top), f"{REF}:refs/other")
        done = create_merge_commit(self.ada.store, self.ada.tip, self.bob.tip)
        return done.tree

    def check_git_merge(self, *, stops: bool = False) -> None:
        """Merge with git, and check that the result is the tree of a sync.

        `stops`: git must stop at a conflict; the person then commits the files as they are.
        """
        wanted = self.fetch_and_merge_as_a_sync()
        self.git("merge", "-q", "--no-edit", "refs/other", code=1 if stops else 0)
        if stops:
            self.git("add", "-A")
            self.git("commit", "-q", "--no-edit")
        assert self.git("rev-parse", "HEAD^{tree}").strip() == wanted, self.describe_files(wanted)

    def describe_files(self, wanted: str) -> str:
        """Return the files of both trees, for the message of a failed assertion."""
        draft = create_merge_commit(self.ada.store, self.ada.store.commit(self.ada.tip).parents[0], self.bob.tip).draft
        tree = draft.folder(Oid(wanted))
        return f"{self.git('ls-tree', '-r', 'HEAD')}\n{self.git('status', '--short')}\n{tree.entries()}"


@pytest.fixture
def person(pair: Pair) -> Person:
    return Person(*pair)


def test_git_merges_different_records_as_a_sync_does(person: Person) -> None:
    person.ada.loop("OL-2")
    person.bob.loop("OL-3")
    person.check_git_merge()


def test_git_merges_different_fields_of_one_record_as_a_sync_does(person: Person) -> None:
    person.ada.change("open_loop", "OL-1", action="here")
    person.bob.change("open_loop", "OL-1", expected_outcome="there")
    person.check_git_merge()


def test_git_merge_adds_the_counters_of_both_sides(person: Person) -> None:
    person.ada.defer("FU-1")
    person.bob.defer("FU-1")
    person.bob.defer("FU-1")
    person.check_git_merge()
    assert person.ada.get("follow_up", "FU-1").defer_count == 3


def test_git_merge_tree_takes_the_driver_from_the_work_tree_where_it_is_run(person: Person) -> None:
    """Seen with git 2.39.5: `git merge-tree --write-tree` reads .gitattributes in the work tree or the index (attr.c),
    and not in the commits that it merges. So its result depends on the branch that happens to be checked out, and is
    a plain text merge on `main`. A sync merges the records itself, wherever it is run.
    """
    person.ada.defer("FU-1")
    person.bob.defer("FU-1")
    person.bob.defer("FU-1")
    wanted = person.fetch_and_merge_as_a_sync()
    command = ("git", "merge-tree", "--write-tree", "baton/x", "refs/other")
    in_branch, in_main = (
        subprocess.run(command, cwd=folder, capture_output=True, text=True) for folder in (person.tree, person.ada.top)
    )
    assert (in_branch.returncode, in_branch.stdout.split()) == (0, [wanted])
    assert in_main.stdout.split()[0] != wanted
    assert create_merge_commit(person.ada.store, person.ada.tip, person.bob.tip).tree == wanted


def test_a_record_archived_here_and_edited_there_is_archived_with_the_edit(person: Person) -> None:
    close_loop(person.ada.ws, person.ada.clock(), "OL-1", reason="done")
    person.bob.change("open_loop", "OL-1", action="edited")
    person.check_git_merge()
    assert person.ada.get("open_loop", "OL-1", archived=True).record["action"] == "edited"


def test_git_merges_a_record_edited_here_and_archived_there_as_a_sync_does(person: Person) -> None:
    close_loop(person.bob.ws, person.bob.clock(), "OL-1", reason="done")
    person.ada.change("open_loop", "OL-1", action="edited")
    person.check_git_merge()


def test_a_conflict_stops_git_merge_until_add_and_commit(person: Person) -> None:
    person.ada.change("open_loop", "OL-1", action="here")
    person.bob.change("open_loop", "OL-1", action="there")
    person.check_git_merge(stops=True)
    assert person.ada.list_conflicting_fields() == [("OL-1", "action")]


def test_two_records_under_one_id_both_stay_after_git_merge(person: Person) -> None:
    person.ada.loop("OL-2", "deployed the shop")
    person.bob.loop("OL-2", "cleaned the disk")
    person.check_git_merge(stops=True)
    assert len(person.ada.state.ids("open_loop")) == 3


def test_git_merge_stops_at_an_unreadable_record_and_keeps_the_readable_one(person: Person) -> None:
    person.ada.by_hand({"open_loops/OL-1.toml": b"broken [\n"})
    person.bob.change("open_loop", "OL-1", action="edited")
    person.check_git_merge(stops=True)
    assert person.ada.get("open_loop", "OL-1").action == "edited"


def test_sessions_that_ended_on_different_machines_merge_to_the_tree_of_a_sync(person: Person) -> None:
    from baton_git.verbs.sessions.session_end import end_session
    from baton_git.verbs.sessions.session_start import StartOptions, begin_session

    for one in (person.ada, person.bob):
        begin_session(one.ws, one.clock(), StartOptions(sync_seconds=0))
        end_session(one.ws, one.clock(), context=f"from {one.name}")
    wanted = person.fetch_and_merge_as_a_sync()
    output = person.git("merge", "-q", "--no-edit", "refs/other", code=None)
    person.git("add", "-A")
    person.git("commit", "-q", "--no-edit", "--allow-empty", code=None)
    assert person.git("rev-parse", "HEAD^{tree}").strip() == wanted, output


def test_both_machines_can_sync_after_git_pull_and_push(person: Person) -> None:
    """The person pulls, pushes, and both machines go on from there."""
    ada, bob = person.ada, person.bob
    ada.defer("FU-1")
    bob.defer("FU-1")
    bob.sync()
    ada.git("worktree", "add", "-q", str(person.tree), "baton/x")
    person.git("pull", "-q", "--no-edit", "origin", "baton/x")
    person.git("push", "-q", "origin", "HEAD:baton/x")
    assert ada.get("follow_up", "FU-1").defer_count == 2
    sync_until_equal(ada, bob)
    assert bob.get("follow_up", "FU-1").defer_count == 2
    assert all(not one.faults for one in validate_branch(ada.ws))


def test_lines_that_end_in_crlf_are_read_and_merged(person: Person) -> None:
    text = person.ada.files()["open_loops/OL-1.toml"]
    crlf = text.replace(b"\n", b"\r\n")
    done = merge_file(person.ada.store, "open_loops/OL-1.toml", text, crlf, text + b'colour = "red"\n')
    assert done.other_files == {}
    assert b'colour = "red"' in done.text


def test_an_empty_base_counts_as_no_base(person: Person) -> None:
    same = loop("OL-7")
    done = merge_file(person.ada.store, "open_loops/OL-7.toml", b"", same, same)
    assert (done.text, done.other_files) == (same, {})
    done = merge_file(person.ada.store, "open_loops/OL-7.toml", b"", same, same + b'colour = "red"\n')
    assert b'colour = "red"' in done.text
    assert done.other_files == {}


@pytest.mark.parametrize("broken", [b"", b"broken [", b"\0\xff"])
def test_a_broken_side_never_removes_the_change_of_the_other(person: Person, broken: bytes) -> None:
    fine = loop("OL-7")
    done = merge_file(person.ada.store, "open_loops/OL-7.toml", fine, broken, fine + b'colour = "red"\n')
    assert b'colour = "red"' in done.text or any(b"red" in text for text in done.other_files.values())


@pytest.mark.parametrize("here", [False, True])
def test_git_merge_takes_over_a_mode_that_a_sync_may_drop_and_validate_names_the_file(
    person: Person, here: bool
) -> None:
    """git merges the modes itself, and the merge driver only the content. A sync keeps the modes of the first side, and
    says so (tests/namespace/sync/test_file_modes.py)."""
    path = "follow_ups/FU-1.toml"
    changing, other = (person.ada, person.bob) if here else (person.bob, person.ada)
    changing.by_hand({path: TreeEntry(Oid(changing.git("rev-parse", f"{REF}:{path}")), False, 0o100755)})
    for _ in range(4):
        other.defer("FU-1")
    wanted = person.fetch_and_merge_as_a_sync()
    person.git("merge", "-q", "--no-edit", "refs/other")
    assert person.git("ls-tree", "HEAD", path).startswith("100755 ")
    assert person.git("rev-parse", "HEAD^{tree}").strip() != wanted
    assert person.ada.get("follow_up", "FU-1").defer_count == 4
    assert [file.path for file in validate_branch(person.ada.ws) if file.faults] == [path]
    person.ada.sync()
    notes = person.bob.sync().notes
    assert [note.startswith(f"the mode 100755 of {path} ") for note in notes] == ([True] if here else [])


def test_files_that_are_not_records_are_merged_by_git(person: Person) -> None:
    person.ada.by_hand({"notes.txt": b"a\n"})
    person.bob.by_hand({"other.txt": b"b\n"})
    person.check_git_merge()


def test_init_registers_the_merge_driver_that_the_gitattributes_of_the_branch_name(
    top: Path, baton: Callable[..., object], git: Callable[..., str]
) -> None:
    baton("init")
    driver = git(top, "config", "merge.baton.driver")
    assert driver.endswith("merge-driver %O %A %B %P")
    assert "merge=baton" in git(top, "show", "baton/work:.gitattributes")
