"""The layout: the path of each record, and the treatment of foreign and damaged files."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from looped_cases import for_each
from memory_folder import MemoryFolder
from strategies import LOOP, ids, item, laws, loop

from baton_git.core import kinds, layout
from baton_git.core.codecs.toml import dumps
from baton_git.core.errors import Corrupt, LimitExceeded
from baton_git.core.records.base import Archived, Part
from baton_git.core.records.work_items import FollowUp, Head, OpenLoop, Rule, Shape
from baton_git.core.state import HEAD, SHAPE, Key, State, Unreadable, same_fields
from baton_git.core.value_cache import ValueCache

KINDS = st.sampled_from(tuple(kinds.KINDS))


@for_each(
    ("key", "path"),
    [
        (Key("open_loop", "OL-1"), "open_loops/OL-1.toml"), (Key("follow_up", "a/b"), "follow_ups/a%2fb.toml"),
        (Key("pattern", "PAT-1"), "patterns/PAT-1.toml"), (Key("active_decision", "D"), "active_decisions/%44.toml"),
        (Key("rule", "PAT-1"), "rules/PAT-1.md"), (Key("session", "2026-06-17-003"), "sessions/2026-06-17-003.toml"),
        (Key("conflict", "C-1"), "conflicts/C-1.toml"), (HEAD, "baton.toml"), (SHAPE, "document.toml"),
        (Key("checkpoint", "zero/2026-04-04t18-34-00z-s1"), "checkpoints/zero/2026-04-04t18-34-00z-s1.toml"),
        (Key("checkpoint", "Zero/a/b", archived=True), "archive/checkpoints/xx/%5aero%2fa%2fb.toml"),
        (Key("handover", "run-1"), "handover/run-1.txt"),
        (Key("open_loop", "OL-001", archived=True), "archive/open_loops/76/OL-001.toml"),
        (Key("open_loop", "..", archived=True), "archive/open_loops/3f/%2e%2e.toml"),
    ],
)  # fmt: skip
def test_each_record_has_its_path_and_each_path_its_record(key: Key, path: str) -> None:
    if path.startswith("archive"):
        xx = hashlib.sha256(key.id.encode()).hexdigest()[:2]
        path = "/".join([*path.split("/")[:2], xx, path.split("/")[3]])
    assert layout.path_of(key) == path
    assert layout.key_at(path) == key


@laws
@given(KINDS, ids, st.booleans())
def test_every_key_has_a_path_and_every_path_leads_back_to_its_key(kind: str, id_: str, archived: bool) -> None:
    folders = [f"folder {number}/" for number in range(1, kinds.KINDS[kind].parts)]
    key = Key(kind, "".join((*folders, id_)), archived)
    path = layout.path_of(key)
    assert layout.key_at(path) == key
    assert all(part not in ("", ".", "..", ".git") for part in path.split("/"))


@for_each(
    "path",
    [
        "README.md", "open_loops/README.md", "open_loops/A.toml", "open_loops/OL-1.TOML", "open_loops/x/OL-1.toml",
        "open_loops",
        "archive/OL-1.toml", "archive/open_loops/OL-1.toml", "archive/open_loops/00/OL-1.toml", "format.toml",
        ".gitattributes",
        "checkpoints/zero.toml", "checkpoints/zero/a/b.toml", "checkpoints/a%2fb/c.toml", "checkpoints/zero/a.txt",
        "rules/PAT-1.toml", "notes/x.toml", "archive/notes/00/x.toml", "open_loops/.toml", "",
    ],
)  # fmt: skip
def test_unknown_files_belong_to_no_record(path: str) -> None:
    assert layout.key_at(path) is None


def test_foreign_files_are_not_read_and_not_changed() -> None:
    folder = MemoryFolder({"notes/x.toml": b"\xff", "README.md": b"hello", "open_loops/OL-1.toml": b"bad"})
    state = layout.state_of(folder).put(item())
    assert set(layout.encode(state.edits)) == {"follow_ups/FU-1.toml"}
    assert "notes/x.toml" not in folder.reads


def test_records_are_decoded_lazily_and_the_archive_is_not_read() -> None:
    text = layout.encode({Key("open_loop", "OL-1"): loop()})["open_loops/OL-1.toml"]
    assert text is not None
    closed = State().put(loop(id="old")).archive(loop(id="old"), at="", reason="", session=None)
    files = {path: made for path, made in layout.encode(closed.edits).items() if made is not None}
    folder = MemoryFolder({"open_loops/OL-1.toml": text, "follow_ups/FU-1.toml": b"", **files})
    state = layout.state_of(folder)
    folder.reads.clear()
    assert state.records(OpenLoop) == [loop()]
    assert [path for path in folder.reads if path.endswith(".toml")] == ["open_loops/OL-1.toml"]
    assert not any(path.startswith("archive") for path in folder.reads)
    assert state.ids("open_loop", archived=True) == {"old"}
    assert [path for path in folder.reads if path.endswith(".toml")] == ["open_loops/OL-1.toml"]


@for_each(
    ("text", "why"),
    [
        (b"", "id: is missing; action: is missing"), (b"\xff", "not UTF-8 text: invalid start byte at byte 0"),
        (b"a = ", "not TOML: "), (b'"$x" = 1', "$x: '$x' means nothing here"),
        (b'id = "OL-2"\naction = ""\nexpected_outcome = ""\ncreated_at = ""', "id: is 'OL-2', but the file is that of"),
    ],
)  # fmt: skip
def test_an_unreadable_record_file_has_a_reason(text: bytes, why: str) -> None:
    entry = layout.state_of(MemoryFolder({"open_loops/OL-1.toml": text})).entry(Key("open_loop", "OL-1"))
    assert isinstance(entry, Unreadable)
    assert entry.path == "open_loops/OL-1.toml"
    assert entry.why.startswith(why)


def test_a_torn_object_is_reported_with_its_path() -> None:
    folder = MemoryFolder({"open_loops/OL-1.toml": b""}, torn=frozenset({"open_loops/OL-1.toml"}))
    entry = layout.state_of(folder).entry(Key("open_loop", "OL-1"))
    assert isinstance(entry, Unreadable)
    assert "its object is damaged" in entry.why


def test_invalid_files_in_the_folders_of_records_are_reported() -> None:
    names = ["open_loops/README.md", "open_loops/A.toml", "patterns/deep/x.toml", "rules/x.toml"]
    state = layout.state_of(MemoryFolder(dict.fromkeys(names, b"")))
    found = {one.path for one in state.unreadable(kinds.KINDS)}
    assert found == {"open_loops/README.md", "open_loops/A.toml", "patterns/deep", "rules/x.toml"}


def test_an_archived_record_is_checked_like_a_live_one() -> None:
    path = layout.path_of(Key("open_loop", "OL-1", archived=True))
    bad = layout.toml.dumps({"at": "", "reason": "", "record": {**LOOP, "status": "done"}})
    entry = layout.state_of(MemoryFolder({path: bad})).entry(Key("open_loop", "OL-1", archived=True))
    assert isinstance(entry, Unreadable)
    assert entry.why.startswith("record.status: input should be")


@laws
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
@example("Subproject commit ids are pinned")
@example(f"Subproject commit {'a' * 40}: pinned\n")
def test_a_rule_file_is_the_text_byte_for_byte(text: str) -> None:
    rule = Rule(id="PAT-1", text=text)
    assert layout.encode({Key("rule", "PAT-1"): rule}) == {"rules/PAT-1.md": text.encode()}
    assert layout.decode(Key("rule", "PAT-1"), "", text.encode()) == rule


def test_a_record_that_is_too_large_is_refused_with_the_limit() -> None:
    with pytest.raises(LimitExceeded, match=r"the limit is 262,144 bytes") as caught:
        layout.encode({Key("open_loop", "OL-1"): loop(action="x" * layout.MAX_RECORD_BYTES)})
    assert caught.value.data["limit"] == 256 * 1024
    layout.encode({Key("open_loop", "OL-1"): loop(action="x" * (layout.MAX_RECORD_BYTES - 200))})


def test_removing_a_record_removes_its_file() -> None:
    assert layout.encode({Key("open_loop", "OL-1"): None}) == {"open_loops/OL-1.toml": None}


def test_the_first_commit_holds_the_same_bytes_everywhere() -> None:
    digests = {name: hashlib.sha256(text).hexdigest()[:16] for name, text in layout.ROOT_FILES.items()}
    assert digests == {"format.toml": "4a0a73368583d52b", ".gitattributes": "9b5af5294983c708"}


@for_each(
    "text",
    [
        b"version = 3\n",
        b"version = 0\n",
        b"version = true\n",
        b"version = '1'\n",
        b"# nothing\n",
        b"version = \n",
        b"\xff",
    ],
)
def test_a_tree_of_a_later_layout_or_with_a_broken_format_file_is_refused(text: bytes) -> None:
    with pytest.raises(Corrupt, match=r"format\.toml"):
        layout.state_of(MemoryFolder({"format.toml": text}))


@pytest.mark.parametrize(
    "text", [b"version = 1", b"version = 2", b"version = 1 # by hand\r\nmore = 2\r\n", layout.ROOT_FILES["format.toml"]]
)
def test_a_tree_of_a_known_layout_is_read_whatever_else_its_format_file_says(text: bytes) -> None:
    assert layout.state_of(MemoryFolder({"format.toml": text})).records(OpenLoop) == []


def test_paths_that_differ_are_found_without_opening_folders_that_are_the_same() -> None:
    same = {f"patterns/p{number}.toml": b"" for number in range(3)}
    ours = MemoryFolder({**same, "a": b"1", "b/c": b"1", "b/d": b"1", "x": b""})
    theirs = MemoryFolder({**same, "a": b"2", "b/c": b"1", "b/e": b"1", "x/y": b""})
    assert sorted(layout.differing_paths(ours, theirs)) == ["a", "b/d", "b/e", "x", "x/y"]
    assert sorted(ours.reads) == ["/", "b/"]
    assert sorted(layout.paths_below(ours)) == sorted(ours.files)
    assert sorted(layout.differing_paths(ours, None)) == sorted(ours.files)
    ours.reads.clear()
    assert list(layout.differing_paths(ours, MemoryFolder(dict(ours.files)))) == []
    assert ours.reads == []


def test_singletons_are_stored_under_their_own_names() -> None:
    files = layout.encode({HEAD: Head(session_id="s"), SHAPE: Shape(sections=("patterns",))})
    assert set(files) == {"baton.toml", "document.toml"}
    state = layout.state_of(MemoryFolder({path: text for path, text in files.items() if text is not None}))
    assert (state.head, state.shape) == (Head(session_id="s"), Shape(sections=("patterns",)))
    assert state.ids("head") == {""}


def test_each_row_of_the_table_of_kinds_names_a_model_of_that_kind() -> None:
    for kind, row in kinds.KINDS.items():
        assert getattr(row.model, "kind", None) == kind == row.kind
        assert issubclass(row.model, Part)


def test_decoded_records_are_cached_by_blob_id() -> None:
    memory, reads = ValueCache(), []
    files = {"open_loops/OL-1.toml": dumps(loop().as_data()), "follow_ups/FU-1.toml": dumps(item().as_data())}
    before = layout.state_of(MemoryFolder(files), memory)
    first = before.entry(Key("open_loop", "OL-1"))
    changed = files | {"follow_ups/FU-1.toml": dumps(item(reason="changed").as_data())}
    after = layout.state_of(MemoryFolder(changed, reads=reads), memory)
    assert after.entry(Key("open_loop", "OL-1")) is first
    assert "open_loops/OL-1.toml" not in reads
    assert after.get(FollowUp, "FU-1").reason == "changed"
    assert before.get(FollowUp, "FU-1").reason != "changed"


def test_an_edited_state_reads_like_a_stored_one() -> None:
    state = layout.state_of(MemoryFolder({"open_loops/OL-1.toml": dumps(loop().as_data())}), ValueCache())
    for kind in ("open_loop", "follow_up"):
        state.ids(kind)
    rule = Rule(id="PAT-1", text="Look first.")
    edits = {
        Key("open_loop", "OL-1"): None,
        Key("follow_up", "FU-1"): item(),
        Key("rule", "PAT-1"): rule,
        Key("follow_up", "FU-2", archived=True): Archived(at="2026-11-21", reason="done", record=item().as_data()),
        Key("open_loop", "OL-3"): loop(id="OL-4"),  # this id belongs to another file
    }
    files = {path: text for path, text in layout.encode(edits).items() if text is not None}
    assert isinstance(state.source, layout.TreeSource)
    carried = State(state.source.make_next(MemoryFolder(files), edits))
    read = layout.state_of(MemoryFolder(files))
    for kind in kinds.KINDS:
        for archived in (False, True):
            assert carried.ids(kind, archived=archived) == read.ids(kind, archived=archived)
            for one in read.ids(kind, archived=archived):
                assert same_fields(carried.entry(Key(kind, one, archived)), read.entry(Key(kind, one, archived)))
    assert carried.entry(Key("open_loop", "OL-1")) is None
    assert isinstance(carried.entry(Key("open_loop", "OL-3")), Unreadable)
