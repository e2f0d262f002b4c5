"""Records that a merge would make too large to edit, and conflicts too large to contain both sides."""

from __future__ import annotations

import pytest
from machines import REF, Machine

from baton_git.core.errors import NotAllowed
from baton_git.core.layout import FRAMED, MAX_RECORD_BYTES, path_of
from baton_git.core.state import Key
from baton_git.namespace.merge_commit import create_merge_commit
from baton_git.namespace.merge_driver import merge_file
from baton_git.verbs.sharing.conflict_resolution import resolve

PATH = path_of(Key("open_loop", "OL-1"))


def merge_texts(ada: Machine, bob: Machine, texts: tuple[bytes, bytes]) -> dict[str, bytes]:
    """Change `OL-1` by hand on both machines and merge; return Ada's files."""
    base = ada.files()[PATH]
    for one, text in zip((ada, bob), texts, strict=True):
        one.by_hand({PATH: base + text})
    sides = [one.files()[PATH] for one in (ada, bob)]
    ada.git("fetch", "-q", str(bob.top), f"+{REF}:refs/other")
    merged = create_merge_commit(ada.store, ada.tip, bob.tip)
    assert ada.ws.branch.advance(merged.draft, ada.tip, merged.commit, ada.ws.stamp("sync", ada.clock()), by="sync")
    files = ada.files()
    driven = merge_file(ada.store, PATH, base, *sides)
    assert {PATH: driven.text, **driven.other_files}.items() <= files.items()
    return files


def test_sides_too_large_to_combine_leave_a_record_that_can_be_edited(pair: tuple[Machine, Machine]) -> None:
    ada, bob = pair
    files = merge_texts(ada, bob, tuple(f'{one} = "{one * 140_000}"\n'.encode() for one in "xy"))  # type: ignore[arg-type]
    assert len(files[PATH]) <= MAX_RECORD_BYTES
    ada.change("open_loop", "OL-1", expected_outcome="still fine")
    resolve(ada.ws, ada.clock(), "OL-1", "theirs")
    assert ada.get("open_loop", "OL-1").as_data().keys() >= {"x"}
    assert not ada.conflicts()


@pytest.mark.slow  # megabytes of TOML
def test_sides_too_large_for_a_conflict_are_named_by_their_blobs(pair: tuple[Machine, Machine]) -> None:
    """A file of megabytes was committed by hand."""
    ada, bob = pair
    files = merge_texts(ada, bob, tuple(f'{one} = "{one * 1_100_000}"\n'.encode() for one in "xy"))  # type: ignore[arg-type]
    [conflict] = ada.conflicts()
    assert len(files[path_of(Key("conflict", conflict.id))]) < MAX_RECORD_BYTES * FRAMED
    blobs = {one["blob"] for one in (conflict.ours, conflict.theirs)}
    assert {ada.git("rev-parse", f"{commit}:{PATH}") for commit in (f"{REF}^1", f"{REF}^2")} == blobs
    with pytest.raises(NotAllowed, match="too large") as caught:
        resolve(ada.ws, ada.clock(), conflict.id, "theirs")
    assert conflict.theirs["blob"] in caught.value.hint
    resolve(ada.ws, ada.clock(), conflict.id, "ours")
    assert not ada.conflicts()
