"""Layout 2 in real repositories: written by verbs, synced, merged by plain git, reviewed, undone, and attacked."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

import pytest
from looped_cases import for_each
from machines import REF, Machine, loop, sync_until_equal

from baton_git.core import layout, stored_form
from baton_git.core.kinds import shard
from baton_git.core.names import Oid
from baton_git.core.state import Key
from baton_git.git.store import ReflogEntry
from baton_git.git.store import stored_moves as forms
from baton_git.namespace.file_merge import iterate_files, text_at
from baton_git.namespace.ingest.trees import find_unsafe_files
from baton_git.namespace.merge_driver import merge_file
from baton_git.namespace.sync.outgoing import read_outgoing
from baton_git.verbs.revisions.undo import rollback, undo
from baton_git.verbs.upkeep.validation import validate_branch, validate_text
from baton_git.verbs.work_items.loops import close_loop

Pair = tuple[Machine, Machine]
DRIVER = f"{sys.executable} -m baton_git merge-driver %O %A %B %P"
SMALL = 4


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fan folders out from the fifth record on."""
    monkeypatch.setattr(stored_form, "FAN_FROM", SMALL)


def fold(one: Machine, keys: Iterable[Key]) -> Oid:
    """Commit archived records as bundles."""
    tip = one.tip
    assert tip is not None
    draft = one.store.draft()
    tree = forms.bundle(draft, one.store.commit(tip).tree, keys)
    new = draft.commit(tree, [tip], author="A <a@b>", time=1, timezone=0, message="fold\n\nBaton-Op: fold")
    assert one.store.publish(draft, REF, tip, new, ReflogEntry("A <a@b>", 1, 0, "fold"), keep=True)
    return new


def close(one: Machine, *ids: str) -> list[Key]:
    for id_ in ids:
        one.loop(id_)
        close_loop(one.ws, one.clock(), id=id_, reason="done")
    return [Key("open_loop", id_, archived=True) for id_ in ids]


def stored_loops(one: Machine) -> list[str]:
    return [path for path in one.files() if path.startswith(("open_loops/", "archive/"))]


def test_the_write_that_makes_a_folder_large_fans_it_out(pair: Pair) -> None:
    ada, bob = pair
    for number in range(SMALL - 1):
        ada.loop(f"OL-n{number}")
    assert layout.ROOT_FILES.items() <= ada.files().items()
    ada.loop("OL-x")
    paths = stored_loops(ada)
    assert len(paths) == len(ada.state.ids("open_loop")) > SMALL
    assert all(path.startswith("open_loops/=") for path in paths)
    assert b"version = 2" in ada.files()["format.toml"]
    assert b"handover/=*/=*/*.txt text eol=lf merge=baton\n" in ada.files()[".gitattributes"]
    ada.follow_up("FU-9")
    assert "follow_ups/FU-9.toml" in ada.files()
    assert not ada.git("fsck", "--strict", "--no-dangling")
    ada.sync()
    bob.sync()
    assert bob.state.ids("open_loop") == ada.state.ids("open_loop")


def test_machines_that_change_the_form_at_the_same_time_agree(pair: Pair) -> None:
    ada, bob = pair
    keys = close(ada, "OL-a", "OL-b", "OL-c")
    sync_until_equal(ada, bob)
    fold(ada, keys)
    fold(bob, keys[:2])
    for number in range(SMALL + 1):
        ada.loop(f"OL-n{number}")
    bob.loop("OL-new")
    sync_until_equal(ada, bob)
    assert ada.store.commit(ada.tip).tree == bob.store.commit(bob.tip).tree
    assert not [path for path in stored_loops(ada) if "/=" not in path]
    assert {key.id for key in keys} <= set(bob.state.ids("open_loop", archived=True))
    assert bob.get("open_loop", "OL-new") is not None
    assert not ada.conflicts()


def test_an_undo_and_a_rollback_restore_the_records_and_never_the_form(pair: Pair) -> None:
    ada = pair[0]
    keys = close(ada, "OL-a", "OL-b")
    before = ada.tip
    fold(ada, keys)
    for number in range(SMALL + 1):
        ada.loop(f"OL-n{number}")
    undo(ada.ws, ada.clock())
    assert f"OL-n{SMALL}" not in ada.state.ids("open_loop")
    rollback(ada.ws, ada.clock(), revision=before)
    assert not {f"OL-n{number}" for number in range(SMALL)} & set(ada.state.ids("open_loop"))
    assert b"version = 2" in ada.files()["format.toml"]
    assert all(ada.get("open_loop", key.id, archived=True) is not None for key in keys)
    assert [file for file in validate_branch(ada.ws) if file.faults] == []


def test_provenance_and_outgoing_texts_do_not_change_with_the_form(pair: Pair) -> None:
    ada = pair[0]
    keys = close(ada, "OL-a", "OL-b")
    key = Key("open_loop", "OL-a", archived=True)
    before = ada.ws.judgement(ada.ws.branch.read())
    sent = read_outgoing(ada.ws.branch, {"x": []}).sent["x"]
    fold(ada, keys)
    after = ada.ws.judgement(ada.ws.branch.read())
    assert list(before.find_unvouched(ada.state)) == list(after.find_unvouched(ada.state))
    assert [one.text for one in read_outgoing(ada.ws.branch, {"x": []}).sent["x"].texts["other texts"]] == [
        one.text for one in sent.texts["other texts"]
    ]
    assert ada.state.entry(key) is not None


