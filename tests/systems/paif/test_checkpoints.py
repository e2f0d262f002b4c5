"""The verbs of PAIF's session protocol: checkpoint, restore, sessions, and the start and end of a session."""

from __future__ import annotations

import resource
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from going_back import rollback_record, rollback_to, undo_revision
from world import NOW, acting, all_bytes, by_hand, files, later, stored

from baton_git.core.errors import InvalidArgument, InvalidDocument, InvalidName, LimitExceeded, NotFound
from baton_git.core.records.base import parse
from baton_git.systems.paif import checkpoint_store
from baton_git.systems.paif.checkpoint_verbs import SaveCheckpoint, save_agent_checkpoint
from baton_git.systems.paif.checkpoints import (
    SessionWork,
    collect_sessions,
    preview_restore,
    restore,
    restore_at_start,
    save_checkpoint,
    save_due_checkpoint,
    save_final_checkpoint,
)
from baton_git.systems.paif.identity_verbs import check_text, init_identity
from baton_git.systems.paif.settings import PaifConfig
from baton_git.verbs.revisions.history import Filter, compare, read_log
from baton_git.verbs.sessions.session_end import end_session
from baton_git.verbs.sessions.session_start import StartOptions, begin_session

SUMMARY = {"conversation_summary": "Implemented it", "pending_items": ["test it"]}
CONFIG = parse(
    PaifConfig, {"agent_id": "zero", "session_protocol": {"checkpoint_on_exit": True, "restore_on_start": True}}
)


@pytest.fixture
def nameless(open_workspace):
    """Return a workspace without a session and without an agent."""
    ws = open_workspace(None)
    return replace(ws, actor=replace(ws.actor, agent=None))


