"""Outlines: records are chosen by them exactly as if each was decoded, and a cache that is wrong is not believed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import laws

from baton_git.core import layout
from baton_git.core.brief_sections import SECTIONS
from baton_git.core.layout import decode
from baton_git.core.lifecycle import archive_closed, settle_state
from baton_git.core.names import Namespace, Oid, RecordId, is_plain_id
from baton_git.core.outlines import Listing, split_words
from baton_git.core.policy import Policy
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import ActiveDecision, FollowUp, OpenLoop, Pattern, Rule
from baton_git.core.sessions import list_contexts, shown_head
from baton_git.core.state import Key, State, Unreadable
from baton_git.git.store import Repository, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.machine_state import OutlineFiles
from baton_git.namespace.revision import ProposedState
from baton_git.namespace.workspace import Actor, Workspace
from baton_git.verbs.records.listing import list_records
from baton_git.verbs.records.ready import list_ready
from baton_git.verbs.sessions.session_start import StartOptions, begin_session
from baton_git.verbs.sharing.open_conflicts import list_open_conflicts
from baton_git.verbs.upkeep.namespace_status import read_status
from baton_git.verbs.work_items.new_records import find_same

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


STATUSES: tuple[Any, ...] = ("active", "monitoring", "superseded")


def many(count: int) -> State:
    """Return a state with `count` records of each kind that has outlines; some of them are due."""
    state = State()
    for number in range(count):
        day = (NOW - timedelta(days=number % 9)).date().isoformat()
        for record in (
            OpenLoop(id=f"OL-{number}", action="a", expected_outcome="e", created_at=day, ttl_days=number % 12,
                     status=("open", "failed", "verified")[number % 3]),
            FollowUp(id=f"FU-{number}", item=f"item {number}", first_seen=day, defer_count=number % 7),
            Pattern(id=f"PAT-{number}", what="w", first_seen=day, last_seen=day, count=number % 5),
            ActiveDecision(id=f"DEC-{number}", what="w", why="y", created_at=day, status=STATUSES[number % 3],
                           replaces=f"DEC-{number + 3}" if number % 9 == 0 else None),
            Rule(id=f"rule-{number}", text="Run the tests."),
            Session(id=f"s-{number}", started=day, status="ended" if number % 25 else "active",
                    context="c" if number == 7 else None, context_at=day if number == 7 else None),
            Conflict(id=f"C-{number}", record_kind="follow_up", record_id="FU-1", field="reason", winner="ours"),
        ):  # fmt: skip
            state = State(state.source, {**state.edits, Key(record.kind, record.id): record})
    return state


@pytest.fixture
def ws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setattr(layout, "MANY", 20)
    with Store(Repository.create_bare(tmp_path / "r.git")) as store:
        ws = Workspace(Branch(store, Namespace("team")), Actor("Ada <ada@localhost>", "s-1"))
        ws.update("import", NOW, lambda _: many(40))
        yield ws


def reopened(ws: Workspace) -> Iterator[State]:
    """Yield the state as a new process reads it, with and without outlines."""
    with Store(ws.branch.store.repository) as store:
        tip = store.tip(ws.branch.ref)
        assert tip is not None
        root = store.folder(store.commit(tip).tree)
        yield State(layout.TreeSource(root, store.memory, OutlineFiles(store.repository.common_dir, Namespace("team"))))
        yield State(layout.TreeSource(root))


class Agent:
    """Labels all records alike."""

    def word(self, key: Key) -> str:
        return "agent"

    def mark(self, record: object) -> str:
        return ""

    aging = mark

    def explain_marks(self) -> list[str]:
        return []

    def waits_for_approval(self, loop: object) -> bool:
        return False

    def is_confirmed(self, key: Key) -> bool:
        return False

    def is_superseded(self, decision: Any) -> bool:
        return bool(decision.status == "superseded")

    def tier(self, key: Key, declared: str) -> str:
        return declared


def shown(state: State) -> list[Any]:
    sections = [make(state, NOW, Policy(), Agent()) for make in SECTIONS]  # type: ignore[arg-type]
    closed = archive_closed(settle_state(state, NOW, Policy()), NOW, None, Agent()).edits
    return [*sections, list(state.unreadable(KINDS)), list_contexts(state), closed]


def test_the_brief_and_the_rules_choose_the_same_records_by_outlines(ws: Workspace) -> None:
    for _ in range(2):  # the second time, from the files
        with_outlines, without = (shown(state) for state in reopened(ws))
        assert with_outlines == without
    folder = ws.branch.store.repository.common_dir / "baton" / "outlines" / "team"
    assert {path.name for path in folder.iterdir()} == {f"{kind}.json" for kind in KINDS}
    assert all(state.ids("rule") for state in reopened(ws))


KINDS = ("open_loop", "follow_up", "pattern", "active_decision", "rule", "session", "conflict")


class Decoded:
    """The keys of the records that were decoded."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.keys: list[Key] = []
        patched.setattr("baton_git.core.layout.decode", self.decode)

    def decode(self, key: Key, path: str, text: bytes) -> Any:
        self.keys.append(key)
        return decode(key, path, text)


