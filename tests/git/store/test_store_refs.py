"""Reading, listing and moving refs: loose, packed, symbolic, or broken."""

from __future__ import annotations

import mmap
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_world import REF, WHO

from baton_git.core.errors import Corrupt, StoreError
from baton_git.git.files import durable_files
from baton_git.git.refs.ref_files import packed_below, packed_folders, packed_value
from baton_git.git.store import ReflogEntry

ONE, TWO = "1" * 40, "2" * 40
NAMES = st.text("ab-./0é", min_size=1, max_size=6).map(lambda name: f"refs/{name}")


def _ref_file(top, ref=REF):
    return top / ".git" / ref


def test_a_ref_that_was_never_created_has_no_tip(store):
    assert store.tip(REF) is None


def test_a_packed_ref_is_found_and_can_be_moved(store, writer, git, top):
    first = writer.commit({"a": b"1"})
    git(top, "pack-refs", "--all", "--prune")
    assert not _ref_file(top).exists()
    assert store.tip(REF) == first
    second = writer.commit({"a": b"2"})
    assert store.tip(REF) == second
    assert git(top, "rev-parse", REF) == second


def test_refs_are_listed_loose_over_packed(store, writer, new_writer, git, top):
    writer.commit({"a": b"1"})
    other = new_writer(top, "refs/heads/baton/y")
    kept = other.commit({"a": b"1"})
    git(top, "pack-refs", "--all", "--prune")
    moved = writer.commit({"a": b"2"})
    (top / ".git/refs/heads/baton/z.lock").touch()
    assert store.refs("refs/heads/baton/") == {REF: moved, "refs/heads/baton/y": kept}
    assert set(store.refs("refs/heads/")) == {"refs/heads/main", REF, "refs/heads/baton/y"}
    assert store.refs("refs/heads/ba") == store.refs("refs/heads/baton/")
    assert store.refs("refs/nothing/") == {}


@pytest.mark.parametrize(
    ("content", "why"),
    [("", "empty"), ("\0" * 41, "empty"), (ONE[:39], "not an"), ("garbage\n", "not an"), ("G" * 40, "not an")],
)
def test_a_broken_ref_is_an_error_with_a_command_that_restores_it(store, writer, git, top, content, why):
    good = writer.commit({"a": b"1"})
    _ref_file(top).write_text(content)
    with pytest.raises(Corrupt, match=why) as caught:
        store.tip(REF)
    assert f"git update-ref {REF} {good}" in caught.value.hint
    with pytest.raises(Corrupt):
        store.refs("refs/heads/baton/")
    for expected in (None, good):
        draft = store.draft()
        new = draft.commit(draft.tree(None, {"a": b"2"}), [], author=WHO, time=1, timezone=0, message="m")
        with pytest.raises(Corrupt):
            store.publish(draft, REF, expected, new, ReflogEntry(WHO, 1, 0, "m"))
    git(top, "update-ref", REF, good, code=128)  # git cannot repair the ref, so the hint removes its file first
    subprocess.run(caught.value.hint.partition("to restore it: ")[2], shell=True, check=True, cwd=top)
    assert store.tip(REF) == good


def test_folders_of_refs_are_named_loose_and_packed(store, new_writer, git, top):
    for ref in ("refs/q/a/x", "refs/q/a/y", "refs/q/b-c/x", "refs/q/b/x/deep", "refs/q/leaf", "refs/r/z/x"):
        new_writer(top, ref).commit({"a": b"1"})
    assert store.ref_folders("refs/q/") == ["a", "b", "b-c"]
    git(top, "pack-refs", "--all", "--prune")
    new_writer(top, "refs/q/new/x").commit({"a": b"1"})
    assert store.ref_folders("refs/q/") == ["a", "b", "b-c", "new"]
    assert store.ref_folders("refs/none/") == []
    packed = top / ".git" / "packed-refs"
    packed.write_text("".join(line for line in packed.read_text().splitlines(keepends=True) if line[0] != "#"))
    assert packed_folders(packed, "refs/q/") == {"a", "b", "b-c"}


def test_the_reflog_knows_the_last_good_commit_when_our_note_is_lost(store, writer, top):
    good = writer.commit({"a": b"1"})
    for note in (top / ".git/baton/last").iterdir():
        note.unlink()
    _ref_file(top).write_text("")
    with pytest.raises(Corrupt) as caught:
        store.tip(REF)
    assert good in caught.value.hint


def test_an_unreadable_loose_file_is_never_answered_with_the_packed_value(store, writer, git, top, monkeypatch):
    writer.commit({"a": b"1"})
    git(top, "pack-refs", "--all", "--prune")
    writer.commit({"a": b"2"})
    real = durable_files.content

    def refused(path):
        if Path(path).name == "x":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(durable_files, "content", refused)
    with pytest.raises(StoreError, match="Permission denied"):
        store.tip(REF)


