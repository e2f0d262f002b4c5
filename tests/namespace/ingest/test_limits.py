"""The limits of a fetch count what is new, and by whom: growth alone never switches anything off."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from hostile import FILE, FOLDER, Hostile
from hypothesis import example, given
from hypothesis import strategies as st
from machines import INCOMING, REF, Machine

from baton_git import __version__
from baton_git.core import stored_form
from baton_git.core.errors import Rejected
from baton_git.core.names import Namespace, Oid
from baton_git.git.objects.values import raw_entries
from baton_git.git.remotes import open_remote
from baton_git.git.store import Repository, Store
from baton_git.namespace.ingest.budget import BOOT, PUSHED, SYNC, Budget, Limits
from baton_git.namespace.ingest.fetch import RejectedTips, fetch_and_check
from baton_git.namespace.ingest.server import RefUpdate, check_ref_updates, find_refusals, format_refusal
from baton_git.namespace.ingest.trees import find_tree_fault, parse_plain_tree

Pair = tuple[Machine, Machine]
FEW = replace(SYNC, entries=10, commits=4, changed=10, live=8)


@pytest.fixture
def mallory(bare: Path) -> Hostile:
    return Hostile(bare)


def fetch(one: Machine, budget: Budget = FEW, *, met: Any = frozenset({REF}), retry: bool = True) -> Rejected | None:
    """Fetch the branch of a remote that the user trusts; return why it is rejected."""
    remote = open_remote(one.store.repository, "origin", one.ws.environment)
    known = None if met is None else met.__contains__
    done = fetch_and_check(one.store, remote, {REF: INCOMING}, seconds=30, budget=budget, met=known, retry=retry)
    return done.rejected.get(REF)


def push(mallory: Hostile, machine: str, files: int, name: str) -> str:
    """Push one commit of a machine with a new folder of files; return its id."""
    folder = mallory.tree(*((FILE, b"%d" % number, mallory.blob()) for number in sorted(range(files), key=str)))
    kept = mallory.entries(mallory.tip())
    trailer = f"Baton-Machine: {machine}\n" if machine else ""
    message = f"notes\n\nBaton-Op: add\n{trailer}Baton-Revision: 9\n"
    tree = mallory.tree(*sorted([*kept, (FOLDER, name.encode(), folder)], key=_sorted_as_in_git))
    tip = mallory.commit(tree, mallory.tip(), message=message)
    mallory.move_branch(tip)
    return tip


def _sorted_as_in_git(entry: tuple[bytes, bytes, bytes]) -> bytes:
    return entry[1] + (b"/" if entry[0] == FOLDER else b"")


def accept(bob: Machine) -> None:
    """Take what the remote has, under the standard limits."""
    assert fetch(bob, SYNC) is None


def test_what_exists_does_not_count(pair: Pair, mallory: Hostile) -> None:
    bob = pair[1]
    push(mallory, "", 30, "old")
    accept(bob)
    push(mallory, "", 9, "new")
    assert fetch(bob) is None


def test_a_flood_is_rejected_however_much_exists(pair: Pair, mallory: Hostile) -> None:
    bob = pair[1]
    push(mallory, "", 30, "old")
    accept(bob)
    commit = push(mallory, "", 11, "new")
    assert f"commit {commit[:8]}: has more than 10 files" in str(fetch(bob))


def test_each_known_machine_has_its_own_allowance(pair: Pair, mallory: Hostile) -> None:
    bob = pair[1]
    for name in ("m1", "m2"):
        push(mallory, name, 1, f"known-{name}")
    accept(bob)
    for name in ("m1", "m2"):
        push(mallory, name, 9, f"new-{name}")
    assert fetch(bob) is None
    for number in range(2):
        push(mallory, "m1", 9, f"more-{number}")
    assert "has more than 10 files" in str(fetch(bob))


def test_invented_machines_share_one_allowance(pair: Pair, mallory: Hostile) -> None:
    bob = pair[1]
    for number in range(3):
        push(mallory, f"invented-{number}", 6, f"new-{number}")
    assert "has more than 10 files" in str(fetch(bob))


@pytest.mark.parametrize(("machines", "is_accepted"), [(("m1", "m2"), True), (("m1", "m1"), False), (("", "x"), False)])
def test_commits_count_by_machine(pair: Pair, mallory: Hostile, machines: tuple[str, str], is_accepted: bool) -> None:
    bob = pair[1]
    for name in ("m1", "m2"):
        push(mallory, name, 1, f"known-{name}")
    accept(bob)
    for number in range(3):
        for name in machines:
            push(mallory, name, 1, f"n{number}-{name}-{number}")
    rejection = fetch(bob)
    assert (rejection is None) == is_accepted
    assert is_accepted or "more than 4 new commits" in str(rejection)


def test_merges_do_not_count_the_files_of_their_sides(pair: Pair, mallory: Hostile) -> None:
    bob = pair[1]
    push(mallory, "", 8, "old")
    accept(bob)
    base = mallory.tip()
    left = push(mallory, "", 4, "left")
    mallory.move_branch(base)
    right = push(mallory, "", 4, "right")
    entries = {entry[1]: entry for side in (left, right) for entry in mallory.entries(side)}
    tree = mallory.tree(*sorted(entries.values(), key=_sorted_as_in_git))
    mallory.move_branch(mallory.commit(tree, left, right))
    assert fetch(bob) is None


def test_what_a_trusted_remote_had_at_the_first_meeting_is_accepted(pair: Pair, mallory: Hostile) -> None:
    """But not what grows by repetition: 100 paths of 10 files."""
    bob = pair[1]
    push(mallory, "", 30, "old")
    assert fetch(bob) is not None
    assert fetch(bob, met=frozenset()) is None


def test_a_first_tree_that_only_repeats_itself_is_rejected(pair: Pair, mallory: Hostile) -> None:
    tree = mallory.tree(*((FILE, b"%d" % number, mallory.blob()) for number in range(10)))
    for _ in range(5):
        tree = mallory.tree(*((FOLDER, b"%d" % number, tree) for number in range(10)))
    mallory.push((FOLDER, b"notes", tree))
    assert "most of them repeated" in str(fetch(pair[1], SYNC, met=frozenset()))
    mallory.push(mallory.bomb())
    assert "files" in str(fetch(pair[1], SYNC, met=frozenset()))


def test_live_records_may_double(pair: Pair) -> None:
    ada, bob = pair
    for number in range(5):
        ada.loop(f"OL-a{number}")
    ada.sync()
    bob.sync()
    for number in range(6):
        ada.loop(f"OL-b{number}")
    ada.sync()
    assert fetch(bob, replace(SYNC, live=7)) is None
    for number in range(20):
        ada.loop(f"OL-c{number}")
    ada.sync()
    bob.git("update-ref", INCOMING, str(bob.tip))
    assert "33 records outside the archive, the limit is 14" in str(fetch(bob, replace(SYNC, live=7)))


# --- settings


def test_the_command_in_the_refusal_works(pair: Pair, mallory: Hostile) -> None:
    bob = pair[1]
    push(mallory, "", 30, "notes")
    owner = Limits(new_files=10)
    rejection = fetch(bob, SYNC.within(owner))
    assert rejection is not None
    command = rejection.hint.rpartition(": ")[2]
    assert command == "git config baton.maxNewFiles 33"
    assert fetch(bob, SYNC.within(owner._replace(new_files=33))) is None


def test_an_automatic_fetch_names_baton_sync_if_that_would_accept_it(pair: Pair, mallory: Hostile) -> None:
    bob = pair[1]
    push(mallory, "", 30, "notes")
    rejection = fetch(bob, replace(BOOT, entries=10))
    assert rejection is not None
    assert "run baton sync" in rejection.hint
    rejection = fetch(bob, replace(BOOT, entries=10).within(Limits(new_files=20)))
    assert rejection is not None
    assert "git config baton.maxNewFiles 33" in rejection.hint


def test_a_lower_limit_of_the_owner_also_binds_the_automatic_fetch() -> None:
    lower, higher = BOOT.within(Limits(new_files=10)), BOOT.within(Limits(new_files=10**6))
    assert (lower.entries, lower.changed, higher.entries) == (10, 10, BOOT.entries)


def test_a_remembered_rejection_ends_with_a_raised_limit_and_with_a_new_version(
    pair: Pair, mallory: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob = pair[1]
    push(mallory, "", 30, "notes")
    assert fetch(bob) is not None
    memory, tip = RejectedTips.of(bob.store.repository.common_dir), Oid(mallory.tip())
    assert memory.get(tip, FEW) is not None
    assert memory.get(tip, replace(FEW, entries=9)) is not None
    assert memory.get(tip, replace(FEW, entries=11)) is None
    monkeypatch.setattr("baton_git.namespace.ingest.fetch.__version__", f"{__version__}.1")
    assert memory.get(tip, FEW) is None


def test_a_rejection_of_a_version_without_limits_is_not_read(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-2")
    ada.sync()
    folder = bob.top / ".git/baton/rejected"
    folder.mkdir(parents=True)
    (folder / str(ada.tip)).write_text("has more than 5 files\nask its author\n")
    assert fetch(bob, BOOT, retry=False) is None


def test_a_server_counts_what_is_new_and_names_the_command(pair: Pair, mallory: Hostile) -> None:
    old = Oid(push(mallory, "", 30, "old"))
    few = PUSHED.within(Limits(new_files=10))
    for files, is_accepted in ((9, True), (11, False)):
        mallory.move_branch(old)
        new = Oid(push(mallory, "", files, "new"))
        with Store(Repository.open(mallory.bare)) as store:
            update = RefUpdate(old, new, REF)
            refused = list(
                check_ref_updates(store, "refs/heads/baton/", [update], quarantine=mallory.bare / "objects", budget=few)
            )
        assert (not refused) == is_accepted
    assert "git config baton.maxNewFiles" in format_refusal(refused[0])


def push_bundles(mallory: Hostile, count: int, *, fault: int | None = None) -> str:
    """Push bundles of one record each, of which one may have a text that is no record; return the commit."""
    names: dict[str, list[tuple[bytes, bytes, bytes]]] = {}
    for number in range(count):
        id_ = f"OL-{number}"
        rest = b"=== OL-elsewhere.toml\n" if number == fault else b""
        text = b"=== %s.toml\n" % id_.encode() + b'at = "2026-03-01T00:00:00Z"\n' + rest
        digits = stored_form.digits_of(id_)[:4]
        month = f"=20{number % 89 + 10}-01"
        names.setdefault(month, []).append((FILE, stored_form.name_bundle(digits).encode(), mallory.blob(text)))
    months = [
        (FOLDER, month.encode(), mallory.tree(*sorted(names[month], key=itemgetter(1)))) for month in sorted(names)
    ]
    loops = mallory.tree((FOLDER, b"open_loops", mallory.tree(*months)))
    second = (FILE, b"format.toml", mallory.blob(b"version = 2\n"))
    ours = [entry for entry in mallory.entries(mallory.tip()) if entry[1] != b"format.toml"]
    entries = sorted([*ours, second, (FOLDER, b"archive", loops)], key=_sorted_as_in_git)
    return mallory.move_branch(mallory.commit(mallory.tree(*entries), mallory.tip()))


def test_every_bundle_is_checked_however_many_there_are(
    pair: Pair, mallory: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bundle that is no bundle waits, also behind many others; so a server refuses it, and a review names it."""
    bob, old = pair[1], Oid(mallory.tip())
    monkeypatch.setattr("baton_git.namespace.sync.actions.MOST_BUNDLES", 20)
    new = Oid(push_bundles(mallory, 60, fault=59))
    with Store(Repository.open(mallory.bare)) as store:
        [refusal] = find_refusals(store, Namespace("x"), old, new)
    assert "is no bundle of archived records" in refusal.why
    before = bob.tip
    done = bob.sync()
    assert (bob.tip, done.waiting) == (before, 1)
    assert "is no bundle of archived records" in " ".join(action.why for action in done.actions)


