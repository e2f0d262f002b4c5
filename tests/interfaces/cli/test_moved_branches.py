"""A branch that another program deleted, moved back or replaced: what every command says, and how it comes back."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from baton_git.core.names import Namespace
from baton_git.git.refs.kept_refs import OpenKeptRef, kept_name
from baton_git.git.store import Repository, Store
from baton_git.namespace import last_tip
from baton_git.namespace.machine_state import GoneNamespaces

REF = "refs/heads/baton/work"
KEPT_REF = kept_name(REF)
COMMANDS = (
    ("list",), ("status",), ("ready",), ("log",), ("show", "FU-1"), ("read",), ("diff", "1"), ("validate",),
    ("recall", "A"), (), ("conflicts",), ("handoff",), ("boot",), ("wrap", "--context", "c"), ("init",),
    ("followup", "add", "C"), ("followup", "done", "FU-1"), ("undo",), ("rollback", "1", "--yes"),
    ("namespace", "rename", "work", "other"), ("todo", "list"), ("boot", "--json"),
)  # fmt: skip


@pytest.fixture
def tip(baton, git, top):
    """Fill the namespace with two records; return its tip."""
    baton("followup", "add", "A", "--id", "FU-1")
    baton("followup", "add", "B", "--id", "FU-2")
    return git(top, "rev-parse", REF)


def _delete(git, top):
    git(top, "branch", "-D", "baton/work")
    git(top, "gc", "-q", "--prune=now")


def _move_back(git, top):
    git(top, "update-ref", REF, f"{REF}~1")


def _replace(git, top):
    other = git(top, "commit-tree", f"{REF}~1^{{tree}}", "-p", f"{REF}~1", "-m", "mine")
    git(top, "update-ref", REF, other)


MOVES = {"deleted": _delete, "older": _move_back, "different": _replace}


@pytest.mark.parametrize("change", MOVES)
def test_every_command_says_what_happened_and_changes_nothing(baton, git, top, tip, change):
    MOVES[change](git, top)
    refs = git(top, "for-each-ref")
    for words in COMMANDS:
        done = baton(*words, code=3)
        said = done.out + done.err
        assert tip[:10] in said, words
        assert "baton namespace restore work" in said, words
        assert "was written" not in said, words
        assert git(top, "for-each-ref") == refs, words


@pytest.mark.parametrize("change", MOVES)
def test_the_command_that_is_named_brings_it_back(baton, git, top, tip, change):
    MOVES[change](git, top)
    moved = git(top, "for-each-ref", REF, "--format=%(objectname)")
    done = baton("namespace", "restore", "work", "--json").json
    assert done["commit"] == git(top, "rev-parse", REF) == tip
    assert {row["id"] for row in baton("list", "followups", "--json").json["records"]} == {"FU-1", "FU-2"}
    assert (done["backup"] is None) == (change == "deleted")
    assert moved in git(top, "for-each-ref", "refs/baton-backup/")
    assert baton("namespace", "restore", "work", "--json").json["backup"] is None


@pytest.mark.parametrize("change", MOVES)
def test_doctor_finds_it_and_repairs_it(baton, git, top, tip, change):
    MOVES[change](git, top)
    now = git(top, "for-each-ref", REF, "--format=%(objectname)")
    [finding] = [part for part in baton("doctor", "refs", "--json", code=1).json["findings"] if part["repair"]]
    assert tip[:10] in finding["summary"]
    said = baton("doctor", "--fix", "--yes", code=None).err
    assert git(top, "rev-parse", REF) == tip
    assert "error" not in [part["severity"] for part in baton("doctor", "refs", "--json").json["findings"]]
    backup = git(top, "for-each-ref", "refs/baton-backup/", "--format=%(objectname) %(refname)").partition(" ")
    assert backup[0] == now
    assert (f"the branch as it was: {backup[2]}" in said) == (change != "deleted")


@pytest.mark.parametrize("change", ["older", "different"])
def test_a_move_that_a_person_wants_is_accepted_with_one_command(baton, git, top, tip, change):
    MOVES[change](git, top)
    now = git(top, "rev-parse", REF)
    baton("namespace", "accept", "work", code=2)
    backup = baton("namespace", "accept", "work", "--yes", "--json").json["backup"]
    assert git(top, "rev-parse", backup) == tip
    assert git(top, "rev-parse", REF) == git(top, "rev-parse", KEPT_REF) == now
    baton("followup", "add", "C")


def test_a_deletion_that_a_person_wants_is_accepted_with_one_command(baton, git, top, tip):
    _delete(git, top)
    baton("namespace", "accept", "work", "--yes", code=3)
    backup = baton("namespace", "delete", "work", "--yes", "--json").json["backup"]
    assert git(top, "rev-parse", backup) == tip
    assert git(top, "for-each-ref", KEPT_REF) == ""
    assert "it was deleted on this machine" in baton("list", code=1).err
    baton("init")
    baton("followup", "add", "C")


def test_what_git_moves_forward_is_accepted_without_a_word(baton, git, top, tip):
    git(top, "worktree", "add", "-q", "../tree", "baton/work")
    tree = top.parent / "tree"
    (tree / "follow_ups" / "FU-2.toml").unlink()
    git(tree, "commit", "-qam", "by hand")
    by_hand = git(top, "rev-parse", REF)
    done = baton("list", "followups")
    assert "FU-2" not in done.out
    assert not done.err
    assert git(top, "rev-parse", KEPT_REF) == by_hand
    git(tree, "reset", "-q", "--hard", "HEAD~1")
    assert by_hand[:10] in baton("list", code=3).err
    git(top, "fetch", "-q", ".", f"+{by_hand}:{REF}", "--update-head-ok")
    baton("list")


def test_a_tip_of_git_becomes_the_last_known_one_even_if_baton_never_writes_on_it(baton, git, top, tip):
    new = git(top, "commit-tree", f"{REF}^{{tree}}", "-p", REF, "-m", "by hand")
    git(top, "update-ref", REF, new)
    baton("list")
    git(top, "update-ref", REF, tip)  # the tip that baton wrote last
    assert new[:10] in baton("list", code=3).err


@pytest.mark.parametrize("lost", [KEPT_REF, "note", "folder"])
def test_one_of_the_two_places_is_enough(baton, git, top, tip, lost):
    if lost == KEPT_REF:
        git(top, "update-ref", "-d", KEPT_REF)
    else:
        shutil.rmtree(top / ".git/baton" / ("last" if lost == "note" else ""))
    assert "FU-2" in baton("list").out
    git(top, "branch", "-D", "baton/work")
    assert tip[:10] in baton("list", code=3).err
    baton("namespace", "restore", "work")
    baton("followup", "add", "C")
    assert git(top, "rev-parse", KEPT_REF) == git(top, "rev-parse", REF)  # made again by the write


def test_a_fetch_that_prunes_all_refs_is_noticed_too(baton, git, top, tip):
    git(top, "init", "-q", "--bare", "../empty.git")
    git(top, "push", "-q", "../empty.git", "main")
    git(top, "fetch", "-q", "--prune", "--update-head-ok", "../empty.git", "+refs/*:refs/*")
    assert git(top, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert tip[:10] in baton("list", code=3).err
    baton("namespace", "restore", "work")
    assert "FU-2" in baton("list").out


def test_a_lost_commit_is_named_even_if_it_cannot_be_restored(baton, git, top, tip):
    for ref in (KEPT_REF, REF):
        git(top, "update-ref", "-d", ref)
    git(top, "gc", "-q", "--prune=now")
    said = baton("list", code=3).err
    assert tip[:10] in said
    assert "no longer here" in said
    baton("namespace", "restore", "work", code=1)
    assert "another program moved or deleted its branch" in baton("doctor", "repository", code=1).out
    baton("namespace", "delete", "work", "--yes")
    baton("init")
    baton("followup", "add", "C")


def test_a_clone_is_new_and_a_mirror_does_no_harm(baton, git, top, tip):
    git(top, "clone", "-q", "--bare", ".", "../bare.git")
    mirror = top.parent / "mirror.git"
    git(top, "init", "-q", "--bare", str(mirror))
    git(top, "push", "-q", "--mirror", str(mirror))
    assert git(mirror, "rev-parse", KEPT_REF) == tip
    for folder in (top.parent / "bare.git", mirror):
        git(folder, "update-ref", REF, f"{tip}~1")  # others push to it
        assert "FU-1" in baton("list", "--namespace", "work", cwd=folder).out
        baton("followup", "add", "D", "--namespace", "work", cwd=folder)
        assert git(folder, "rev-parse", KEPT_REF) == git(folder, "rev-parse", REF)


def test_a_sync_does_not_take_the_older_branch_of_the_remote(baton, git, top, tip):
    git(top, "init", "-q", "--bare", "../remote.git")
    git(top, "remote", "add", "origin", "../remote.git")
    git(top, "push", "-q", "origin", f"{tip}~1:{REF}")
    baton("sync", "--dry-run")
    for change in MOVES.values():
        change(git, top)
        before = git(top, "for-each-ref", REF)
        assert tip[:10] in baton("sync", code=3).err
        assert tip[:10] in baton("boot", code=3).err
        assert git(top, "for-each-ref", REF) == before
        assert git(top.parent / "remote.git", "rev-parse", REF) == git(top, "rev-parse", f"{tip}~1")
        baton("namespace", "restore", "work")


def test_a_namespace_of_the_remote_does_not_take_the_place_of_a_deleted_one(baton, git, top, tip):
    git(top, "init", "-q", "--bare", "../remote.git")
    git(top, "remote", "add", "origin", "../remote.git")
    git(top, "push", "-q", "origin", f"{tip}:refs/heads/baton/other")
    git(top, "fetch", "-q", "origin")
    git(top, "config", "--unset-all", "baton.namespace", code=5)
    _delete(git, top)
    assert tip[:10] in baton("list", code=3).err


def test_all_namespaces_are_compared(baton, git, top, tip):
    baton("init", "--namespace", "other")
    baton("followup", "add", "X", "--namespace", "other")
    git(top, "branch", "-D", "baton/other")
    baton("list", "--namespace", "work")
    rows = {row["namespace"]: row for row in baton("namespace", "list", "--json").json["namespaces"]}
    assert "namespace restore other" in rows["other"]["unreadable"]
    assert "namespace restore other" in baton("doctor", "refs", code=1).out
    baton("doctor", "--fix", "--yes", code=None)
    assert "X" in baton("list", "--namespace", "other").out


def test_a_write_that_was_killed_before_the_kept_ref_is_no_moved_branch(baton, git, top, tip, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(OpenKeptRef, "write", killed)
    baton("followup", "add", "C", "--id", "FU-3", code=None)
    monkeypatch.undo()
    assert git(top, "rev-parse", KEPT_REF) == tip
    assert git(top, "rev-parse", f"{REF}~1") == tip
    assert "FU-3" in baton("list").out


def test_an_older_baton_beside_this_one_is_no_other_program(baton, git, top, tip):
    """It moves the branch and the note of its last write; it deletes and renames without the kept ref."""
    new = git(top, "commit-tree", f"{REF}^{{tree}}", "-p", f"{REF}~1", "-m", "reset by sync --settle theirs")
    git(top, "update-ref", REF, new)
    with Store(Repository.open(top)) as store:
        store.ref_files.last_good.note(REF, new)
        baton("list")
        git(top, "update-ref", "refs/baton-backup/work/20260617T123000Z-4f2a91c0", new)
        GoneNamespaces(store.repository.common_dir).note(Namespace("work"), None)
        git(top, "update-ref", "-d", REF)
        assert last_tip.read_tip(store, "refs/heads/baton/", Namespace("work")) is None
    assert "it was deleted on this machine" in baton("list", code=1).err


def test_a_branch_that_baton_created_again_can_vanish_again(baton, git, top, tip):
    baton("namespace", "delete", "work", "--yes")
    baton("init")
    baton("followup", "add", "C")
    new = git(top, "rev-parse", REF)
    _delete(git, top)
    assert new[:10] in baton("list", code=3).err


def test_the_error_has_the_details_for_programs(baton, git, top, tip):
    _move_back(git, top)
    error = json.loads(baton("list", "--json", code=3).out)
    assert (error["error"], error["change"], error["known"]) == ("branch_moved", "older", tip)


def test_a_namespace_that_git_created_again_can_vanish_again(baton, git, top, tip):
    backup = baton("namespace", "delete", "work", "--yes", "--json").json["backup"]
    git(top, "update-ref", REF, backup)
    baton("followup", "add", "C")
    new = git(top, "rev-parse", REF)
    _delete(git, top)
    assert new[:10] in baton("list", code=3).err


def test_a_clone_of_which_only_the_newest_commits_were_fetched_is_not_believed_blindly(baton, git, top, tip):
    """A shallow fetch cuts the history off, so that nobody can tell whether the branch moved forward."""
    git(top, "clone", "-q", "--bare", ".", "../other.git")
    other = git(top.parent / "other.git", "commit-tree", f"{tip}^{{tree}}", "-p", tip, "-m", "a newer one")
    git(top.parent / "other.git", "update-ref", REF, other)
    url = f"file://{top.parent}/other.git"
    git(top, "fetch", "-q", "--depth=1", url, f"+{REF}:{REF}")
    said = baton("list", code=3).err
    assert "cut off" in said
    git(top, "fetch", "-q", "--unshallow", url, f"+{REF}:{REF}")
    baton("list")


def test_a_branch_that_leads_to_nothing_or_to_another_does_not_become_the_last_known_tip(baton, git, top, tip):
    ref = top / ".git" / REF
    ref.write_text("1" * 40 + "\n")
    baton("list", code=1)
    assert git(top, "rev-parse", KEPT_REF) == tip
    ref.write_text("ref: refs/heads/main\n")
    baton("list", code=1)
    assert git(top, "rev-parse", KEPT_REF) == tip
    ref.write_text(f"{tip}\n")
    baton("list")


def test_a_damaged_kept_ref_disturbs_nothing_and_is_repaired(baton, git, top, tip):
    (top / ".git" / KEPT_REF).write_text("")
    for words in (("list",), ("namespace", "list"), ("recall", "A")):
        baton(*words)
    assert KEPT_REF in baton("doctor", "refs", code=1).out
    baton("doctor", "--fix", "--yes", code=None)
    assert git(top, "rev-parse", KEPT_REF) == tip


def test_copies_of_refs_by_another_program_disturb_nothing(baton, git, top, tip):
    for ref in (REF, KEPT_REF):
        shutil.copy(top / ".git" / ref, top / ".git" / f"{ref} 2")
    for words in (("list",), ("namespace", "list"), ("recall", "A"), ("followup", "add", "C")):
        baton(*words)
    assert f"{KEPT_REF} 2" in baton("doctor", "refs", code=1).out


def test_no_other_namespace_takes_the_name_of_a_deleted_one(baton, git, top, tip):
    baton("init", "--namespace", "other")
    _delete(git, top)
    assert tip[:10] in baton("namespace", "rename", "other", "work", code=3).err
    assert tip[:10] in baton("init", "--namespace", "work", code=3).err
    assert not git(top, "for-each-ref", REF)


def test_a_folder_outside_of_repositories_keeps_its_namespace(baton, git, tmp_path):
    folder = tmp_path / "notes"
    (folder / "inner").mkdir(parents=True)
    baton("init", cwd=folder)
    baton("followup", "add", "A", cwd=folder)
    store = Path(os.environ["XDG_DATA_HOME"]) / "baton/state.git"
    [ref] = git(store, "for-each-ref", "--format=%(refname)", "refs/heads/baton/").split()
    tip = git(store, "rev-parse", ref)
    git(store, "update-ref", "-d", ref)
    assert tip[:10] in baton("list", cwd=folder / "inner", code=3).err


def _point_at_the_project(git, top):
    git(top, "branch", "-q", "-f", "baton/work", "main")


def _point_at_an_empty_commit(git, top):
    tree = git(top, "hash-object", "-t", "tree", "-w", "/dev/null")
    git(top, "update-ref", REF, git(top, "commit-tree", tree, "-m", "orphan"))


def _remove_the_format(git, top):
    """Commit a tree without `format.toml` on top: the branch moves forward, and is no namespace any more."""
    tree = git(top, "rev-parse", f"{REF}:follow_ups")
    git(top, "update-ref", REF, git(top, "commit-tree", tree, "-p", REF, "-m", "by hand"))


def _break_the_format(git, top, text="version = 1\n<<<<<<< HEAD\n"):
    """Commit a `format.toml` that cannot be read on the branch, as a merge with markers left in it does."""
    blob = git(top, "hash-object", "-w", "--stdin", text=text)
    rest = [line for line in git(top, "ls-tree", REF).splitlines() if not line.endswith("\tformat.toml")]
    tree = git(top, "mktree", text="\n".join([*rest, f"100644 blob {blob}\tformat.toml"]) + "\n")
    git(top, "update-ref", REF, git(top, "commit-tree", tree, "-p", REF, "-m", "by hand"))


FOREIGN = {
    "project": _point_at_the_project, "orphan": _point_at_an_empty_commit, "forward": _remove_the_format,
    "broken": _break_the_format,
}  # fmt: skip


@pytest.fixture(params=FOREIGN)
def foreign(request, git, top, tip):
    """Move the branch to a commit that is no revision of baton; return it."""
    FOREIGN[request.param](git, top)
    return git(top, "rev-parse", REF)


def test_a_branch_at_a_commit_that_is_not_batons_is_restored(baton, git, top, tip, foreign):
    for words in (("status",), ("boot",), ("followup", "add", "C"), ("list",)):
        said = baton(*words, code=3).err
        assert f"to {foreign[:10]}, which is no revision of baton" in said, words
        assert f"last known: revision 2 ({tip[:10]})" in said, words
        assert "baton namespace restore work" in said, words
    backup = baton("namespace", "restore", "work", "--json").json["backup"]
    assert git(top, "rev-parse", backup) == foreign
    assert git(top, "rev-parse", REF) == git(top, "rev-parse", KEPT_REF) == tip
    baton("followup", "add", "C")


@pytest.mark.parametrize("text", ["<<<<<<< HEAD\n", "", "version = 'one'\n"])
def test_a_known_tip_whose_format_cannot_be_read_has_a_way_back(baton, git, top, tip, text):
    _break_the_format(git, top, text)
    broken = git(top, "rev-parse", REF)
    git(top, "update-ref", KEPT_REF, broken)  # as after a clone, or as an older baton left it
    for words in (("list",), ("boot",), ("undo",), ("rollback", "1"), ("doctor", "repository", "versions")):
        done = baton(*words, code=None)
        assert "baton namespace restore work" in done.out + done.err, words
        assert "bug in baton" not in done.out, words
    baton("namespace", "restore", "work")
    assert git(top, "rev-parse", REF) == tip
    assert broken in git(top, "for-each-ref", "refs/baton-backup/")


def test_doctor_repairs_a_branch_at_a_commit_that_is_not_batons(baton, git, top, tip, foreign):
    baton("doctor", "--fix", "--yes", code=None)
    assert git(top, "rev-parse", REF) == tip
    assert foreign in git(top, "for-each-ref", "refs/baton-backup/")


def test_a_namespace_does_not_go_on_at_a_commit_that_is_not_batons(baton, git, top, tip, foreign):
    said = baton("namespace", "accept", "work", "--yes", code=None).err
    assert "is no revision of baton" in said
    assert "baton namespace restore work" in said
    assert "baton namespace delete work" in said
    assert (git(top, "rev-parse", REF), git(top, "rev-parse", KEPT_REF)) == (foreign, tip)


def test_a_namespace_at_a_commit_that_is_not_batons_is_deleted(baton, git, top, tip, foreign):
    done = baton("namespace", "delete", "work", "--yes", "--json").json
    assert (done["commit"], done["records"]) == (tip, 2)
    assert git(top, "rev-parse", done["backup"]) == tip
    assert foreign in git(top, "for-each-ref", "refs/baton-backup/")
    assert not git(top, "for-each-ref", REF)
    assert "it was deleted on this machine" in baton("list", code=1).err


@pytest.fixture
def pruned(git, top, tip):
    """Delete the branch, its kept ref and its commits; return a clone that still has them."""
    git(top, "clone", "-q", "--bare", ".", "../clone.git")
    for ref in (KEPT_REF, REF):
        git(top, "update-ref", "-d", ref)
    git(top, "gc", "-q", "--prune=now")
    return top.parent / "clone.git"


def test_doctor_says_what_can_be_done_if_the_commits_are_gone(baton, git, top, tip, pruned):
    for words in (("doctor",), ("doctor", "--fix", "--yes"), ("doctor", "refs"), ("namespace", "restore", "work")):
        done = baton(*words, code=None)
        said = done.out + done.err
        assert done.code, words
        assert "brings it back" not in said, words
        assert "could not be checked" not in said, words
        assert "git fetch" in said, words
        assert "another clone" in said, words
    git(top, "fetch", "-q", str(pruned), REF)
    baton("namespace", "restore", "work")
    assert git(top, "rev-parse", REF) == tip


def test_the_figures_of_a_deleted_branch_are_unknown(baton, git, top, tip):
    git(top, "update-ref", "-d", REF)
    row = baton("namespace").out.splitlines()[1].split()
    assert row[:3] == ["work", "unknown", "unknown"]


def test_the_figures_of_commits_that_are_gone_are_unknown(baton, git, top, tip, pruned):
    assert baton("namespace").out.splitlines()[1].split()[:3] == ["work", "unknown", "unknown"]
    shown = baton("namespace", "delete", "work", "--dry-run", "--json").json
    assert (shown["revision"], shown["records"]) == (None, None)
    said = baton("namespace", "delete", "work", "--yes")
    assert "(its commits are no longer here)" in said.out + said.err
    assert "has its last revision" not in baton("list", code=1).err


@pytest.mark.parametrize("edit", [False, True])
def test_a_commit_of_outdated_files_is_told_until_what_it_took_back_is_there_again(baton, git, top, tip, edit):
    """`git commit -a` in a work tree that has the branch checked out, with and without an edit of the user."""
    git(top, "worktree", "add", "-q", "../files", "baton/work")
    baton("followup", "add", "C", "--id", "FU-3")
    baton("followup", "add", "D", "--id", "FU-4")
    if edit:
        file = top.parent / "files/follow_ups/FU-1.toml"
        file.write_text(file.read_text().replace('"A"', '"A, by hand"'))
    git(top.parent / "files", "commit", "-qam", "careless")
    assert "FU-3" not in baton("list").out
    careless = git(top, "rev-parse", REF)[:10]
    for _ in range(2):  # a start writes the record of its session on top
        assert f"commit {careless} was made by hand" in baton("boot").out
        [item] = baton("ready", "--json").json["items"]
        assert (item["need"], item["kind"], item["id"]) == ("reverted", "commit", careless)
        assert item["command"] == f"baton undo {careless}"
    assert f"baton undo {careless}" in baton("doctor", "provenance", code=1).out
    baton(*item["command"].split()[1:])
    assert {row["id"] for row in baton("list", "followups", "--json").json["records"]} == {
        "FU-1",
        "FU-2",
        "FU-3",
        "FU-4",
    }
    assert not baton("ready", "--json").json["items"]


def test_a_commit_that_took_one_record_back_beside_an_edit_names_the_command_for_that_record(baton, git, top, tip):
    git(top, "worktree", "add", "-q", "../files", "baton/work")
    baton("followup", "add", "C", "--id", "FU-3")
    (top.parent / "files/note.md").write_text("mine\n")
    git(top.parent / "files", "add", "note.md")
    git(top.parent / "files", "commit", "-qam", "careless")
    [item] = baton("ready", "--json").json["items"]
    assert "FU-3 added: C" in item["title"]
    baton(*item["command"].split()[1:])
    assert "FU-3" in baton("list").out
    assert git(top, "show", f"{REF}:note.md") == "mine"
    assert not baton("ready", "--json").json["items"]


def test_an_intended_revert_is_not_told(baton, git, top, tip):
    git(top, "worktree", "add", "-q", "../files", "baton/work")
    git(top.parent / "files", "revert", "--no-edit", tip)
    assert not baton("ready", "--json").json["items"]
    (top.parent / "files/note.md").write_text("mine\n")
    git(top.parent / "files", "add", "note.md")
    git(top.parent / "files", "commit", "-qm", "a note")
    assert not baton("ready", "--json").json["items"]