def test_a_symbolic_ref_is_followed_when_read_and_refused_when_written(store, writer, git, top):
    good = writer.commit({"a": b"1"})
    git(top, "symbolic-ref", "refs/heads/alias", REF)
    assert store.tip("refs/heads/alias") == good
    draft = store.draft()
    new = draft.commit(draft.tree(None, {"a": b"2"}), [good], author=WHO, time=1, timezone=0, message="m")
    with pytest.raises(StoreError, match="symbolic"):
        store.publish(draft, "refs/heads/alias", good, new, ReflogEntry(WHO, 1, 0, "m"))
    git(top, "symbolic-ref", "refs/heads/alias", "refs/heads/alias")
    with pytest.raises(Corrupt, match="too many levels"):
        store.tip("refs/heads/alias")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("other", ["refs/heads/baton", "refs/heads/baton/x/below"])
def test_a_ref_in_the_way_is_reported(store, new_writer, git, top, other, packed):
    new_writer(top, other).commit({"a": b"1"})
    if packed:
        git(top, "pack-refs", "--all", "--prune")
    with pytest.raises(StoreError, match="exists") as caught:
        new_writer(top).commit({"a": b"1"})
    assert caught.value.data["other"] == other
    assert not list((top / ".git/objects/pack").glob("*.keep"))


def test_empty_folders_where_the_ref_should_be_are_no_obstacle(writer, top, git):
    (top / ".git/refs/heads/baton/x/y/z").mkdir(parents=True)
    new = writer.commit({"a": b"1"})
    assert git(top, "rev-parse", REF) == new


@pytest.mark.parametrize("name", ["x", "refs/heads/../x", "refs//x", "refs/heads/x.lock", "refs/heads/.x", "refs/a b"])
def test_invalid_ref_names_are_rejected(store, name):
    with pytest.raises(StoreError):
        store.tip(name)


class CountingMap(mmap.mmap):
    """A mapped file that counts the bytes that are read."""

    bytes_read = 0

    def find(self, text, start=0):  # type: ignore[override]
        place = super().find(text, start)
        CountingMap.bytes_read += (place if place >= 0 else len(self)) - start
        return place

    def rfind(self, text, start, end):  # type: ignore[override]
        place = super().rfind(text, start, end)
        CountingMap.bytes_read += end - max(place, start)
        return place

    def __getitem__(self, part):
        value = super().__getitem__(part)
        CountingMap.bytes_read += len(value)
        return value


def test_finding_one_of_many_packed_refs_reads_little(store, writer, top, git, monkeypatch):
    first = writer.commit({"a": b"1"})
    refs = {f"refs/heads/n{number:06d}": first for number in range(100_000)} | {REF: first}
    lines = ["# pack-refs with: peeled fully-peeled sorted ", *(f"{oid} {ref}" for ref, oid in sorted(refs.items()))]
    (top / ".git/packed-refs").write_text("\n".join(lines) + "\n")
    _ref_file(top).unlink()
    assert git(top, "rev-parse", REF) == first
    monkeypatch.setattr(mmap, "mmap", CountingMap)
    for number in range(0, 100_000, 1000):
        assert store.tip(f"refs/heads/n{number:06d}") == first
    assert store.tip("refs/heads/n1000000") is None
    assert len(store.refs("refs/heads/n00000")) == 10
    assert 0 < CountingMap.bytes_read < 100 * 10_000
    assert (top / ".git/packed-refs").stat().st_size > 5_000_000
    second = writer.commit({"a": b"2"})
    assert git(top, "rev-parse", REF) == second


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.sets(NAMES, max_size=12), asked=NAMES, is_sorted=st.booleans(), peeled=st.sets(st.integers(0, 11)),
)  # fmt: skip
def test_packed_refs_are_found_like_in_a_dictionary(tmp_path, names, asked, is_sorted, peeled):
    path = tmp_path / "packed-refs"
    values = {name: f"{number:040x}" for number, name in enumerate(sorted(names, key=str.encode))}
    lines = ["# pack-refs with: peeled fully-peeled" + (" sorted " if is_sorted else " ")]
    for number, (name, value) in enumerate(values.items() if is_sorted else reversed(values.items())):
        lines.append(f"{value} {name}")
        if number in peeled:
            lines.append("^" + "f" * 40)
    path.write_text("\n".join(lines) + "\n")
    for name in {*names, asked}:
        assert packed_value(path, name) == (values[name].encode() if name in values else None)
    below = {name: value.encode() for name, value in values.items() if name.startswith(asked)}
    assert dict(packed_below(path, asked)) == below


def test_an_empty_packed_refs_file_is_valid_and_a_torn_one_is_an_error(store, top):
    (top / ".git/packed-refs").write_bytes(b"")
    assert store.tip(REF) is None
    (top / ".git/packed-refs").write_text(f"# pack-refs with: peeled fully-peeled sorted \n{ONE} refs/heads/baton/x")
    with pytest.raises(Corrupt, match="middle of a line"):
        store.tip(REF)


def test_a_packed_value_that_is_not_an_id_is_an_error(store, top):
    (top / ".git/packed-refs").write_text(f"# pack-refs with: peeled fully-peeled sorted \n{ONE[:30]} {REF}\n")
    with pytest.raises(Corrupt, match="not an object id"):
        store.tip(REF)