def test_a_changed_or_removed_record_leaves_its_bundle(pair: Pair) -> None:
    ada = pair[0]
    keys = close(ada, "OL-a", "OL-b", "OL-c")
    fold(ada, keys)
    draft, paths = ada.store.draft(), [layout.path_of(key) for key in keys]
    before = ada.store.commit(ada.tip).tree
    after = draft.tree(before, {paths[0]: None, paths[1]: b"other\n"})
    root = draft.folder(after)
    assert (root.entry_at(paths[0]), text_at(root, paths[1])) == (None, b"other\n")
    assert text_at(root, paths[2]) == text_at(draft.folder(before), paths[2])
    [bundle] = [path for path, _ in iterate_files(root.stored()) if stored_form.find_bundle_digits(path) is not None]
    text = text_at(root.stored(), bundle)
    assert text.startswith(b"=== OL-c.toml\n")
    assert b"=== OL-a" not in text
    assert b"=== OL-b" not in text


@for_each("end", [b"more = '''\n=== OL-9.toml\n'''\n", b"# no line break"])
def test_a_file_that_a_bundle_could_not_hold_stays_as_it_is(end: bytes, pair: Pair) -> None:
    draft, key = pair[0].store.draft(), Key("open_loop", NAME, archived=True)
    tree = draft.tree(None, {**layout.ROOT_FILES, layout.path_of(key): BODY + end})
    assert forms.bundle(draft, tree, [key]) == tree


