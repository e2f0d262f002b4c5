"""The context of each session is its own: who replaces whose, what the brief tells, and merges without conflicts."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import permutations, product

import pytest
from going_back import rollback_to, undo_revision
from world import NOW, acting, by_hand, current, document, later, stored, workspace

from baton_git.core.policy import Policy
from baton_git.core.records.base import Archived
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.lineage import Session
from baton_git.core.sessions import list_contexts
from baton_git.core.state import HEAD, Key
from baton_git.git.store import ReflogEntry
from baton_git.namespace.merge_commit import create_merge_commit
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.document_writing import write_document
from baton_git.verbs.sessions.session_end import describe_other_contexts, end_session
from baton_git.verbs.sessions.session_start import StartOptions, begin_session, compose_brief
from baton_git.verbs.sessions.sessions import init
from baton_git.verbs.work_items.loops import add_loop, settle_loop


def texts(ws: Workspace) -> list[str | None]:
    """Return the current contexts, newest first."""
    return [context.text for context in list_contexts(ws.branch.read().state)]


def wrap(ws: Workspace, session: str | None, text: str, minutes: float = 0) -> None:
    end_session(acting(ws, session), later(minutes=minutes), context=text)


def boot(ws: Workspace, session: str, minutes: float = 0) -> None:
    begin_session(acting(ws, session), later(minutes=minutes))


# --- one machine


def test_sessions_that_work_at_the_same_time_each_keep_their_context(ws):
    boot(ws, "a")
    boot(ws, "b", 1)
    wrap(ws, "a", "of a", 2)
    wrap(ws, "b", "of b", 3)
    assert texts(ws) == ["of b", "of a"]
    assert current(ws)["context"] == "of b"
    boot(ws, "c", 4)
    wrap(ws, "c", "of c", 5)
    assert texts(ws) == ["of c"]
    assert stored(ws, "session", "a").context == "of a"


def test_a_context_that_a_session_read_in_the_middle_of_its_work_stays_beside_its_own(ws):
    boot(ws, "a")
    boot(ws, "b", 1)
    wrap(ws, "a", "of a", 2)
    settle_loop(ws, later(minutes=2), add_loop(ws, NOW, action="x", expect="y").id, "passed")
    boot(ws, "b", 3)  # archives the loop, so there is a commit after which the session has read everything
    wrap(ws, "b", "of b", 4)
    assert texts(ws) == ["of b", "of a"]
    wrap(ws, "b", "both", 5)
    assert texts(ws) == ["both"]


def test_a_resumed_session_replaces_what_others_said_while_it_was_away(ws):
    boot(ws, "a")
    wrap(ws, "a", "of a", 1)
    boot(ws, "b", 2)
    wrap(ws, "b", "of b", 3)
    boot(ws, "a", 10)
    wrap(ws, "a", "of a again", 11)
    assert texts(ws) == ["of a again"]


def test_a_wrap_without_a_boot_says_whose_context_is_told_beside_its_own(ws):
    boot(ws, "a")
    wrap(ws, "a", "there")
    written = end_session(acting(ws, "stranger"), later(minutes=1), context="mine")
    assert texts(ws) == ["mine", "there"]
    assert describe_other_contexts(written, "stranger") == [
        "the next brief also tells the context of session a, because this session did not begin with baton boot",
        "to replace every other context: baton wrap --session stranger --context TEXT",
    ]
    again = end_session(acting(ws, "stranger"), later(minutes=2), context="mine again")
    assert describe_other_contexts(again, "stranger") == []
    assert texts(ws) == ["mine again"]


def test_the_newest_context_is_the_last_one_written_even_if_another_clock_is_ahead(ws):
    boot(ws, "ahead", 60)
    wrap(ws, "ahead", "of an hour ahead", 61)
    wrap(ws, "other", "of now")
    assert texts(ws) == ["of now", "of an hour ahead"]
    write_document(ws, NOW, document("third", context="of a document"))
    assert current(ws)["context"] == "of a document"


def test_a_time_far_in_the_future_does_not_reach_into_other_contexts(ws):
    boot(ws, "b")
    by_hand(ws, {"sessions/evil.toml": b'id = "evil"\nstarted = "2026"\ncontext = "me"\ncontext_at = "9999-12-31"\n'})
    wrap(ws, "b", "of b", 1)
    assert stored(ws, "session", "b").context_at == "2026-11-21T08:01:00Z"
    assert sorted(map(str, texts(ws))) == ["me", "of b"]
    boot(ws, "c", 2)
    wrap(ws, "c", "of c", 3)
    assert texts(ws) == ["of c"]


# --- somebody without a session


def test_a_wrap_after_the_end_of_a_session_belongs_to_it(baton):
    session = baton("boot", "--json").json["session"]
    baton("wrap", "--context", "one")
    done = baton("wrap", "--context", "two")
    assert "context updated" in done.err
    assert "no session was ended" in done.err
    document = baton("read").json["baton"]
    assert (document["session_id"], document["context"]) == (session, "two")
    assert baton("record", "session", session, "--json").json["record"]["context"] == "two"


def test_a_wrap_by_nobody_replaces_every_context_and_names_no_session(ws):
    boot(ws, "a")
    boot(ws, "b")
    wrap(ws, "a", "of a", 1)
    wrap(ws, "b", "of b", 2)
    wrap(ws, None, "of nobody", 3)
    assert texts(ws) == ["of nobody"]
    wrap(ws, "c", "of c", 4)
    text = compose_brief(ws, later(minutes=5)).text
    assert "## What was said about the work outside of a session\n- written outside of a session, " in text
    assert "at the same time" not in text


# --- the brief


def test_a_single_context_is_told_as_ever(ws):
    boot(ws, "a")
    wrap(ws, "a", "one\n\ntwo")
    text = compose_brief(ws, NOW).text
    assert "\n## Where the work stands\n| one\n| two\n\n" in text
    assert "at the same time" not in text


def test_the_brief_tells_all_sessions_that_worked_at_the_same_time_within_its_budget(ws):
    for number in range(12):
        boot(ws, f"s{number:02}", number / 100)
    for number in range(12):
        wrap(ws, f"s{number:02}", f"text {number}.\n" + "much more of it. " * 100, 1 + number)
    brief = begin_session(acting(ws, "next"), later(minutes=20), StartOptions(budget=8000)).brief
    lines = brief.text.splitlines()
    first = lines.index("## Where the work stands, says session s11 of Ada (claude on laptop), 8 minutes ago")
    assert lines[first + 1] == "| text 11."
    told = [line for line in lines if line.startswith("- session s")]
    assert told[0].startswith(
        "- session s10 of Ada (claude on laptop), 9 minutes ago [llm_derived] text 10. · much more"
    )
    assert [line[10:13] for line in told] == sorted((line[10:13] for line in told), reverse=True)
    assert len(told) + brief.left_out.get("contexts of other sessions", 0) == 11
    assert len(brief.text.encode()) <= 8000


def test_the_dashboard_names_the_other_sessions(baton):
    baton("init")
    for session in ("a", "b"):
        baton("boot", "--session", session)
    for session in ("a", "b"):
        baton("wrap", "--session", session, "--context", f"of {session}")
    out = baton("dashboard").out
    assert "| of b\n" in out
    assert re.search(r"^\| session a of Ada \(on \S+\), just now: of a$", out, re.MULTILINE)


def test_recall_finds_the_contexts_of_all_sessions_once(baton):
    baton("init")
    for session, text in (("a", "the zebra waits"), ("b", "the zebra runs"), ("c", "the zebra sleeps")):
        baton("boot", "--session", session)
        baton("wrap", "--session", session, "--context", text)
    found = baton("recall", "zebra", "--json").json["excerpts"]
    assert sorted((one["record"], one["lines"], one["mark"]) for one in found) == [
        ("a", ["> context: the zebra waits"], "earlier value"), ("b", ["> context: the zebra runs"], "earlier value"),
        ("c", ["> context: the zebra sleeps"], ""),
    ]  # fmt: skip


# --- archives, undo, rollback


def test_the_newest_contexts_are_not_archived_with_their_sessions(ws):
    few = replace(ws, policy=Policy(sessions_kept=3))
    boot(few, "a")
    boot(few, "b")
    wrap(few, "a", "of a", 1)
    wrap(few, "b", "of b", 2)
    for number in range(6):
        boot(few, f"later{number}", 3 + number)
    live = few.branch.read().state.ids("session")
    assert live == {"a", "b", "later3", "later4", "later5"}
    assert texts(few) == ["of b", "of a"]
    wrap(few, "later5", "of the last", 20)
    boot(few, "next", 21)
    assert few.branch.read().state.ids("session") == {"later4", "later5", "next"}
    assert texts(few) == ["of the last"]


def test_a_context_is_found_if_an_older_program_archived_its_session(ws):
    write_document(ws, NOW, document("d", context="of a document"))
    boot(ws, "a", 1)
    wrap(ws, "a", "of a", 2)
    state = ws.branch.read().state

    def archive(tip):
        return tip.state.archive(state.get(Session, "a"), at="2026", reason="older", session=None)

    ws.update("boot", NOW, archive)
    assert texts(ws) == ["of a"]
    assert current(ws)["context"] == "of a"
    wrap(ws, "a", "of a again", 3)
    assert texts(ws) == ["of a again"]
    assert not isinstance(stored(ws, "session", "a", archived=True), Archived)


def test_the_undo_of_a_wrap_brings_back_the_contexts_that_it_replaced(ws):
    boot(ws, "a")
    wrap(ws, "a", "of a", 1)
    boot(ws, "b", 2)
    wrap(ws, "b", "of b", 3)
    revision = ws.branch.read().number
    undo_revision(ws, later(minutes=4), str(revision))
    assert texts(ws) == ["of a"]
    rollback_to(ws, later(minutes=5), str(revision))
    assert texts(ws) == ["of b"]


def test_the_undo_of_an_older_wrap_does_not_bring_back_what_a_later_session_replaced(ws):
    for number, session in enumerate("abc"):
        boot(ws, session, 10 * number)
        wrap(ws, session, f"of {session}", 10 * number + 1)
        if session == "b":
            of_b = str(ws.branch.read().number)
    undo_revision(ws, later(minutes=40), of_b)
    assert texts(ws) == ["of c"]
    undo_revision(ws, later(minutes=41), "~1")
    assert len(texts(ws)) == 1


# --- several machines, as branches of one store


@dataclass
class Machine:
    """A machine with its own branch; `hub` is the branch of the remote."""

    ws: Workspace
    hub: str = "refs/heads/hub"

    def sync(self, now: datetime) -> None:
        store, ref = self.ws.branch.store, self.ws.branch.ref
        ours, theirs = store.tip(ref), store.tip(self.hub)
        if theirs is None or store.is_ancestor(theirs, ours):
            new = ours
        elif store.is_ancestor(ours, theirs):
            new = theirs
        else:
            merge = create_merge_commit(store, ours, theirs)
            assert store.publish(merge.draft, ref, ours, merge.commit, _entry(now))
            new = ours = merge.commit
        for name, old in ((ref, ours), (self.hub, theirs)):
            if old != new:
                assert store.publish(store.draft(), name, old, new, _entry(now))


def _entry(now: datetime) -> ReflogEntry:
    return ReflogEntry("Ada <ada@example.org>", int(now.timestamp()), 0, "sync")


def conflicts(machine: Machine) -> list[Conflict]:
    return machine.ws.branch.read().state.records(Conflict)


@pytest.mark.slow
def test_no_order_of_syncs_makes_a_conflict_of_three_rounds_of_sessions(ws):
    orders = list(product(permutations(range(3)), repeat=3))
    for number in random.Random(28).sample(range(len(orders)), 12):
        _run_rounds(_group(ws, number), orders[number])


def _group(ws: Workspace, number: int) -> list[Machine]:
    store = ws.branch.store
    start = workspace(store, namespace=f"start{number}")
    init(start, NOW)
    group = []
    for name in range(3):
        ws = workspace(store, None, namespace=f"g{number}m{name}")
        assert store.publish(store.draft(), ws.branch.ref, None, start.branch.tip(), _entry(NOW))
        group.append(Machine(ws, f"refs/heads/hub{number}"))
    return group


def _run_rounds(group: list[Machine], orders: tuple[tuple[int, ...], ...]) -> None:
    now = NOW
    for round_, order in enumerate(orders):
        for name, machine in enumerate(group):
            now += timedelta(minutes=1)
            begin_session(acting(machine.ws, f"r{round_}m{name}"), now, StartOptions(sync_seconds=0))
        for name in order:
            now += timedelta(minutes=1)
            end_session(acting(group[name].ws, f"r{round_}m{name}"), now, context=f"round {round_} of {name}")
            if (round_ + name) % 2:
                group[name].sync(now)
        for name in order[::-1]:
            group[name].sync(now)
    for machine in (*group, *group):
        machine.sync(now)
        assert conflicts(machine) == []
    tips = {machine.ws.branch.tip() for machine in group}
    assert len(tips) == 1
    assert set(texts(group[0].ws)) >= {f"round 2 of {name}" for name in range(3)}
    assert texts(group[0].ws)[0] == f"round 2 of {orders[2][-1]}"


def test_two_edits_of_the_head_by_hand_are_a_conflict(ws):
    one, other = _group(ws, 0)[:2]
    by_hand(one.ws, {"baton.toml": b'context = "start"\n'})
    one.sync(NOW)
    other.sync(NOW)
    by_hand(one.ws, {"baton.toml": b'context = "mine"\n'})
    by_hand(other.ws, {"baton.toml": b'context = "yours"\n'})
    one.sync(NOW)
    other.sync(NOW)
    [conflict] = conflicts(other)
    assert (conflict.record_kind, conflict.field) == ("head", "context")


def test_a_wrap_and_an_older_program_that_sets_the_head_make_no_conflict(ws):
    one, other = _group(ws, 0)[:2]
    by_hand(one.ws, {"baton.toml": b'session_id = "old"\nupdated_at = "2026-11-21T07:00:00Z"\ncontext = "start"\n'})
    one.sync(NOW)
    other.sync(NOW)
    boot(one.ws, "new", 1)
    wrap(one.ws, "new", "of the new one", 2)
    assert texts(one.ws) == ["of the new one"]
    assert stored(one.ws, "head", "").context == ""

    def replace_text(tip):
        return tip.state.put(tip.state.head.replace(context="of the old one", updated_at="2026-11-21T08:05:00Z"), HEAD)

    other.ws.update("wrap", later(minutes=5), replace_text)
    one.sync(NOW)
    other.sync(NOW)
    assert conflicts(other) == []
    assert texts(other.ws) == ["of the old one", "of the new one"]
    boot(other.ws, "next", 6)
    wrap(other.ws, "next", "of the next one", 7)
    assert texts(other.ws) == ["of the next one"]


def test_a_session_that_wraps_again_while_another_one_replaces_its_context_stays_current(ws):
    one, other = _group(ws, 0)[:2]
    boot(one.ws, "a")
    wrap(one.ws, "a", "of a", 1)
    one.sync(NOW)
    other.sync(NOW)
    boot(other.ws, "b", 2)
    wrap(other.ws, "b", "of b", 3)
    wrap(one.ws, "a", "of a again", 4)
    one.sync(NOW)
    other.sync(NOW)
    assert conflicts(other) == []
    assert texts(other.ws) == ["of a again", "of b"]


@pytest.mark.parametrize("undone", ["a", "b"])
def test_an_undo_beside_a_replacement_makes_no_conflict_and_no_half_context(ws, undone):
    one, other = _group(ws, 0)[:2]
    boot(one.ws, "a")
    wrap(one.ws, "a", "of a", 1)
    one.sync(NOW)
    other.sync(NOW)
    boot(other.ws, "b", 2)
    wrap(other.ws, "b", "of b", 3)
    undo_revision(one.ws if undone == "a" else other.ws, later(minutes=4), "~0")
    one.sync(NOW)
    other.sync(NOW)
    assert conflicts(other) == []
    assert texts(other.ws) == (["of b"] if undone == "a" else ["of a"])
    assert other.ws.branch.read().state.entry(Key("session", "a")) is not None


# --- one session on two machines


def _one_session_on_two_machines(ws: Workspace) -> tuple[Machine, Machine]:
    """Return two machines on which one session has set its first context, by a wrap and by a document; both synced."""
    one, other = _group(ws, 0)[:2]
    boot(one.ws, "a")
    boot(other.ws, "a", 1)
    wrap(one.ws, "a", "of one", 2)
    write_document(acting(other.ws, "a"), later(minutes=3), document("a", context="of the other"))
    for machine in (one, other, one):
        machine.sync(later(minutes=4))
    assert texts(one.ws) == texts(other.ws)
    return one, other


def test_a_wrap_keeps_what_its_session_said_on_another_machine_until_it_has_read_that(ws):
    for machine in _one_session_on_two_machines(ws):
        wrap(machine.ws, "a", "new", 5)
        assert (texts(machine.ws), conflicts(machine)) == (["of one\n\nnew"], [])
        wrap(machine.ws, "a", "third", 6)
        assert texts(machine.ws) == ["third"]


def test_a_document_keeps_what_its_session_said_on_another_machine_until_it_has_read_that(ws):
    machine = _one_session_on_two_machines(ws)[1]
    for text in ("new", "third"):  # the merged documents do not show that their writer has read the other text
        write_document(acting(machine.ws, "a"), later(minutes=5), document("a", context=text))
        assert (texts(machine.ws), conflicts(machine)) == ([f"of one\n\n{text}"], [])
    read = {**current(machine.ws), "context": "of one, and more"}
    write_document(acting(machine.ws, "a"), later(minutes=6), read)
    assert texts(machine.ws) == ["of one, and more"]
    boot(machine.ws, "a", 7)
    write_document(acting(machine.ws, "a"), later(minutes=8), document("a", context="all new"))
    assert texts(machine.ws) == ["all new"]


def test_a_session_that_goes_back_to_its_earlier_context_replaces_that_alone(ws):
    boot(ws, "a")
    wrap(ws, "a", "one", 1)
    wrap(ws, "a", "two", 2)
    undo_revision(acting(ws, "a"), later(minutes=3), "~0")
    assert texts(ws) == ["one"]
    wrap(ws, "a", "three", 4)
    assert texts(ws) == ["three"]


def test_the_document_that_is_merged_has_the_context_of_its_writer(ws):
    write_document(ws, NOW, document("a", context="first"))
    write_document(ws, NOW, document("b", context="of b"))
    write_document(ws, NOW, document("b", context="of b again"))
    add_loop(acting(ws, "c"), later(minutes=1), action="x", expect="y")
    written = write_document(ws, later(minutes=2), document("b", context="the last of b")).written
    as_meant = ws.branch.store.commit(written.revision.commit).parents[1]
    assert [context.text for context in list_contexts(ws.branch.revision_at(as_meant).state)] == ["the last of b"]
    assert texts(ws) == ["the last of b"]


def test_a_session_whose_person_nobody_knows_is_named_without_one(ws):
    nameless = replace(ws, actor=replace(ws.actor, author="unknown <unknown@localhost>"))
    boot(nameless, "a")
    assert stored(ws, "session", "a").person is None
    boot(ws, "b")
    assert stored(ws, "session", "b").person == "Ada"
