"""Merge commits: every machine makes the same commit, for all shapes of histories and files."""

from __future__ import annotations

import subprocess

import pytest
from machines import REF, Machine, loop, sync_until_equal

from baton_git.core.errors import Unsettled
from baton_git.core.layout import OLDER_ROOTS, ROOT_FILES
from baton_git.core.names import Oid
from baton_git.core.records.work_items import OpenLoop
from baton_git.core.state import Key
from baton_git.git.store import ReflogEntry, Repository, Store, TreeEntry
from baton_git.namespace.caller import Vouching
from baton_git.namespace.merge_commit import AUTHOR, LATEST, create_merge_commit, is_automatic_merge, is_root
from baton_git.namespace.provenance.labels import Labels
from baton_git.verbs.sharing.conflict_resolution import resolve

Pair = tuple[Machine, Machine]


def merge_on_both_machines(one: Machine, other: Machine) -> Oid:
    """Merge both tips on both machines, in both orders and with stores without caches; return the merge commit."""
    tips = one.tip, other.tip
    one.git("fetch", "-q", str(other.top), f"{REF}:refs/other")
    other.git("fetch", "-q", str(one.top), f"{REF}:refs/other")
    found = set()
    for here in (one, other):
        for first, second in (tips, tips[::-1]):
            with Store(Repository.open(here.top)) as store:
                found.add(create_merge_commit(store, first, second).commit)
    assert len(found) == 1, found
    return found.pop()


def merged(one: Machine, other: Machine) -> dict[str, bytes]:
    """Merge both machines' tips and move the branch of `one` to the merge; return the files of the merge."""
    new = merge_on_both_machines(one, other)
    done = create_merge_commit(one.store, one.tip, other.tip)
    assert done.commit == new
    assert one.ws.branch.advance(done.draft, one.tip, new, one.ws.stamp("sync", one.clock()), by="sync")
    assert not one.git("fsck", "--strict", "--no-dangling")
    return one.files()


def conflicts_in(files: dict[str, bytes]) -> list[str]:
    return [path for path in files if path.startswith("conflicts/")]


# --- one commit id