@pytest.mark.usefixtures("short_parts")
def test_bundles_that_a_first_start_did_not_read_are_read_with_the_older_history(
    pair: Pair, mallory: Hostile, make: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baton_git.namespace.sync.actions.MOST_BUNDLES", 20)
    for number in range(6):
        pair[0].loop(f"OL-live{number}")
    pair[0].sync()
    push_bundles(mallory, 60, fault=59)
    carol = make("carol")
    carol.sync(completes=False, receive_only=True, retry=False)
    assert "OL-live3" in carol.state.ids("open_loop")
    assert carol.get("open_loop", "OL-elsewhere", archived=True) is None
    [note] = carol.sync().notes
    assert "is no bundle of archived records" in note


def test_a_server_checks_many_large_bundles_within_its_time(
    pair: Pair, mallory: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = Oid(mallory.tip()), Oid(push_bundles(mallory, 60))
    monkeypatch.setattr(time, "monotonic", itertools.count().__next__)  # each look at the clock takes a second
    with Store(Repository.open(mallory.bare)) as store:
        [refusal] = find_refusals(store, Namespace("x"), old, new, budget=replace(PUSHED, seconds=30))
    assert "checking it takes more than 30 s" in refusal.why
    assert "git config baton.maxCheckSeconds" in refusal.why


PLAIN = [b"a", b"a.toml", b"a-b", b"b", b"A", b"=3", b"x.git"]
NAMES = st.sampled_from([*PLAIN, b".git", b"a b", b"", b"a/b", b"\xc3\xa9"])
IDS = st.sampled_from([b"x" * 20, bytes(20), b"\0" * 19 + b"y"])
ENTRIES = st.tuples(st.sampled_from([FILE, FOLDER, b"100755", b"0100644", b"1"]), NAMES, IDS)


@example([(FILE, b"b", b"x" * 20), (FILE, b"a", b"x" * 20)], False, b"")
@example([(FILE, b"a", b"x" * 20), (FILE, b"a-b", b"x" * 20), (FOLDER, b"a", b"x" * 20)], False, b"")
@given(st.lists(ENTRIES, max_size=4), st.booleans(), st.binary(max_size=3))
def test_a_plain_tree_is_one_without_a_fault(
    entries: list[tuple[bytes, bytes, bytes]], is_sorted: bool, rest: bytes
) -> None:
    """The quick check of trees accepts nothing that the thorough one rejects, and reads the same entries."""
    ordered = sorted(entries, key=_sorted_as_in_git) if is_sorted else entries
    data = b"".join(b"%s %s\0%s" % entry for entry in ordered) + rest
    plain = parse_plain_tree(data, 20)
    if plain is not None:
        assert find_tree_fault(data, 20) is None
        assert plain == [tuple(entry) for entry in raw_entries(data, 20)]