class Person:
    """A user of Ada's machine who has checked out the branch in a separate work tree."""

    def __init__(self, ada: Machine, bob: Machine) -> None:
        self.ada, self.tree = ada, ada.top.with_name("tree")
        ada.git("config", "merge.baton.driver", DRIVER)
        ada.git("worktree", "add", "-q", str(self.tree), "baton/x")
        ada.git("fetch", "-q", str(bob.top), f"{REF}:refs/other")

    def git(self, *args: str) -> str:
        done = subprocess.run(["git", "-C", str(self.tree), *args], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout


def test_a_plain_git_merge_of_mixed_forms_reads_right(pair: Pair) -> None:
    ada, bob = pair
    keys = close(ada, *(f"OL-{letter}" for letter in "abcdefgh"))
    sync_until_equal(ada, bob)
    fold(ada, keys[:5])
    ada.change("open_loop", "OL-1", action="of Ada")
    for number in range(2, SMALL + 3):
        ada.loop(f"OL-n{number}")
    fold(bob, keys[3:])
    bob.change("open_loop", "OL-1", expected_outcome="of Bob")
    Person(ada, bob).git("merge", "-q", "--no-edit", "refs/other")
    merged = ada.get("open_loop", "OL-1")
    assert (merged.action, merged.expected_outcome) == ("of Ada", "of Bob")
    assert set(ada.state.ids("open_loop", archived=True)) == {key.id for key in keys}
    assert [file for file in validate_branch(ada.ws) if file.faults] == []
    ada.loop("OL-last")
    assert not ada.git("fsck", "--strict", "--no-dangling")
    ada.git("gc", "-q", "--prune=now")
    sync_until_equal(ada, bob)
    assert set(bob.state.ids("open_loop")) == {"OL-1", *(f"OL-n{number}" for number in range(2, SMALL + 3)), "OL-last"}


def test_a_review_waits_for_records_and_not_for_the_form(pair: Pair) -> None:
    ada, bob = pair
    keys = close(ada, "OL-a", "OL-b", "OL-c")
    sync_until_equal(ada, bob)
    bob.set_policy("review")
    fold(ada, keys)
    ada.change("open_loop", "OL-1", action="of Ada")
    for number in range(SMALL):
        ada.loop(f"OL-n{number}")
    ada.sync()
    bob.sync()
    assert set(bob.list_waiting()) == {"OL-1", *(f"OL-n{number}" for number in range(SMALL))}
    bob.decide(take=("OL-1", "OL-n0"))
    bob.decide(refuse=("OL-n1",))
    bob.decide(take=tuple(bob.list_waiting()))
    assert set(bob.state.ids("open_loop")) == {"OL-1", "OL-n0", *(f"OL-n{number}" for number in range(2, SMALL))}
    assert set(bob.state.ids("open_loop", archived=True)) == {key.id for key in keys}


# --- what a remote can send

NAME = "OL-1"
DIGITS = stored_form.digits_of(NAME)[:1]
OTHER = next(f"OL-{n}" for n in range(2, 99) if not stored_form.digits_of(f"OL-{n}").startswith(DIGITS))
BODY = b'at = "2026-03-01T00:00:00Z"\nreason = "done"\n[record]\nid = "OL-1"\naction = "x"\n'


def bundle_of(*names: str) -> bytes:
    return b"".join(f"=== {name}.toml\n".encode() + BODY for name in names)


BAD = {
    "an id of another bundle": bundle_of(OTHER),
    "a name twice": bundle_of(NAME, NAME),
    "no name": b"=== \n" + BODY,
    "a path": b"=== ../x.toml\n" + BODY,
    "text before the first name": b"x\n" + bundle_of(NAME),
    "no line break at the end": bundle_of(NAME) + b"x",
    "conflict markers": b"<<<<<<< ours\n" + bundle_of(NAME),
    "too many records": b"=== OL-1.toml\n" * (stored_form.MAX_BUNDLED + 1),
    "too large": b"=== OL-1.toml\n" + b"#" * stored_form.MAX_BUNDLE_BYTES + b"\n",
    "bytes": bytes(range(256)),
}


@for_each("what", sorted(BAD))
def test_a_bad_bundle_of_a_remote_is_refused_and_harms_no_reader(what: str, pair: Pair) -> None:
    ada = pair[0]
    path = f"archive/open_loops/=2026-03/={DIGITS}.toml"
    draft = ada.store.draft()
    before = draft.tree(None, {**layout.ROOT_FILES, "format.toml": b"version = 2\n"})
    after = draft.stored_tree(before, {path: BAD[what], f"archive/open_loops/=2026-03/={DIGITS}{DIGITS}.toml": b""})
    faults = dict(find_unsafe_files(draft.folder(before), draft.folder(after)))
    assert "is no bundle of archived records" in faults[path]
    root = draft.folder(after)
    assert set(layout.TreeSource(root).ids("open_loop", archived=True)) <= {NAME}
    edited = draft.tree(after, {layout.path_of(Key("open_loop", NAME, archived=True)): BODY})
    assert draft.folder(edited).folder("archive").folder("open_loops").folder(shard(NAME)).read("OL-1.toml")
    assert validate_text(path, BAD[what]).faults


@for_each(
    "path",
    [
        "open_loops/=0/=0/OL-1.toml",
        "open_loops/=x/OL-1.toml",
        "archive/open_loops/=2026-3/=.toml",
        "archive/open_loops/=2026-03/3.toml",
        "rules/=2026-03/=.toml",
    ],
)
def test_files_in_no_place_of_layout_2_are_misplaced(path: str, pair: Pair) -> None:
    draft = pair[0].store.draft()
    before = draft.tree(None, {**layout.ROOT_FILES, "format.toml": b"version = 2\n"})
    after = draft.stored_tree(before, {path: loop("OL-1")})
    assert dict(find_unsafe_files(draft.folder(before), draft.folder(after))) == {
        path: "is in a folder of records, but its path is not that of a record"
    }
    assert list(layout.TreeSource(draft.folder(after)).ids("open_loop")) == []


def test_a_remote_cannot_set_the_layout_back(pair: Pair) -> None:
    draft = pair[0].store.draft()
    path = f"open_loops/={stored_form.digits_of('OL-1')[0]}/={stored_form.digits_of('OL-1')[1]}/OL-1.toml"
    before = draft.stored_tree(None, {**layout.ROOT_FILES, "format.toml": b"version = 2\n", path: loop("OL-1")})
    after = draft.stored_tree(before, {"format.toml": b"version = 1\n"})
    faults = dict(find_unsafe_files(draft.folder(before), draft.folder(after)))
    assert "was set back to layout 1" in faults["format.toml"]
    plain = draft.stored_tree(None, {**layout.ROOT_FILES, path: loop("OL-1")})
    assert "folder of records" in dict(find_unsafe_files(draft.folder(None), draft.folder(plain)))[path]


def test_an_edit_never_restores_version_1(pair: Pair) -> None:
    draft = pair[0].store.draft()
    plain = draft.tree(None, layout.ROOT_FILES)
    second = draft.stored_tree(plain, {"format.toml": b"version = 2\n"})
    for edit in (layout.ROOT_FILES["format.toml"], draft.folder(plain).entries()["format.toml"]):
        assert draft.folder(draft.tree(second, {"format.toml": edit})).version == 2
    attributes = draft.folder(draft.tree(second, {".gitattributes": b"*.toml merge=baton\n"})).read(".gitattributes")
    assert attributes == b"*.toml merge=baton\nhandover/=*/=*/*.txt text eol=lf merge=baton\n"


# --- the merge driver


def test_the_driver_merges_a_bundle_that_git_takes_for_a_renamed_record(pair: Pair) -> None:
    path = f"archive/open_loops/=2026-03/={DIGITS}.toml"
    edited = BODY.replace(b'reason = "done"', b'reason = "verified"')
    merged = merge_file(pair[0].store, path, BODY, edited, bundle_of(NAME))
    assert merged.text == b"=== OL-1.toml\n" + edited
    assert not merged.other_files


def test_the_driver_takes_the_newer_layout(pair: Pair) -> None:
    old, new = b"version = 1\n", b"version = 2\n"
    assert merge_file(pair[0].store, "format.toml", b"", old + b"# x\n", new).text == new
    assert merge_file(pair[0].store, "format.toml", b"", new, old + b"# x\n").text == new
