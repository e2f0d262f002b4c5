"""Drafts of trees and commits: edits give the trees that git would make, and invalid ones are refused."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_world import REF, WHO

from baton_git.core.errors import Corrupt, InvalidArgument
from baton_git.core.names import Oid
from baton_git.git.objects.values import TREE, decode_tree, object_id
from baton_git.git.store import ReflogEntry, TreeEntry

_NAMES = st.sampled_from(["a", "b", "a.b", "a-b", "é", "ab"])
_PATHS = st.lists(_NAMES, min_size=1, max_size=3).map("/".join)
_CONTENTS = st.sampled_from([b"", b"1", b"2"])


def _listed(store, git, top):
    tree = store.commit(store.tip(REF)).tree
    lines = git(top, "-c", "core.quotePath=false", "ls-tree", "-r", tree).splitlines()
    return {line.partition("\t")[2]: line.split()[0] for line in lines}


def test_only_the_folders_above_a_changed_file_are_rewritten(store, writer):
    first = writer.commit({"a/x": b"1", "b/y": b"2", "c": b"3"})
    second = writer.commit({"a/x": b"changed"})
    old, new = (store.folder(store.commit(oid).tree).entries() for oid in (first, second))
    assert old["b"] == new["b"]
    assert old["c"] == new["c"]
    assert old["a"] != new["a"]
    assert len(store.housekeeping.list_noted()) == 2
    assert min(store.housekeeping.list_noted()).objects == 4


def test_a_draft_without_a_change_is_the_same_tree(store, writer):
    tree = store.commit(writer.commit({"a/x": b"1", "b": b"2"})).tree
    draft = store.draft()
    assert draft.tree(tree, {}) == tree
    assert draft.tree(tree, {"a/x": b"1", "c/d": None}) == tree
    assert draft.objects == {}


def test_a_folder_that_became_empty_vanishes_up_to_the_root(store, writer):
    writer.commit({"a/b/c": b"1", "d": b"2"})
    left = writer.commit({"a/b/c": None})
    assert set(store.folder(store.commit(left).tree).entries()) == {"d"}
    empty = writer.commit({"d": None})
    assert store.folder(store.commit(empty).tree).entries() == {}
    assert store.commit(empty).tree == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def test_modes_are_kept_and_new_files_are_plain(store, git, top, writer):
    (top / "tool").write_text("#!/bin/sh\n")
    (top / "tool").chmod(0o755)
    (top / "link").symlink_to("tool")
    git(top, "add", "tool", "link")
    git(top, "commit", "-m", "tool")
    git(top, "update-ref", REF, "HEAD")
    writer.commit({"tool": b"#!/bin/bash\n", "new": b"x", "link": b"text now"})
    assert _listed(store, git, top) == {"readme": "100644", "tool": "100755", "new": "100644", "link": "100644"}


@pytest.mark.parametrize(
    "edits",
    [
        {"a": b"file"}, {"a": None}, {"d/e": b"below a file"},
        {"n": b"1", "n/m": b"2"}, {"n/m": b"1", "n": b"2"}, {"a": None, "a/new": b"1"},
    ],
)  # fmt: skip
def test_a_file_and_a_folder_of_one_name_are_refused(store, writer, edits):
    tip = writer.commit({"a/b": b"1", "a/c": b"1", "d": b"2"})
    with pytest.raises(InvalidArgument):
        store.draft().tree(store.commit(tip).tree, edits)


def test_a_removed_file_can_become_a_folder_and_a_removed_folder_a_file(store, writer, git, top):
    writer.commit({"a/b": b"1", "d": b"2"})
    writer.commit({"a": b"file", "a/b": None, "d/e": b"3", "d": None})
    assert set(_listed(store, git, top)) == {"a", "d/e"}


@pytest.mark.parametrize("path", ["", "/a", "a/", "a//b", "../a", "a/./b", ".git/x", "a/.GIT", "a\0b"])
def test_invalid_paths_are_rejected(store, path):
    with pytest.raises(InvalidArgument):
        store.draft().tree(None, {path: b""})


def test_a_graft_keeps_the_bytes_of_an_old_version(store, writer, git, top):
    old = writer.commit({"a/x": b"old", "b": b"1"})
    writer.commit({"a/x": b"new"})
    blob = store.folder(store.commit(old).tree).folder("a").entries()["x"].oid
    draft = store.draft()
    tip = store.tip(REF)
    tree = draft.tree(store.commit(tip).tree, {"a/x": blob, "b": None})
    assert set(draft.objects) == {tree, store.folder(store.commit(old).tree).entries()["a"].oid}
    new = draft.commit(tree, [tip], author=WHO, time=5, timezone=0, message="back")
    assert store.publish(draft, REF, tip, new, ReflogEntry(WHO, 5, 0, "back"))
    assert git(top, "show", f"{REF}:a/x") == "old"
    git(top, "fsck", "--strict")


def test_a_graft_of_a_blob_that_does_not_exist_is_not_published(store, writer):
    tip = writer.commit({"a": b"1"})
    draft = store.draft()
    tree = draft.tree(None, {"a": "1" * 40})
    new = draft.commit(tree, [tip], author=WHO, time=5, timezone=0, message="m")
    with pytest.raises(Corrupt, match="missing"):
        store.publish(draft, REF, tip, new, ReflogEntry(WHO, 5, 0, "m"))
    assert store.tip(REF) == tip


@pytest.mark.parametrize(
    "change",
    [
        {"author": "no mail"}, {"author": "a\nb <c@d>"}, {"author": "a <b> <c>"},
        {"time": -1}, {"timezone": 90000}, {"message": "a\0b"},
    ],
)  # fmt: skip
def test_invalid_commit_fields_are_rejected(store, change):
    values = {"author": WHO, "time": 1, "timezone": 0, "message": "m"} | change
    draft = store.draft()
    with pytest.raises(InvalidArgument):
        draft.commit(draft.tree(None, {}), [], **values)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(versions=st.lists(st.dictionaries(_PATHS, _CONTENTS, max_size=6), min_size=1, max_size=4))
def test_any_sequence_of_edits_gives_the_tree_that_git_makes(store, git, top, versions):
    draft = store.draft()
    tree, files = None, {}
    for wanted in versions:
        wanted = {path: data for path, data in wanted.items() if not _is_above(path, wanted)}
        edits = dict.fromkeys(files, None) | wanted
        tree = draft.tree(tree, edits)
        files = wanted
        entries = "".join(f"100644 {draft.blob(data)}\t{path}\n" for path, data in files.items())
        git(top, "--git-dir", str(top / ".git"), "read-tree", "--empty")
        git(top, "update-index", "--add", "--index-info", text=entries)
        assert git(top, "write-tree", "--missing-ok") == tree


def _is_above(path, paths):
    return any(other.startswith(path + "/") for other in paths)


def test_the_order_of_names_is_that_of_git(store):
    draft = store.draft()
    tree = draft.tree(None, {"a/x": b"", "a.b": b"", "a-b": b"", "ab": b""})
    names = list(decode_tree(draft.objects[tree][1], store.objects.form, "t"))
    assert names == ["a-b", "a.b", "a", "ab"]
    assert draft.objects[tree][0] == TREE


def test_an_entry_is_put_back_with_its_mode(store, writer, git, top):
    (top / "tool").write_text("#!/bin/sh\n")
    (top / "tool").chmod(0o755)
    (top / "link").symlink_to("tool")
    git(top, "add", "tool", "link")
    git(top, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    git(top, "commit", "-m", "all kinds")
    git(top, "update-ref", REF, "HEAD")
    good = store.folder(store.commit(store.tip(REF)).tree)
    before = _listed(store, git, top)
    writer.commit(dict.fromkeys(["tool", "module"]) | {"link": b"plain", "readme": b"changed"})
    tip = writer.commit(good.entries())
    assert _listed(store, git, top) == before
    assert store.commit(tip).tree == good.oid
    git(top, "fsck", "--strict")


def test_an_entry_whose_blob_does_not_exist_is_not_published(store, writer):
    tip = writer.commit({"a": b"1"})
    with pytest.raises(Corrupt, match="missing"):
        writer.commit({"b": TreeEntry(Oid("1" * 40), False, 0o100755)})
    assert store.tip(REF) == tip


def test_the_entry_of_a_folder_cannot_be_put_back(store):
    with pytest.raises(InvalidArgument):
        store.draft().tree(None, {"b": TreeEntry(Oid("1" * 40), True, 0o40000)})


_LARGE = {f"C-{number:04d}.toml": b"%d" % number for number in range(150)} | {"C-0100": b"file", "D/x": b"folder"}
_CHANGES = st.dictionaries(
    st.sampled_from(["C-0000.toml", "C-0149.toml", "C-0075.toml", "A", "Z", "C-0100.a", "C-0100.toml", "D", "Db", "é"]),
    st.sampled_from([b"1", b"2", None]),
    max_size=6,
).filter(lambda changes: changes.get("D") is None)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_CHANGES)
def test_a_large_tree_is_edited_as_if_it_was_encoded_anew(store, changes):
    draft = store.draft()
    changes = {name: content for name, content in changes.items() if name != "D"} | (
        {"D/x": None, "D": b"file now"} if "D" in changes else {}
    )
    base = draft.tree(None, _LARGE)
    edited = draft.tree(base, changes)
    entries = draft.folder(edited).entries()
    expected = {name: content for name, content in {**_LARGE, **changes}.items() if content is not None}
    assert edited == draft.tree(None, expected)
    decoded = decode_tree(draft.objects[edited][1], draft.form, "tree")
    assert list(entries.items()) == list(decoded.items())


def test_a_large_tree_that_git_would_not_write_is_put_in_order(store):
    draft = store.draft()
    tree = draft.tree(None, _LARGE)
    data = draft.objects[tree][1]
    entries = list(decode_tree(data, draft.form, "tree").items())
    swapped = b"".join(
        b"%o %s\0%s" % (entry.mode, name.encode(), bytes.fromhex(entry.oid)) for name, entry in entries[::-1]
    )
    odd = object_id(TREE, swapped, draft.form)
    draft.objects[odd] = (TREE, swapped)
    assert draft.tree(odd, {"C-0075.toml": b"1"}) == draft.tree(tree, {"C-0075.toml": b"1"})
