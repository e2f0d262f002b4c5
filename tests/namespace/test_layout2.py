"""Layout 2: fanned out folders and bundles hold what layout 1 holds, through writes and merges."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baton_git.core import layout, stored_form
from baton_git.core.kinds import CLOSED, KINDS
from baton_git.core.names import Oid
from baton_git.core.state import Key, State
from baton_git.git.store import ObjectDraft, Repository, Store, stored_views
from baton_git.git.store import stored_moves as forms
from baton_git.git.store.stored_edits import view_of
from baton_git.git.store.stored_views import ArchiveView, ViewFolder, find_stored
from baton_git.namespace.file_merge import iterate_files, text_at
from baton_git.namespace.merge_commit import merge_trees

IDS = {
    "open_loop": ["OL-1", "OL-2", "a b", "é", "x" * 150],
    "rule": ["PAT-1", "two"],
    "handover": ["h1", "h2"],
    "handoff": ["claude/1", "claude/2", "b.toml/1", "x/" + "%" * 40],
}


SEPARATOR = b"more = '''\n=== OL-9.toml\n'''\n"
"""An end of a record with a line that would separate it in a bundle."""


def closed(id_: str, text: str = "", at: str = "2026-03-01") -> bytes:
    return f'at = "{at}T10:00:00Z"\nreason = "done{text}"\n\n[record]\nid = "{id_}"\naction = "act"\n'.encode()


def live(kind: str, id_: str, text: str) -> bytes:
    return text.encode() if KINDS[kind].suffix != ".toml" else f'id = "{id_}"\naction = "{text}"\n'.encode()


KEYS = [Key(kind, id_, archived) for kind, ids in IDS.items() for id_ in ids for archived in (False, True)]
FULL = {
    **layout.ROOT_FILES,
    **{layout.path_of(key): closed(key.id) if key.archived else live(key.kind, key.id, "one") for key in KEYS},
}


@st.composite
def edits(draw: st.DrawFn) -> dict[str, bytes | None]:
    """Return edits of some records and of a file that is no record."""
    files: dict[str, bytes | None] = {}
    for key in draw(st.lists(st.sampled_from(KEYS), max_size=8, unique=True)):
        text = draw(st.sampled_from(["one", "two", None, None, "broken"]))
        content = closed(key.id, text or "", draw(st.sampled_from(["2026-03-01", "2026-04-01"])))
        content = content if key.archived else live(key.kind, key.id, text or "")
        content = (
            draw(st.sampled_from([b"no toml", b"=== OL-9.toml\nx\n", content + SEPARATOR]))
            if text == "broken"
            else content
        )
        files[layout.path_of(key)] = None if text is None else content
    files |= draw(
        st.dictionaries(st.sampled_from(["notes.txt", "open_loops/README"]), st.sampled_from([b"1\n", b"2\n"]))
    )
    return files


def logical(draft: ObjectDraft, tree: Oid) -> dict[str, bytes]:
    """Return the files of a tree as layout 1 has them, without those that only say which layout it is."""
    root = draft.folder(tree)
    files = {path: text_at(root, path) for path, _ in iterate_files(root)}
    return {path: text for path, text in files.items() if path not in layout.ROOT_FILES}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    top = tmp_path_factory.mktemp("layout2")
    subprocess.run(["git", "init", "-q", top], check=True)
    with Store(Repository.open(top)) as opened:
        yield opened


Step = tuple[str, object]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("edit"), edits()),
        st.tuples(st.just("fan"), st.sampled_from(sorted(IDS))),
        st.tuples(st.just("bundle"), st.lists(st.sampled_from([key for key in KEYS if key.archived]), max_size=4)),
        st.tuples(st.just("single"), st.sampled_from(KEYS)),
        st.tuples(st.just("unbundle"), st.lists(st.sampled_from([key for key in KEYS if key.archived]), max_size=2)),
    ),
    max_size=6,
)


def take(draft: ObjectDraft, tree: Oid, step: Step, *, only_edits: bool = False) -> Oid:
    name, value = step
    if name == "edit":
        assert isinstance(value, dict)
        return draft.tree(tree, value)
    if only_edits:
        return tree
    if name == "fan":
        assert isinstance(value, str)
        return forms.fan_out(draft, tree, value)
    if name == "single":
        return store_single(draft, tree, value)
    assert isinstance(value, list)
    return (forms.bundle if name == "bundle" else forms.unbundle)(draft, tree, value)


def store_single(draft: ObjectDraft, tree: Oid, key: object) -> Oid:
    """Store a record as a file of its own, beside another copy of it, as a merge of git can."""
    assert isinstance(key, Key)
    root, path = draft.folder(tree), layout.path_of(key)
    return draft.stored_tree(tree, {path: text_at(root, path)}) if find_stored(root, path) is not None else tree


def run(draft: ObjectDraft, tree: Oid, steps: Iterable[Step], *, only_edits: bool = False) -> Oid:
    for step in steps:
        tree = take(draft, tree, step, only_edits=only_edits)
    return tree


@pytest.fixture(autouse=True)
def small_bundles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_form, "BUNDLE_BYTES", 250)


@settings(max_examples=30)
@given(steps=STEPS)
def test_files_are_found_in_the_listing_as_without_it(store: Store, steps: list[Step]) -> None:
    draft = store.draft()
    folder = draft.folder(run(draft, draft.tree(None, FULL), steps)).folder("archive").folder("open_loops")
    if isinstance(folder, ViewFolder):
        files = folder.view.list_files()
        assert {path: folder.view.find(path) for path in files} == files
        contents = {path: (entry.oid, entry.mode) for path, entry in files.items()}
        assert folder.view.identify_files() == contents
        assert set(layout.paths_below(folder)) == files.keys()


@settings(max_examples=30)
@given(steps=STEPS, others=STEPS)
def test_the_files_that_differ_are_the_same_however_many_they_are(
    store: Store, steps: list[Step], others: list[Step]
) -> None:
    draft = store.draft()
    trees = [run(draft, draft.tree(None, FULL), some) for some in (steps, others)]
    found = []
    for least in (0, 10_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stored_views, "LISTED_FROM", least)
            old, new = (draft.folder(tree) for tree in trees)
            found.append(sorted(layout.differing_paths(old, new)))
    assert found[0] == found[1]


@settings(max_examples=60)
@given(steps=STEPS)
def test_a_tree_of_layout_2_holds_what_layout_1_holds(store: Store, steps: list[Step]) -> None:
    draft = store.draft()
    root = draft.tree(None, FULL)
    plain, stored = run(draft, root, steps, only_edits=True), run(draft, root, steps)
    files = logical(draft, plain)
    assert logical(draft, stored) == files
    old, new = draft.folder(plain), draft.folder(stored)
    assert set(layout.differing_paths(old, new)) <= set(layout.ROOT_FILES)
    assert set(layout.differing_paths(new, old)) <= set(layout.ROOT_FILES)
    for key in KEYS:
        path = layout.path_of(key)
        assert text_at(new, path) == files.get(path, b"")
    states = [State(layout.TreeSource(side)) for side in (old, new)]
    for kind in KINDS:
        for archived in (False, True):
            assert set(states[0].ids(kind, archived=archived)) == set(states[1].ids(kind, archived=archived))
    assert new.version == 2 or stored == plain


@settings(max_examples=60)
@given(first=STEPS, ours=STEPS, theirs=STEPS)
def test_merges_of_both_forms_are_equal(store: Store, first: list[Step], ours: list[Step], theirs: list[Step]) -> None:
    draft = store.draft()
    root = draft.tree(None, FULL)
    trees = {}
    for only_edits in (True, False):
        base = run(draft, root, first, only_edits=only_edits)
        sides = [run(draft, base, steps, only_edits=only_edits) for steps in (ours, theirs)]
        trees[only_edits] = (base, *sides)
    expected = merge_trees(draft, *trees[True])
    for base in (trees[True][0], trees[False][0]):
        for left in (trees[True][1], trees[False][1]):
            for right in (trees[True][2], trees[False][2]):
                merged = merge_trees(draft, base, left, right)
                assert logical(draft, merged.tree) == logical(draft, expected.tree)
                assert [c.id for c in merged.conflicts] == [c.id for c in expected.conflicts]
    base, left, right = trees[False]
    result = merge_trees(draft, base, left, right).tree
    assert draft.folder(result).version == max(draft.folder(side).version for side in (left, right))
    assert_adopted(draft, result, (left, right))
    if logical(draft, left) == logical(draft, right):
        assert merge_trees(draft, base, right, left).tree == result


def assert_adopted(draft: ObjectDraft, merged: Oid, sides: Iterable[Oid]) -> None:
    """What a side has fanned out or bundled is so in the merge, if it is the same there."""
    root = draft.folder(merged)
    for side in map(draft.folder, sides):
        for kind in KINDS:
            view = view_of(side, Key(kind, "", archived=True))
            if not isinstance(view, ArchiveView):
                continue
            for path, entry in view.iterate_files():
                if find_stored(view.stored, path) is None and text_at(root, f"{CLOSED[kind].folder}/{path}"):
                    now = find_stored(root, f"{CLOSED[kind].folder}/{path}")
                    single = find_stored(root.stored(), f"{CLOSED[kind].folder}/{path}")
                    assert (single is None) == (now == entry)


@settings(max_examples=60)
@given(
    keys=st.lists(st.integers(0, 60), unique=True, min_size=1),
    cuts=st.lists(st.integers(0, 60), max_size=3),
)
def test_bundles_do_not_depend_on_the_steps_in_which_they_were_made(
    store: Store, keys: list[int], cuts: list[int]
) -> None:
    draft = store.draft()
    names = [Key("open_loop", f"OL-{number}", archived=True) for number in keys]
    tree = draft.tree(None, {**layout.ROOT_FILES, **{layout.path_of(key): closed(key.id) for key in names}})
    at_once = forms.bundle(draft, tree, names)
    in_steps = tree
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(names)], strict=True):
        in_steps = forms.bundle(draft, in_steps, names[start:end])
    assert in_steps == at_once
    assert not any(find_stored(draft.folder(at_once).stored(), layout.path_of(key)) for key in names)
    assert set(forms.list_bundled(draft.folder(tree), draft.folder(at_once))) == set(names)
    assert logical(draft, forms.unbundle(draft, at_once, names)) == logical(draft, tree)