@contextmanager
def full_disk():
    """Within the block, the system refuses to let a file grow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_checkpoint_is_one_file_of_one_agent_in_one_commit(ws):
    saved = save_checkpoint(ws, NOW, "zero", SUMMARY)
    assert saved.id == "zero/2026-11-21t08-00-00.000z-s1"
    assert "checkpoints/zero/2026-11-21t08-00-00.000z-s1.toml" in files(ws)
    assert saved.written.revision.number == 1
    entry = next(iter(ws.branch.history()))
    assert (entry.op, entry.agent) == ("checkpoint", "zero")


def test_a_restore_returns_the_newest_checkpoint_and_counts_once(ws):
    save_checkpoint(ws, NOW, "zero", SUMMARY)
    save_checkpoint(ws, later(minutes=1), "zero", {"conversation_summary": "newer"})
    found = restore(ws, later(minutes=2), "zero")
    assert found.checkpoint is not None
    assert found.checkpoint.context.conversation_summary == "newer"
    assert found.identity.immutable is None
    assert found.identity.mutable.state.last_session_at == "2026-11-21T08:02:00.000Z"
    assert found.identity.mutable.state.accumulated_experience == 1
    again = restore(ws, later(minutes=3), "zero")
    assert again.identity.mutable.state.accumulated_experience == 2
    assert again.revision.number == found.revision.number + 1


def test_an_unknown_agent_is_not_restored(ws):
    save_checkpoint(ws, NOW, "zero", SUMMARY)
    for verb in (restore, lambda ws, now, agent: collect_sessions(ws, agent)):
        with pytest.raises(NotFound, match="there is no agent 'claude'"):
            verb(ws, NOW, "claude")
    assert ws.branch.read().number == 1


def test_an_identity_without_a_checkpoint_is_restored(ws):
    init_identity(ws, NOW, "zero", {"purpose": {"statement": "p"}})
    found = restore(ws, NOW, "zero")
    assert found.checkpoint is None
    assert found.identity.immutable is not None


def test_a_session_that_was_restored_and_never_saved_is_listed(ws, nameless):
    init_identity(ws, NOW, "zero", {"purpose": {"statement": "p"}})
    restore(ws, NOW, "zero")
    unnamed = restore(nameless, later(minutes=1), "zero").identity.mutable.state
    save_checkpoint(acting(ws, "s2"), later(minutes=2), "zero", SUMMARY)
    listed = [session.as_data() for session in collect_sessions(ws, "zero")]
    assert [(one["session_id"], len(one["checkpoints"])) for one in listed] == [
        ("s2", 1), (unnamed.session_id, 0), ("s1", 0),
    ]  # fmt: skip
    assert (listed[1]["started_at"], listed[1]["ended_at"]) == (unnamed.last_session_at, None)
    save_checkpoint(nameless, later(minutes=3), "zero", SUMMARY)
    assert stored(ws, "session", unnamed.session_id).status == "ended"
    assert stored(ws, "session", "s1").status == "active"


def test_a_checkpoint_adds_its_updates_to_the_identity_in_the_same_commit(ws):
    init_identity(ws, NOW, "zero", {"purpose": {"statement": "p"}})
    before = ws.branch.read().number
    body = {**SUMMARY, "current_focus": "f", "new_beliefs": [{"subject": "x", "confidence": 0.5}]}
    save_checkpoint(ws, NOW, "zero", body)
    identity = stored(ws, "identity", "zero")
    assert ws.branch.read().number == before + 1
    assert identity.mutable.beliefs[0]["subject"] == "x"
    assert identity.mutable.state.current_focus == "f"
    assert identity.immutable.purpose.statement == "p"
    save_checkpoint(ws, later(minutes=1), "zero", SUMMARY)
    assert restore(ws, NOW, "zero").checkpoint.context.current_focus == "f"


def test_drift_checks_are_added_to_the_next_checkpoint(ws):
    init_identity(ws, NOW, "zero", {"purpose": {"statement": "p"}})
    for text in ("maybe", "done", "done"):
        check_text(ws, NOW, "zero", text)
    saved = save_checkpoint(ws, NOW, "zero", {**SUMMARY, "drift_checks": {"passed": 10, "failed": 0}})
    counts = stored(ws, "checkpoint", saved.id).identity_updates.drift_checks
    assert (counts.passed, counts.failed) == (12, 1)
    assert stored(ws, "identity", "zero").mutable.state.drift_checks.as_data() == {"passed": 0, "failed": 0}
    after = save_checkpoint(ws, later(minutes=1), "zero", SUMMARY)
    assert stored(ws, "checkpoint", after.id).identity_updates.drift_checks.passed == 0


def test_options_override_the_body(ws):
    saved = save_agent_checkpoint(ws, NOW, SaveCheckpoint(agent="zero", more=SUMMARY, pending=["other"]))
    context = stored(ws, "checkpoint", saved.id).context
    assert (context.conversation_summary, context.pending_items) == ("Implemented it", ("other",))


@pytest.mark.parametrize("body", [{}, {"agent_id": "zero"}, {"pending_items": []}, {"metadata": {"session_id": "x"}}])
def test_an_empty_checkpoint_is_refused(ws, body):
    with pytest.raises(InvalidArgument, match="nothing to save"):
        save_checkpoint(ws, NOW, "zero", body, interval_minutes=30)
    assert ws.branch.read().commit is None


@pytest.mark.parametrize(
    ("agent", "body", "error"),
    [("a/b", SUMMARY, InvalidName), ("..", SUMMARY, InvalidName),
     ("zero", {**SUMMARY, "agent_id": "claude"}, InvalidDocument),
     ("zero", {**SUMMARY, "pending_items": "x"}, InvalidDocument),
     ("zero", {**SUMMARY, "ended_at": "now"}, InvalidDocument),
     ("zero", {"scratchpad": "x" * 300_000}, LimitExceeded), ("zero", {"context": 1}, InvalidDocument)],
)  # fmt: skip
def test_an_invalid_checkpoint_writes_nothing(ws, agent, body, error):
    with pytest.raises(error):
        save_checkpoint(ws, NOW, agent, body)
    assert ws.branch.read().commit is None


def test_a_checkpoint_has_the_start_of_its_session(ws):
    begin_session(ws, NOW, StartOptions(sync_seconds=0))
    saved = save_checkpoint(ws, later(minutes=10), "zero", SUMMARY)
    metadata = stored(ws, "checkpoint", saved.id).metadata
    assert (metadata.session_id, metadata.started_at, metadata.duration_seconds) == ("s1", "2026-11-21T08:00:00Z", 600)


def test_without_a_session_each_checkpoint_gets_a_separate_session_name(nameless):
    first, second = (save_checkpoint(nameless, NOW, "zero", SUMMARY) for _ in range(2))
    assert first.id != second.id
    assert len(collect_sessions(nameless, "zero")) == 2


def test_checkpoints_of_the_same_time_are_all_kept(ws):
    ids = [save_checkpoint(ws, NOW, "zero", {"conversation_summary": str(number)}).id for number in range(3)]
    assert ids == [ids[0], f"{ids[0]}.2", f"{ids[0]}.3"]
    assert len(checkpoint_store.list_all(ws.branch.read().state, "zero")) == 3


def test_all_checkpoints_of_concurrent_writers_are_kept(open_workspace):
    spaces = [open_workspace() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        jobs = [
            pool.submit(save_checkpoint, one, NOW, "zero", {"conversation_summary": f"{number} {turn}"})
            for number, one in enumerate(spaces)
            for turn in range(2)
        ]
    ids = {job.result().id for job in jobs}
    assert len(ids) == 8
    assert len(checkpoint_store.list_all(spaces[0].branch.read().state, "zero")) == 8


def test_agents_have_separate_checkpoints_and_identities(ws):
    save_checkpoint(ws, NOW, "zero", {**SUMMARY, "new_skills": [{"name": "x"}]})
    save_checkpoint(ws, NOW, "claude", {"conversation_summary": "mine"})
    assert restore(ws, NOW, "claude").checkpoint.context.conversation_summary == "mine"
    assert restore(ws, NOW, "claude").identity.mutable.skills == ()
    assert stored(ws, "identity", "zero").mutable.state.accumulated_experience == 0


def test_secrets_of_a_scratchpad_are_not_stored(ws):
    token = "ghp_" + "a1B2" * 9
    saved = save_checkpoint(ws, NOW, "zero", {"scratchpad": f"curl -H 'Authorization: Bearer {token}'"})
    assert token.encode() not in all_bytes(ws)
    assert saved.written.redactions


# --- periodic checkpoints


def test_a_periodic_checkpoint_waits_until_the_newest_is_old_enough(ws):
    first = save_checkpoint(ws, NOW, "zero", SUMMARY, interval_minutes=30)
    assert stored(ws, "checkpoint", first.id).metadata.checkpoint_type == "periodic"
    for minutes in (0, 29):
        early = save_checkpoint(ws, later(minutes=minutes), "zero", SUMMARY, interval_minutes=30)
        assert early.id is None
        assert early.younger is not None
        assert early.younger.id == first.id
    assert ws.branch.read().number == first.written.revision.number
    assert save_checkpoint(ws, later(minutes=29), "zero", SUMMARY, interval_minutes=20).id
    assert save_checkpoint(ws, later(minutes=59), "zero", SUMMARY, interval_minutes=30).id


def test_a_final_checkpoint_is_always_due_and_agents_have_separate_intervals(ws):
    save_checkpoint(ws, NOW, "zero", SUMMARY)
    assert save_checkpoint(ws, later(minutes=1), "zero", SUMMARY).id
    assert save_checkpoint(ws, later(minutes=1), "claude", SUMMARY, interval_minutes=30).id
    assert stored(ws, "checkpoint", "claude/2026-11-21t08-01-00.000z-s1").metadata.checkpoint_type == "periodic"


# --- sessions and the archive


def test_sessions_are_listed_newest_first_with_all_their_checkpoints(ws):
    save_checkpoint(ws, NOW, "zero", {"conversation_summary": "a"})
    save_checkpoint(acting(ws, "s2"), later(minutes=1), "zero", {"conversation_summary": "b"})
    save_checkpoint(ws, later(minutes=2), "zero", {"conversation_summary": "c"})
    found = collect_sessions(ws, "zero")
    assert [(one.metadata.session_id, len(one.ids)) for one in found] == [("s1", 2), ("s2", 1)]
    assert found[0].context.conversation_summary == "c"


def test_old_checkpoints_are_archived_and_still_listed(ws, monkeypatch):
    monkeypatch.setattr(checkpoint_store, "KEPT", 3)
    for number in range(5):
        save_checkpoint(acting(ws, f"s{number}"), later(minutes=number), "zero", SUMMARY)
    state = ws.branch.read().state
    assert len(state.ids("checkpoint")) == 3
    assert [one.metadata.session_id for one in collect_sessions(ws, "zero")] == ["s4", "s3", "s2", "s1", "s0"]
    assert restore(ws, NOW, "zero").checkpoint.metadata.session_id == "s4"


def test_a_checkpoint_with_an_old_date_is_archived_immediately(ws, monkeypatch):
    monkeypatch.setattr(checkpoint_store, "KEPT", 1)
    save_checkpoint(ws, NOW, "zero", SUMMARY)
    old = save_checkpoint(ws, NOW, "zero", {**SUMMARY, "ended_at": "2026-01-01T00:00:00Z"})
    assert old.id == "zero/2026-01-01t00-00-00.000z-s1"
    assert stored(ws, "checkpoint", old.id, archived=True) is not None
    assert restore(ws, NOW, "zero").checkpoint.metadata.ended_at == "2026-11-21T08:00:00.000Z"


def test_an_agent_whose_checkpoints_are_all_archived_is_restored_from_there(ws):
    saved = save_checkpoint(ws, NOW, "zero", SUMMARY)
    ws.update(
        "test",
        NOW,
        lambda tip: tip.state.archive(
            tip.state.entry(checkpoint_store.Key("checkpoint", saved.id)), at="x", reason="r", session=None
        ),
    )
    assert restore(ws, NOW, "zero").checkpoint.id == saved.id


def test_an_unreadable_checkpoint_is_reported_and_kept(ws):
    saved = save_checkpoint(ws, NOW, "zero", SUMMARY)
    path = "checkpoints/zero/2026-11-21t09-00-00.000z-x.toml"
    by_hand(ws, {path: b"no toml"})
    found = restore(ws, NOW, "zero")
    assert found.checkpoint.id == saved.id
    assert [one.path for one in found.damaged] == [path]
    assert files(ws)[path] == b"no toml"


# --- the start and the end of a session


def test_the_end_of_a_session_writes_a_checkpoint_if_the_settings_say_so(nameless):
    end_session(nameless, NOW, context="Where it stands")
    saved = save_final_checkpoint(nameless, NOW, CONFIG)
    assert saved is not None
    assert stored(nameless, "checkpoint", saved.id).context.conversation_summary == "Where it stands"
    summarized = save_final_checkpoint(nameless, later(minutes=1), CONFIG, summary="Done")
    assert summarized is not None
    assert stored(nameless, "checkpoint", summarized.id).context.conversation_summary == "Done"


@pytest.mark.parametrize("config", [PaifConfig(), parse(PaifConfig, {"agent_id": "zero"})])
def test_without_the_setting_nothing_happens_at_the_start_and_the_end(nameless, config):
    assert save_final_checkpoint(nameless, NOW, config, summary="x") is None
    assert restore_at_start(nameless, NOW, config) == ()
    assert nameless.branch.read().commit is None


def test_the_start_of_a_session_restores_the_agent_and_shows_it(nameless):
    assert "nothing to restore yet" in restore_at_start(nameless, NOW, CONFIG)[0]
    assert stored(nameless, "identity", "zero").mutable.state.accumulated_experience == 1  # the first one counts, too
    save_checkpoint(nameless, NOW, "zero", SUMMARY)
    lines = restore_at_start(nameless, NOW, CONFIG)
    assert "What happened: Implemented it" in lines
    assert "Pending: test it" in lines
    assert stored(nameless, "identity", "zero").mutable.state.accumulated_experience == 2


def test_the_first_restore_of_a_new_agent_that_cannot_be_recorded_returns_an_empty_identity(ws):
    save_checkpoint(ws, NOW, "zero", SUMMARY)
    with full_disk():
        found = restore(ws, NOW, "one", may_be_new=True)
        [line] = restore_at_start(ws, NOW, CONFIG, named="one")[1:]
    assert (found.checkpoint, found.identity.mutable.state.accumulated_experience) == (None, 0)
    assert found.unrecorded is not None
    assert line.startswith("one: nothing to restore yet")


def test_the_agent_of_the_settings_overrides_the_sessions_program(ws):
    assert save_final_checkpoint(ws, NOW, CONFIG, summary="x").id.startswith("zero/")
    unnamed = parse(PaifConfig, {"session_protocol": {"checkpoint_on_exit": True}})
    assert save_final_checkpoint(ws, NOW, unnamed, summary="x").id.startswith("claude/")


def test_errors_never_stop_the_start_of_a_session(nameless):
    save_checkpoint(nameless, NOW, "zero", SUMMARY)
    by_hand(nameless, {"identity/zero.toml": b"no toml"})
    [line] = restore_at_start(nameless, NOW, CONFIG)
    assert "zero was not restored: identity/zero.toml" in line


def test_a_clock_that_is_minutes_behind_makes_no_second_periodic_checkpoint(ws):
    save_checkpoint(ws, NOW, "zero", SUMMARY)
    assert save_checkpoint(ws, NOW - timedelta(minutes=5), "zero", SUMMARY, interval_minutes=30).id is None
    assert save_checkpoint(ws, NOW - timedelta(hours=5), "zero", SUMMARY, interval_minutes=30).id


def test_the_last_checkpoint_of_a_session_continues_the_previous_one(ws):
    init_identity(ws, NOW, "zero", {"purpose": {"statement": "p"}})
    check_text(ws, NOW, "zero", "maybe")
    body = {
        "pending_items": ["P"], "scratchpad": "S", "open_files": ["a.py"], "context_stack": ["c"], "memory_ids": ["m"],
        "active_project_ids": ["x"], "current_focus": "f", "conversation_summary": "old", "mood": "calm",
        "new_beliefs": [{"subject": "b", "confidence": 1}], "started_at": "2026-11-21T07:00:00Z",
    }  # fmt: skip
    save_checkpoint(ws, NOW, "zero", body)
    save_checkpoint(acting(ws, "s2"), later(minutes=1), "zero", {"pending_items": ["another's"]})
    check_text(ws, NOW, "zero", "done")
    saved = save_final_checkpoint(ws, later(minutes=2), CONFIG, summary="wrapped")
    found = restore(ws, later(minutes=3), "zero").checkpoint
    assert saved is not None
    assert found is not None
    assert found.id == saved.id
    context, working = found.context, found.working_memory
    assert (context.conversation_summary, context.pending_items) == ("wrapped", ("P",))
    assert (context.current_focus, context.active_project_ids) == ("f", ("x",))
    assert (working.scratchpad, working.open_files, working.context_stack) == ("S", ("a.py",), ("c",))
    assert found.recent_memories.memory_ids == ("m",)
    counts = found.identity_updates.drift_checks
    assert (counts.passed, counts.failed, found.identity_updates.new_beliefs) == (1, 0, ())
    assert (found.metadata.started_at, found.metadata.duration_seconds) == ("2026-11-21T07:00:00Z", 3720)


def test_without_a_session_a_checkpoint_continues_the_newest_one(nameless):
    save_checkpoint(nameless, NOW, "zero", {"pending_items": ["P"], "conversation_summary": "done so far"})
    saved = save_final_checkpoint(nameless, later(minutes=1), CONFIG)
    context = stored(nameless, "checkpoint", saved.id).context
    assert (context.pending_items, context.conversation_summary) == (("P",), "done so far")


def test_pending_items_of_another_session_stay_pending_until_done(ws):
    save_checkpoint(acting(ws, "s0"), NOW, "zero", {"pending_items": ["P", "Q"], "conversation_summary": "old"})
    work = SessionWork("Asked: mend it Answered: Done", ("new",), frozenset({"Q"}), ("a.py",))
    saved = save_final_checkpoint(ws, later(minutes=1), CONFIG, work=work)
    found = stored(ws, "checkpoint", saved.id)
    assert (found.context.pending_items, found.working_memory.open_files) == (("new", "P"), ("a.py",))
    assert found.context.conversation_summary == "Asked: mend it Answered: Done"
    done = SessionWork("Asked: more", (), frozenset({"P", "new"}))
    again = stored(ws, "checkpoint", save_final_checkpoint(ws, later(minutes=2), CONFIG, work=done).id)
    assert (again.context.pending_items, again.working_memory.open_files) == ((), ("a.py",))
    assert again.context.conversation_summary == "Asked: more"


def test_a_summary_that_the_agent_saved_overrides_one_made_of_facts(ws):
    work = SessionWork("Asked: mend it")
    save_due_checkpoint(ws, NOW, "zero", work, 10)
    first = save_final_checkpoint(ws, later(minutes=1), CONFIG, work=SessionWork("Asked: and test it"))
    assert stored(ws, "checkpoint", first.id).context.conversation_summary == "Asked: and test it"
    save_checkpoint(ws, later(minutes=2), "zero", {"conversation_summary": "Mended the parser"})
    saved = save_final_checkpoint(ws, later(minutes=3), CONFIG, work=work)
    assert stored(ws, "checkpoint", saved.id).context.conversation_summary == "Mended the parser"


def test_a_periodic_checkpoint_keeps_pending_items_and_waits_for_its_interval(ws):
    save_checkpoint(acting(ws, "s0"), NOW, "zero", {"pending_items": ["P"]})
    assert save_due_checkpoint(ws, later(minutes=5), "zero", SessionWork("Asked: a"), 10).id is None
    saved = save_due_checkpoint(ws, later(minutes=20), "zero", SessionWork("Asked: a", ("b",)), 10)
    found = stored(ws, "checkpoint", saved.id)
    assert (found.context.pending_items, found.metadata.checkpoint_type) == (("b", "P"), "periodic")


def test_the_requested_agent_overrides_the_settings(ws):
    assert save_final_checkpoint(ws, NOW, CONFIG, summary="x", named="one").id.startswith("one/")
    assert "What happened: x" in " ".join(restore_at_start(ws, NOW, CONFIG, named="one"))


# --- sessions that a restore begins


def test_checkpoints_after_a_restore_belong_to_the_session_that_it_begins(nameless):
    save_checkpoint(nameless, NOW, "zero", SUMMARY)
    state = restore(nameless, later(minutes=10), "zero").identity.mutable.state
    assert str(UUID(state.session_id)) == state.session_id
    for minutes in (15, 40):
        saved = save_checkpoint(nameless, later(minutes=minutes), "zero", {"scratchpad": str(minutes)})
        metadata = stored(nameless, "checkpoint", saved.id).metadata
        assert (metadata.session_id, metadata.started_at) == (state.session_id, state.last_session_at)
        assert metadata.duration_seconds == (minutes - 10) * 60
    saved = save_final_checkpoint(nameless, later(minutes=50), CONFIG, summary="x")
    assert stored(nameless, "checkpoint", saved.id).working_memory.scratchpad == "40"
    assert [len(one.ids) for one in collect_sessions(nameless, "zero")] == [3, 1]
    again = restore(nameless, later(minutes=60), "zero").identity.mutable.state
    assert again.session_id != state.session_id


def test_an_invalid_session_name_in_an_identity_is_not_used(nameless):
    state = {"session_id": "a\nb", "last_session_at": "no time"}
    init_identity(nameless, NOW, "zero", {"immutable": {"purpose": {"statement": "p"}}, "mutable": {"state": state}})
    saved = save_checkpoint(nameless, NOW, "zero", SUMMARY)
    assert saved.id.isprintable()


def test_the_acting_session_overrides_the_one_that_a_restore_named(ws, nameless):
    save_checkpoint(ws, NOW, "zero", SUMMARY)
    restore(nameless, NOW, "zero")
    saved = save_checkpoint(ws, later(minutes=1), "zero", SUMMARY)
    assert stored(ws, "checkpoint", saved.id).metadata.session_id == "s1"
    assert restore(ws, NOW, "zero").identity.mutable.state.session_id == "s1"


def test_an_explicit_start_time_overrides_the_sessions(ws):
    begin_session(ws, NOW, StartOptions(sync_seconds=0))
    start = {"started_at": "2026-11-21T07:30:00Z"}
    saved = save_checkpoint(ws, later(minutes=10), "zero", {**SUMMARY, **start})
    metadata = stored(ws, "checkpoint", saved.id).metadata
    assert (metadata.started_at, metadata.duration_seconds) == ("2026-11-21T07:30:00Z", 2400)


def test_a_session_start_after_its_end_is_rejected_with_the_field(ws):
    with pytest.raises(InvalidDocument, match=r"metadata\.started_at: 2026-11-21T09:00:00Z is after the end"):
        save_checkpoint(ws, NOW, "zero", {**SUMMARY, "started_at": "2026-11-21T09:00:00Z"})
    assert ws.branch.read().commit is None


@pytest.mark.parametrize("session", ["a\nb", "a\x9bb", "a\u202eb", " ", "x" * 129])
def test_a_session_name_in_a_body_is_validated_like_an_option(nameless, session):
    with pytest.raises(InvalidDocument, match=r"metadata\.session_id: session .* must be 1 to 128 printable"):
        save_checkpoint(nameless, NOW, "zero", {**SUMMARY, "session_id": session})
    assert nameless.branch.read().commit is None


# --- clocks, repetitions, disk errors


def test_a_checkpoint_from_the_future_does_not_hide_later_ones(ws):
    save_checkpoint(ws, NOW, "zero", {**SUMMARY, "ended_at": "2999-01-01T00:00:00Z"})
    assert restore(ws, NOW, "zero").checkpoint.metadata.ended_at == "2999-01-01T00:00:00Z"  # it is the only one
    mine = save_checkpoint(ws, later(minutes=1), "zero", {"scratchpad": "S"}, interval_minutes=30)
    assert mine.id is not None
    assert restore(ws, later(minutes=2), "zero").checkpoint.id == mine.id
    assert restore(ws, NOW, "zero").checkpoint.id == mine.id  # a clock may be a little behind
    saved = save_final_checkpoint(ws, later(minutes=3), CONFIG, summary="x")
    assert stored(ws, "checkpoint", saved.id).working_memory.scratchpad == "S"


def test_saving_the_same_checkpoint_again_writes_nothing(ws):
    body: dict[str, Any] = {**SUMMARY, "started_at": "2026-11-21T07:00:00Z", "ended_at": "2026-11-21T07:30:00Z"}
    body |= {"new_beliefs": [{"subject": "x", "confidence": 1}]}
    first = save_checkpoint(ws, NOW, "zero", body)
    again = save_checkpoint(ws, later(minutes=1), "zero", body)
    assert (again.id, again.known, again.younger) == (first.id, True, None)
    assert not first.known
    assert ws.branch.read().commit == first.written.revision.commit


def test_a_restore_that_cannot_be_recorded_still_returns_the_state(ws):
    save_checkpoint(ws, NOW, "zero", SUMMARY)
    before = ws.branch.read().commit
    with full_disk():
        found = restore(ws, NOW, "zero")
        lines = restore_at_start(ws, NOW, CONFIG)
    assert found.unrecorded is not None
    assert found.checkpoint.context.pending_items == ("test it",)
    assert found.identity.mutable.state.accumulated_experience == 0
    assert lines[0].startswith("the restore of zero was not recorded: cannot write")
    assert "Pending: test it" in lines
    assert ws.branch.read().commit == before


def test_a_preview_of_a_restore_gives_the_same_and_writes_nothing(ws):
    save_checkpoint(ws, NOW, "zero", SUMMARY)
    before = ws.branch.read()
    found = preview_restore(ws, NOW, "zero")
    assert ws.branch.read().commit == before.commit
    assert found.identity.mutable.state.accumulated_experience == 0
    assert found.checkpoint == restore(ws, NOW, "zero").checkpoint
    with pytest.raises(NotFound):
        preview_restore(ws, NOW, "claude")


# --- large identities


def beliefs(first, number, size=10):
    return [{"subject": f"{index:05} {'x' * size}", "confidence": 1} for index in range(first, first + number)]


def test_an_identity_keeps_the_newest_two_hundred_beliefs(ws):
    for turn in range(5):
        save_checkpoint(ws, later(minutes=turn), "zero", {"new_beliefs": beliefs(turn * 90, 90)})
    known = [one["subject"][:5] for one in stored(ws, "identity", "zero").mutable.beliefs]
    assert known == [f"{number:05}" for number in range(250, 450)]
    save_checkpoint(ws, later(minutes=9), "zero", {"new_beliefs": [*beliefs(250, 1), *beliefs(450, 1)]})
    known = [one["subject"][:5] for one in stored(ws, "identity", "zero").mutable.beliefs]
    assert (len(known), known[0], known[-2:]) == (200, "00252", ["00250", "00450"])


@pytest.mark.slow
def test_a_large_identity_never_prevents_a_checkpoint(ws):
    init_identity(ws, NOW, "zero", {"purpose": {"statement": "p" * 20_000}, "mutable": {
        "active_projects": [{"id": f"{number}", "description": "d" * 400} for number in range(250)]}})  # fmt: skip
    for turn in range(8):
        body = {"new_beliefs": beliefs(turn * 10, 10, 9000), "new_skills": [{"name": f"{turn} {'s' * 9000}"}]}
        assert save_checkpoint(ws, later(minutes=turn), "zero", {**body, "current_focus": "f" * 90_000}).id
    identity = stored(ws, "identity", "zero")
    assert identity.mutable.beliefs[-1]["subject"].startswith("00079 ")
    assert len(identity.mutable.state.current_focus) == 4000
    restore(ws, later(minutes=9), "zero")


# --- undo and rollback


def test_a_checkpoint_with_its_identity_updates_is_logged_shown_and_undone(ws):
    init_identity(ws, NOW, "zero", {"purpose": {"statement": "p"}})
    save_checkpoint(ws, NOW, "zero", {**SUMMARY, "new_beliefs": [{"subject": "x", "confidence": 0.5}]})
    before = files(ws)
    saved = save_checkpoint(ws, later(minutes=1), "zero", {"scratchpad": "s", "new_skills": [{"name": "y"}]})
    changed = {(one.kind, one.action) for one in compare(ws, "~1", "~0").changes}
    assert changed == {("checkpoint", "added"), ("identity", "changed")}
    assert [one.entry.op for one in read_log(ws, Filter(record=saved.id))] == ["checkpoint"]
    assert [one.entry.op for one in read_log(ws, Filter(record="zero"))] == [
        "checkpoint",
        "checkpoint",
        "identity-init",
    ]
    undo_revision(ws, later(minutes=2))
    assert files(ws) == before
    assert restore(ws, later(minutes=3), "zero").checkpoint.context.conversation_summary == "Implemented it"


def test_an_undo_of_a_checkpoint_keeps_later_changes(ws):
    save_checkpoint(ws, NOW, "zero", {"new_beliefs": [{"subject": "w", "confidence": 1}]})
    first = save_checkpoint(ws, NOW, "zero", {**SUMMARY, "new_beliefs": [{"subject": "x", "confidence": 1}]})
    later_one = save_checkpoint(ws, later(minutes=1), "zero", {"new_beliefs": [{"subject": "y", "confidence": 1}]})
    restore(ws, later(minutes=2), "zero")
    undo_revision(ws, later(minutes=3), first.written.revision.commit)
    assert stored(ws, "checkpoint", first.id) is None
    assert stored(ws, "checkpoint", later_one.id) is not None
    mutable = stored(ws, "identity", "zero").mutable
    assert [one["subject"] for one in mutable.beliefs] == ["w", "y"]
    assert mutable.state.accumulated_experience == 1


def test_a_rollback_restores_the_mutable_and_keeps_the_immutable_part(ws):
    save_checkpoint(ws, NOW, "zero", {**SUMMARY, "current_focus": "before"})
    then = str(ws.branch.read().number)
    init_identity(ws, later(minutes=1), "zero", {"purpose": {"statement": "p"}})
    save_checkpoint(ws, later(minutes=2), "zero", {"current_focus": "after"})
    rollback_record(ws, later(minutes=3), "zero", then)
    identity = stored(ws, "identity", "zero")
    assert (identity.mutable.state.current_focus, identity.immutable.purpose.statement) == ("before", "p")
    undo_revision(ws, later(minutes=4))
    assert stored(ws, "identity", "zero").mutable.state.current_focus == "after"
    rollback_to(ws, later(minutes=5), then)
    assert stored(ws, "identity", "zero").immutable.purpose.statement == "p"
    assert len(collect_sessions(ws, "zero")[0].ids) == 1