def test_both_machines_make_the_same_commit(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-2")
    ada.defer("FU-1")
    bob.loop("OL-3")
    bob.defer("FU-1")
    bob.defer("FU-1")
    files = merged(ada, bob)
    assert {"open_loops/OL-2.toml", "open_loops/OL-3.toml"} <= files.keys()


def test_the_merge_commit_has_a_fixed_author_and_a_time_from_its_parents(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-2")
    bob.loop("OL-3")
    bob.loop("OL-4")
    times = [one.store.commit(one.tip).time for one in pair]
    tips = bob.tip, ada.tip  # the longer line first
    merged(ada, bob)
    info = ada.store.commit(ada.tip)
    assert info.parents == tips
    assert info.author == AUTHOR
    assert info.time == max(times)
    assert "Baton-Op: merge" in info.message
    assert is_automatic_merge(ada.store, info)


def test_independently_proposed_rules_conflict_and_older_merges_are_recognised(pair: Pair) -> None:
    ada, bob = pair
    for one, rule in ((ada, "look first"), (bob, "ask first")):
        one.pattern("PAT-9", rule)
    files = merged(ada, bob)
    assert ada.get("pattern", "PAT-9").proposed_rule == "look first"
    assert [conflict.field for conflict in ada.conflicts()] == ["proposed_rule"]
    assert len(conflicts_in(files)) == 1
    parents = ada.store.commit(ada.tip).parents
    older = create_merge_commit(ada.store, *parents, rules=1)
    ada.store.publish(older.draft, "refs/older", None, older.commit, ReflogEntry(AUTHOR, 0, 0, "x"))
    assert older.commit != ada.tip
    assert is_automatic_merge(ada.store, ada.store.commit(older.commit))
    now, then = (Labels(ada.ws.branch, tip, Vouching()).of(Key("pattern", "PAT-9")) for tip in (ada.tip, older.commit))
    assert (now.kind, then) == ("hand", now)  # git fetched bob's claim, which counts like a commit by hand


def test_a_merge_commit_with_additional_changes_is_not_an_automatic_merge(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-2")
    bob.loop("OL-3")
    merged(ada, bob)
    info = ada.store.commit(ada.tip)
    draft = ada.store.draft()
    tree = draft.tree(info.tree, {"open_loops/OL-9.toml": loop("OL-9")})
    new = draft.commit(tree, info.parents, author=AUTHOR, time=info.time, timezone=0, message=info.message)
    ada.store.publish(draft, "refs/forged", None, new, ReflogEntry(AUTHOR, 0, 0, "x"))
    assert not is_automatic_merge(ada.store, ada.store.commit(new))


def test_only_the_unchanged_first_commit_counts_as_the_common_root(ada: Machine) -> None:
    ada.ws.branch.create(ada.ws.stamp("init", ada.clock()))
    assert is_root(ada.store, ada.store.commit(ada.tip))
    draft = ada.store.draft()
    tree = draft.tree(ada.store.commit(ada.tip).tree, {"open_loops/OL-9.toml": loop("OL-9")})
    message = ada.store.commit(ada.tip).message
    new = draft.commit(tree, (), author=AUTHOR, time=0, timezone=0, message=message)
    ada.store.publish(draft, "refs/forged", None, new, ReflogEntry(AUTHOR, 0, 0, "x"))
    assert not is_root(ada.store, ada.store.commit(new))


# --- histories


@pytest.mark.parametrize("older", OLDER_ROOTS, ids=["with-an-address", "without-handovers"])
def test_an_older_root_counts_and_is_merged_with_the_newest_without_a_conflict(
    ada: Machine, bob: Machine, older: dict[str, bytes]
) -> None:
    draft = ada.store.draft()
    new = draft.commit(draft.tree(None, older), [], author=AUTHOR, time=0, timezone=0, message="root")
    assert ada.store.publish(draft, REF, None, new, ReflogEntry(AUTHOR, 0, 0, "root"))
    assert is_root(ada.store, ada.store.commit(new))
    ada.loop("OL-1")
    bob.loop("OL-2")
    sync_until_equal(ada, bob)
    assert {"open_loops/OL-1.toml", "open_loops/OL-2.toml"} <= ada.files().keys()
    assert {name: ada.files()[name] for name in ROOT_FILES} == ROOT_FILES
    assert not [name for name in ada.files() if name.startswith("conflicts/")]


def test_criss_cross_merges_use_a_merge_of_all_bases(pair: Pair) -> None:
    """Each machine merged the other's commit with git alone and then added a commit."""
    ada, bob = pair
    ada.defer("FU-1")
    bob.defer("FU-1")
    first, second = ada.tip, bob.tip
    ada.git("fetch", "-q", str(bob.top), f"{REF}:refs/other")
    bob.git("fetch", "-q", str(ada.top), f"{REF}:refs/other")
    tree = create_merge_commit(ada.store, first, second).tree
    for one, parents, text in ((ada, (first, second), "a"), (bob, (second, first), "b")):
        draft = create_merge_commit(one.store, first, second).draft
        new = draft.commit(tree, parents, author=AUTHOR, time=one.store.commit(first).time, timezone=0, message=text)
        stamp = one.ws.stamp("sync", one.clock())
        assert one.ws.branch.advance(draft, one.tip, new, stamp, by="sync")
        one.defer("FU-1")
    assert len(ada.store.merge_bases(first, second)) == 1
    merge_on_both_machines(ada, bob)
    assert len(ada.store.merge_bases(ada.tip, bob.tip)) == 2
    merged(ada, bob)
    assert ada.get("follow_up", "FU-1").defer_count == 4


def test_unrelated_branches_are_merged(ada: Machine, bob: Machine) -> None:
    """Bob's branch was made by hand and does not begin with the common first commit."""
    ada.loop("OL-1")
    ada.loop("OL-same")
    files = ada.files()
    draft = bob.store.draft()
    ours = {name: files[name] for name in ("format.toml", ".gitattributes", "open_loops/OL-same.toml")}
    tree = draft.tree(None, {**ours, "open_loops/OL-2.toml": loop("OL-2")})
    new = draft.commit(tree, (), author="Bob <b>", time=5, timezone=0, message="by hand")
    bob.store.publish(draft, REF, None, new, ReflogEntry("Bob <b>", 5, 0, "x"))
    found = merged(ada, bob)
    assert {"OL-1", "OL-2", "OL-same"} == ada.state.ids("open_loop")
    assert not conflicts_in(found)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0, 1, 253_402_300_799, 1 << 62])
@pytest.mark.parametrize("timezone", [0, -12 * 3600 + 60, 14 * 3600])
def test_both_machines_make_the_same_merge_commit_despite_wrong_clocks(pair: Pair, seconds: int, timezone: int) -> None:
    ada, bob = pair
    ada.by_hand({"open_loops/OL-2.toml": loop("OL-2")}, seconds=seconds, timezone=timezone)
    bob.loop("OL-3")
    merged(ada, bob)
    assert ada.store.commit(ada.tip).time == min(max(seconds, ada.store.commit(bob.tip).time), LATEST)
    assert ada.git("log", "-1", "--format=%H", REF) == ada.tip
    ada.loop("OL-4")
    assert ada.ws.branch.read().number > 0


def test_both_machines_make_the_same_merge_commit_despite_wrong_revision_trailers(pair: Pair) -> None:
    ada, bob = pair
    lie = "by hand\n\nBaton-Op: edit\nBaton-Revision: 999999999\n"
    ada.by_hand({"open_loops/OL-2.toml": loop("OL-2")}, message=lie)
    bob.loop("OL-3")
    merged(ada, bob)
    ada.loop("OL-4")
    assert {"OL-2", "OL-3", "OL-4"} <= ada.state.ids("open_loop")
    assert bob.tip is not None
    bob.git("fetch", "-q", str(ada.top), f"{REF}:refs/other")
    assert create_merge_commit(
        bob.store, bob.by_hand({"notes": b"x\n"}), Oid(bob.git("rev-parse", "refs/other"))
    ).commit


# --- bytes


def test_records_changed_on_at_most_one_side_keep_their_bytes(pair: Pair) -> None:
    ada, bob = pair
    commented = b"# by hand, do not lose me\n" + loop("OL-9") + b"\n# the end"
    spaced = loop("OL-8").replace(b" = ", b"   =   ")
    ada.by_hand({"open_loops/OL-9.toml": commented})
    ada.sync()
    bob.sync()
    bob.by_hand({"open_loops/OL-8.toml": spaced, "open_loops/OL-1.toml": b"# mine\n" + loop("OL-1")})
    ada.loop("OL-2")
    files = merged(ada, bob)
    assert files["open_loops/OL-9.toml"] == commented
    assert files["open_loops/OL-8.toml"] == spaced
    assert files["open_loops/OL-1.toml"] == b"# mine\n" + loop("OL-1")
    assert files["open_loops/OL-2.toml"] == ada.store.read(Oid(ada.git("rev-parse", f"{REF}:open_loops/OL-2.toml")))


def test_unknown_fields_are_merged_too(pair: Pair) -> None:
    ada, bob = pair
    text = ada.files()["open_loops/OL-1.toml"]
    ada.by_hand({"open_loops/OL-1.toml": text + b'colour = "red"\n'})
    bob.by_hand({"open_loops/OL-1.toml": text + b'shape = "round"\n'})
    files = merged(ada, bob)
    assert b'colour = "red"' in files["open_loops/OL-1.toml"]
    assert b'shape = "round"' in files["open_loops/OL-1.toml"]


# --- files that are not records


LINES = "".join(f"line {number}\n" for number in range(20))


@pytest.fixture
def noted(pair: Pair) -> Pair:
    """Return two machines that both have `notes.txt` with twenty lines and the binary file `bin`."""
    ada, bob = pair
    ada.by_hand({"notes.txt": LINES.encode(), "bin": b"\0one", "docs/a.txt": b"a\n"})
    ada.sync()
    bob.sync()
    return ada, bob


def test_texts_are_merged_line_by_line(noted: Pair) -> None:
    ada, bob = noted
    ada.by_hand({"notes.txt": LINES.replace("line 2\n", "ada\n").encode()})
    bob.by_hand({"notes.txt": LINES.replace("line 15\n", "bob\n").encode()})
    files = merged(ada, bob)
    assert files["notes.txt"].decode() == LINES.replace("line 2\n", "ada\n").replace("line 15\n", "bob\n")
    assert not conflicts_in(files)


def test_overlapping_line_changes_keep_both_texts(noted: Pair) -> None:
    ada, bob = noted
    ada.by_hand({"notes.txt": LINES.replace("line 2\n", "ada\n").encode()})
    bob.by_hand({"notes.txt": LINES.replace("line 2\n", "bob\n").encode()})
    files = merged(ada, bob)
    both = {path: text for path, text in files.items() if path.startswith("notes.txt")}
    assert len(both) == 2
    assert "notes.txt" in both
    assert {b"ada" in text for text in both.values()} == {True, False}
    [conflict] = ada.conflicts()
    assert (conflict.record_kind, conflict.record_id) == ("file", "notes.txt")


def test_a_conflict_about_a_file_whose_name_is_not_utf8_is_an_error_that_names_it(pair: Pair) -> None:
    ada, bob = pair
    ada.by_hand({"n\udcff.txt": b"ada\n"})
    bob.by_hand({"other.txt": b"bob\n"})
    merge_on_both_machines(ada, bob)
    bob.by_hand({"n\udcff.txt": b"bob\n"})
    with pytest.raises(Unsettled, match=r"both sides changed the file n\\xff\.txt"):
        merge_on_both_machines(ada, bob)


def test_binary_files_are_both_kept(noted: Pair) -> None:
    ada, bob = noted
    ada.by_hand({"bin": b"\0two"})
    bob.by_hand({"bin": b"\0three"})
    files = merged(ada, bob)
    assert {text for path, text in files.items() if path.startswith("bin")} == {b"\0two", b"\0three"}


def test_a_file_that_one_removed_and_the_other_changed_stays(noted: Pair) -> None:
    ada, bob = noted
    ada.by_hand({"notes.txt": None})
    bob.by_hand({"notes.txt": b"changed\n"})
    assert merged(ada, bob)["notes.txt"] == b"changed\n"
    assert [one.record_id for one in ada.conflicts()] == ["notes.txt"]


@pytest.mark.parametrize("swapped", [False, True])
def test_a_file_mode_changed_on_one_side_is_kept(noted: Pair, swapped: bool) -> None:
    ada, bob = noted[::-1] if swapped else noted
    blob = Oid(ada.git("rev-parse", f"{REF}:notes.txt"))
    ada.by_hand({"notes.txt": TreeEntry(blob, False, 0o100755)})
    bob.loop("OL-2")
    merged(ada, bob)
    assert ada.git("ls-tree", REF, "notes.txt").startswith("100755")


@pytest.mark.parametrize("swapped", [False, True])
def test_a_file_and_a_folder_of_one_name_are_both_kept(pair: Pair, swapped: bool) -> None:
    ada, bob = pair[::-1] if swapped else pair
    ada.by_hand({"notes": b"a file\n"})
    bob.by_hand({"notes/inside": b"in a folder\n"})
    files = merged(ada, bob)
    assert {b"a file\n", b"in a folder\n"} <= set(files.values())


@pytest.mark.parametrize("swapped", [False, True])
def test_a_file_with_the_name_that_a_merge_would_choose_is_kept_too(pair: Pair, swapped: bool) -> None:
    """An earlier merge named a file after the id of the folder that it met; now another file meets the same folder."""
    ada, bob = pair[::-1] if swapped else pair
    ada.by_hand({"notes/inside": b"in a folder\n"})
    folder, blob = ada.git("rev-parse", f"{REF}:notes"), b"in a folder\n"
    ada.by_hand({f"notes.{folder[:8]}": b"was here before\n"})
    bob.by_hand({"notes": b"a file\n"})
    assert {blob, b"was here before\n", b"a file\n"} <= set(merged(ada, bob).values())


def test_a_file_with_the_name_of_the_renamed_side_is_kept_too(noted: Pair) -> None:
    ada, bob = noted
    ada.by_hand({"bin": b"\0two"})
    bob.by_hand({"bin": b"\0three"})
    blobs = [one.git("rev-parse", f"{REF}:bin") for one in (ada, bob)]
    for one in (ada, bob):
        one.by_hand({f"bin.{blob[:8]}": f"was here: {one.name}".encode() + b"\0" for blob in blobs})
    files = merged(ada, bob)
    assert {b"\0two", b"\0three"} <= set(files.values())
    assert {one for one in files.values() if one.startswith(b"was here")} == {b"was here: ada\0", b"was here: bob\0"}


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("longer", [False, True])
def test_a_file_replaced_by_a_folder_on_one_side_becomes_a_folder(noted: Pair, swapped: bool, longer: bool) -> None:
    ada, bob = noted[::-1] if swapped else noted
    ada.by_hand({"notes.txt": None, "notes.txt/a": b"a\n", "docs/a.txt": None, "docs": b"a file now\n"})
    bob.loop("OL-2")
    if longer:
        bob.loop("OL-3")
    files = merged(ada, bob)
    assert files["notes.txt/a"] == b"a\n"
    assert files["docs"] == b"a file now\n"
    assert not [path for path in files if path.startswith("notes.txt.")]


def test_links_and_unusual_modes_of_one_side_are_kept(noted: Pair) -> None:
    ada, bob = noted
    blob = Oid(ada.git("rev-parse", f"{REF}:notes.txt"))
    ada.by_hand({"link": TreeEntry(blob, False, 0o120000)})
    bob.loop("OL-2")
    merged(ada, bob)
    assert ada.git("ls-tree", REF, "link").startswith("120000")


# --- records that cannot be read, or are large


def test_a_record_that_cannot_be_read_is_kept_byte_for_byte(pair: Pair) -> None:
    ada, bob = pair
    ada.by_hand({"open_loops/OL-1.toml": b"broken ["})
    bob.loop("OL-2")
    assert merged(ada, bob)["open_loops/OL-1.toml"] == b"broken ["


def test_a_changed_record_wins_over_a_broken_one_and_both_are_kept(pair: Pair) -> None:
    ada, bob = pair
    ada.by_hand({"open_loops/OL-1.toml": b"broken ["})
    bob.change("open_loop", "OL-1", action="changed")
    merged(ada, bob)
    assert ada.get("open_loop", "OL-1").action == "changed"
    [conflict] = ada.conflicts()
    assert "broken [" in str(conflict.as_data())


@pytest.mark.slow
def test_texts_too_large_to_combine_become_a_conflict(pair: Pair) -> None:
    ada, bob = pair
    ada.pattern("PAT-1", times=1, rule="r")
    ada.sync()
    bob.sync()
    for one in pair:
        one.edit("pattern", "PAT-1", 'proposed_rule = "r"', f'proposed_rule = "r\\n{one.name}{"x" * 200_000}"')
    merged(ada, bob)
    assert len(ada.get("pattern", "PAT-1").proposed_rule) < 250_000
    assert ada.list_conflicting_fields() == [("PAT-1", "")]
    resolve(ada.ws, ada.clock(), "PAT-1", "theirs")
    ada.change("pattern", "PAT-1", proposed_rule="short")
    bob.sync()
    sync_until_equal(ada, bob)


def test_archived_on_one_side_and_edited_on_the_other_is_archived_with_the_edit(pair: Pair) -> None:
    from baton_git.verbs.work_items.loops import close_loop

    ada, bob = pair
    close_loop(ada.ws, ada.clock(), "OL-1", reason="done")
    bob.change("open_loop", "OL-1", action="edited")
    merged(ada, bob)
    assert ada.get("open_loop", "OL-1") is None
    assert ada.get("open_loop", "OL-1", archived=True).record["action"] == "edited"
    assert not ada.conflicts()


def test_git_fsck_finds_no_fault_after_a_merge(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-2")
    bob.loop("OL-3")
    sync_until_equal(ada, bob)
    for one in pair:
        done = subprocess.run(["git", "-C", str(one.top), "fsck", "--strict"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert isinstance(ada.get("open_loop", "OL-3"), OpenLoop)


# --- the message


def test_the_subject_of_a_merge_commit_is_fixed_and_the_log_describes_the_merge(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-2")
    bob.loop("OL-3")
    merged(ada, bob)
    info = ada.store.commit(ada.tip)
    subject, _, trailers = info.message.partition("\n\n")
    assert subject == "Merge concurrent changes"
    assert trailers.split("\n")[:2] == ["Baton-Op: merge", "Baton-Merge-Rules: 3"]
    shown = next(iter(ada.ws.branch.log()))
    assert shown.commit == ada.tip
    assert shown.subject.startswith("merge: ")
    assert "OL-" in shown.subject


@pytest.mark.parametrize("rules", [1, 2])
def test_a_merge_by_an_older_version_of_the_rules_is_recognised(pair: Pair, rules: int) -> None:
    ada, bob = pair
    ada.loop("OL-2")
    bob.loop("OL-3")
    merged(ada, bob)
    older = create_merge_commit(ada.store, *ada.store.commit(ada.tip).parents, rules=rules)
    assert ada.store.publish(older.draft, "refs/older", None, older.commit, ReflogEntry(AUTHOR, 0, 0, "x"))
    info = ada.store.commit(older.commit)
    assert info.message.startswith("merge: ")
    assert is_automatic_merge(ada.store, info)