def opened(ws: Workspace) -> Workspace:
    """Return the workspace as another process opens it, with nothing in memory."""
    store = Store(ws.branch.store.repository)
    return replace(ws, branch=replace(ws.branch, store=store))


COMMANDS: Mapping[str, tuple[Callable[[Workspace], object], int]] = {
    "brief": (lambda ws: begin_session(ws, NOW, StartOptions(sync_seconds=0)), 45),
    "ready": (lambda ws: list_ready(ws, NOW, limit=3), 3 + 5),  # and those of the rules of the policy
    "status": (lambda ws: read_status(ws, NOW), 25),  # active sessions
    "conflicts": (lambda ws: list_open_conflicts(ws)[:3], 0),
    "the head of a document": (lambda ws: shown_head(ws.branch.read().state), 2),
    "list": (lambda ws: list_records(ws, NOW, limit=5), 6),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_starts_and_shows_decodes_as_many_records_however_many_there_are(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    command, most = COMMANDS[name]
    monkeypatch.setattr("baton_git.core.brief_sections.MOST_LINES", 3)
    ws = replace(ws, policy=Policy(max_open_loops=3, max_follow_ups=3, max_patterns=3, max_active_decisions=3))
    ws.update("import", NOW, lambda _: many(120))
    begin_session(opened(ws), NOW, StartOptions(sync_seconds=0))  # closes what is due
    state = opened(ws).branch.read().state
    assert not list(state.unreadable(KINDS))  # keeps the listings
    other = opened(ws)
    with monkeypatch.context() as patched:
        patched.setattr(layout.TreeSource, "make_listing", only_small(layout.TreeSource.make_listing))
        decoded = Decoded(patched)
        command(other)
    assert len(decoded.keys) <= most, Counter(key.kind for key in decoded.keys)


def only_small(make: Callable[..., Listing]) -> Callable[..., Listing]:
    def make_listing(source: layout.TreeSource, kind: str) -> Listing:
        listing = make(source, kind)
        assert len(listing.files) < layout.MANY, f"the folder of {kind} was listed from the tree"
        return listing

    return make_listing


@pytest.mark.parametrize("is_fanned", [False, True])
def test_a_listing_of_an_earlier_folder_is_brought_up_to_date(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch, is_fanned: bool
) -> None:
    if is_fanned:
        monkeypatch.setattr("baton_git.core.stored_form.FAN_FROM", 30)
        ws.update("import", NOW, lambda _: many(60))
        assert opened(ws).branch.read().state.ids("follow_up") == {f"FU-{number}" for number in range(60)}
    for state in reopened(ws):
        shown(state)
    changes: list[Callable[[State], State]] = [
        lambda state: state.put(state.get(FollowUp, "FU-3").replace(priority="escalated")),
        lambda state: state.remove(Key("follow_up", "FU-4")).remove(Key("session", "s-7")),
        lambda state: state.add(FollowUp(id="a/b c", item="i", first_seen="2026-01-01")),
        lambda state: state.archive(state.get(FollowUp, "FU-5"), at="2026", reason="r", session=None),
    ]
    for change in changes:
        ws.update("edit", NOW, lambda tip: change(tip.state))  # noqa: B023  called at once
        with monkeypatch.context() as patched:
            patched.setattr(layout.TreeSource, "make_listing", only_small(layout.TreeSource.make_listing))
            listed = next(reopened(ws))
            ids, outlines = {kind: listed.ids(kind) for kind in KINDS}, set(listed.outlines(FollowUp))
        fresh = [*reopened(ws)][1]
        assert ids == {kind: fresh.ids(kind) for kind in KINDS}
        assert outlines == set(fresh.outlines(FollowUp))


def test_a_process_loads_each_listing_once(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    for state in reopened(ws):
        shown(state)
    other = opened(ws)
    assert other.branch.read().state.ids("follow_up")
    monkeypatch.setattr(OutlineFiles, "load", None)  # any call of it would fail
    for number in range(3):
        other.edit("e", NOW, FollowUp, "FU-3", lambda state, item: state.put(item.replace(reason=f"r{number}")))  # noqa: B023  called at once
        tip = other.branch.store.tip(other.branch.ref)
        assert len(other.branch.revision_at(tip).state.ids("follow_up")) == 40


def test_a_listing_is_made_again_if_its_folder_is_gone(ws: Workspace) -> None:
    for state in reopened(ws):
        shown(state)
    files = OutlineFiles(ws.branch.store.repository.common_dir, Namespace("team"))
    listing = files.load("follow_up")
    assert listing is not None
    old, _, form = listing.folder.partition(" ")
    ws.edit("edit", NOW, FollowUp, "FU-3", lambda state, item: state.put(item.replace(priority="escalated")))
    for folder in (f"{'0' * len(old)} {form}", f"{old} another", "", old):
        files.save("follow_up", listing._replace(folder=folder, files={**listing.files, "FU-x": Oid("0" * 40)}))
        state = next(reopened(ws))
        assert "FU-x" not in state.ids("follow_up")
        assert [item.id for item in state.select(FollowUp, lambda item: item.priority == "escalated")] == ["FU-3"]


def test_a_listing_tells_files_that_are_not_those_of_records(ws: Workspace) -> None:
    ws.update("import", NOW, lambda tip: ProposedState(tip.state, files={"follow_ups/README.txt": b"notes\n"}))
    for number in range(3):
        for state in reopened(ws):
            assert [entry.path for entry in state.unreadable(KINDS)] == ["follow_ups/README.txt"]
        ws.update("edit", NOW, lambda tip: tip.state.remove(Key("follow_up", f"FU-{number}")))  # noqa: B023  called at once
        assert [entry.path for entry in ws.branch.read().state.unreadable(())] == ["follow_ups/README.txt"]


def test_few_records_are_decoded_if_outlines_are_saved(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    for state in reopened(ws):
        shown(state)
    state = next(reopened(ws))
    monkeypatch.setattr("baton_git.core.layout.decode", None)  # any call of it would fail
    assert len(state.select(FollowUp, lambda item: item.priority == "normal")) == 40


def test_changed_records_are_chosen_by_what_they_are_now(ws: Workspace) -> None:
    for state in reopened(ws):
        shown(state)
    for id_ in ("FU-3", "FU-9"):
        ws.edit("edit", NOW, FollowUp, id_, lambda state, item: state.put(item.replace(priority="escalated")))
    ws.update("edit", NOW, lambda tip: tip.state.remove(Key("follow_up", "FU-4")))
    for state in reopened(ws):
        chosen = state.select(FollowUp, lambda item: item.priority == "escalated")
        assert {item.id for item in chosen} == {"FU-3", "FU-9"}
        assert "FU-4" not in {item.id for item in state.select(FollowUp, lambda item: True)}


def test_edits_that_are_not_stored_yet_are_chosen_by_what_they_are_now(ws: Workspace) -> None:
    for state in reopened(ws):
        shown(state)
        item = state.get(FollowUp, "FU-3")
        changed = state.put(item.replace(priority="escalated")).remove(Key("follow_up", "FU-4"))
        assert [item.id for item in changed.select(FollowUp, lambda item: item.priority == "escalated")] == ["FU-3"]
        assert len(changed.select(FollowUp, lambda item: True)) == 39


class Damaged(list[Any]):
    """What a listing would be stored as."""

    def as_data(self) -> object:
        return self


@pytest.mark.parametrize("damage", ["", "{}", "1 0.0 ", "cut", "other digest", "list", "wrong values"])
def test_outlines_that_are_damaged_are_not_believed(ws: Workspace, damage: str) -> None:
    expected = [shown(state) for state in reopened(ws)][1]
    files = OutlineFiles(ws.branch.store.repository.common_dir, Namespace("team"))
    path = ws.branch.store.repository.common_dir / "baton" / "outlines" / "team" / "follow_up.json"
    head, body = path.read_bytes().split(b"\n", 1)
    if damage == "cut":
        path.write_bytes(head + b"\n" + body[:-9])
    elif damage == "other digest":
        path.write_bytes(head + b"\n" + body.replace(b"normal", b"escala"))
    elif damage == "list":
        files.save("follow_up", Damaged([1, 2]))  # type: ignore[arg-type]
    elif damage == "wrong values":
        folder, strays, rows = json.loads(body)
        files.save("follow_up", Damaged([folder, strays, [[*row[:3], "x"] for row in rows]]))  # type: ignore[arg-type]
    else:
        path.write_text(damage)
    assert next(iter(map(shown, reopened(ws)))) == expected
    assert sorted(json.loads(path.read_bytes().split(b"\n", 1)[1])[2]) == sorted(json.loads(body)[2])  # made again


def test_an_unreadable_file_is_reported_beside_outlines(ws: Workspace) -> None:
    list(map(shown, reopened(ws)))
    copied = layout.encode({Key("follow_up", "FU-7"): ws.branch.read().state.get(FollowUp, "FU-7")})
    [(path, text)] = copied.items()
    damaged = {"open_loops/OL-1.toml": b"id = 1\n", path.replace("FU-7", "FU-2"): text}
    ws.update("import", NOW, lambda tip: ProposedState(tip.state, files=damaged))
    for _ in range(2):
        for state in reopened(ws):
            bad = [entry for entry in state.unreadable(("open_loop", "follow_up")) if isinstance(entry, Unreadable)]
            assert {entry.path.rpartition("/")[2] for entry in bad} == {"OL-1.toml", "FU-2.toml"}


@laws
@given(st.text(min_size=1, max_size=12) | st.from_regex(r"(ol|OL|con|c|nul)?-?[a-z0-9_.-]{1,8}", fullmatch=True))
def test_a_plain_id_is_its_own_file_name(text: str) -> None:
    if is_plain_id(text):
        assert RecordId(text).component == text
        assert RecordId.from_component(text).text == text


def test_writes_carry_on_the_list_of_ids(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    ws.branch.read().state.ids("follow_up")
    with monkeypatch.context() as patched:
        for name in ("list_stored_ids", "make_listing"):
            patched.setattr(layout.TreeSource, name, None)  # any call of it would fail
        ws.edit(
            "done", NOW, FollowUp, "FU-2", lambda state, item: state.archive(item, at="2026", reason="r", session=None)
        )
        new = [FollowUp(id=id_, item="i", first_seen="2026-01-01") for id_ in ("FU-new", "con", "a/b c", "FU-3x")]
        for item in new[:3]:
            ws.update("add", NOW, partial(lambda item, tip: tip.state.add(item), item))
        ws.update("edit", NOW, lambda tip: tip.state.remove(Key("follow_up", "FU-3")).add(new[3]))
        ids = ws.branch.read().state.ids("follow_up")
    assert {"FU-2", "FU-3"}.isdisjoint(ids)
    assert {"FU-new", "con", "a/b c", "FU-3x"} <= ids
    assert all(state.ids("follow_up") == ids for state in reopened(ws))


TEXTS = st.text("aB .!\u2026", max_size=4)


@laws
@given(st.lists(TEXTS.filter(str.strip), max_size=6), TEXTS)
def test_the_record_with_the_same_text_is_that_of_an_exhaustive_search(texts: list[str], text: str) -> None:
    state = State()
    for number, item in enumerate(texts):
        state = state.put(FollowUp(id=f"FU-{number}", item=item, first_seen=f"2026-01-0{9 - number}"))
    equal = [f"FU-{number}" for number, item in enumerate(texts) if split_words(item) == split_words(text)]
    same = find_same(state, FollowUp, text)
    assert (same.id if same else None) == next(iter(equal), None)


def test_the_next_write_finds_the_same_text_by_the_outlines_of_the_last(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ws.branch.read().state.select(Pattern, lambda _: False) == []
    with monkeypatch.context() as patched:
        patched.setattr(layout.TreeSource, "find_outlines", None)  # any call of it would fail
        first = Pattern(id="PAT-x", what="Assumed Docker", first_seen="2026-01-01", last_seen="2026-01-01", count=1)
        ws.update("add", NOW, lambda tip: tip.state.add(first))
        state = ws.branch.read().state
        assert find_same(state, Pattern, "assumed  docker.") == first
        ws.update("edit", NOW, lambda tip: tip.state.put(first.replace(what="Guessed")))
        state = ws.branch.read().state
        assert find_same(state, Pattern, "assumed docker") is None
        assert find_same(state, Pattern, "guessed!") is not None
        ws.update("edit", NOW, lambda tip: tip.state.remove(Key("pattern", "PAT-x")))
        assert find_same(ws.branch.read().state, Pattern, "guessed") is None
